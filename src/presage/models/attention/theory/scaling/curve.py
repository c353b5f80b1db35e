"""The exact error along the number of samples around a point, with the laws of the phases that it passes."""

from __future__ import annotations

from math import sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.problem import Problem
from presage.models.attention.theory.scaling.composite import FULL, composite_law
from presage.models.attention.theory.scaling.law_here import law_value
from presage.models.attention.theory.scaling.local_exponents import exact_error
from presage.models.attention.theory.scaling.neighbours import Edge, neighbours
from presage.models.attention.theory.scaling.phase import PHASES, Place, phase_by_boundaries
from presage.models.attention.theory.scaling.quadratic_equivalent import quadratic_equivalent
from presage.protocol.scaling import Boundary, ScalingCurve

POINTS = 25  # of the exact curve, each a solve
DENSE = 400  # of the laws, which cost nothing
BEYOND = 3.0  # the curve goes this far beyond the boundaries next to the point
BESIDE, ON_THE_PEAK = 2.0, 1.1  # a law is drawn this far beyond its phase
INTERPOLATION = 0.25
LEAST, MOST = 10.0, 300.0  # how far from the point it goes at least and at most, as a factor


def curve_in_samples(problem: Problem, phase: str, error: float) -> ScalingCurve:
    """The exact error against the number of samples at this weight decay, from beyond one boundary to beyond the other.

    Each law is drawn over its own phase, by the closed boundaries, and a factor of two beyond.
    """
    equivalent = quadratic_equivalent(problem)
    place = equivalent.place
    edges = [edge for edge in neighbours(place, phase) if edge.field == "n"]
    far = [max(place.alpha / edge.value, edge.value / place.alpha) * BEYOND for edge in edges]
    reach = min(max([LEAST, *far]), MOST)
    alpha = _points(place, reach)
    exact = [
        error / equivalent.error if value == place.alpha else exact_error(problem, place, float(value), place.L)
        for value in alpha
    ]
    dense = np.geomspace(alpha[0], alpha[-1], DENSE)
    runs = _runs(place, dense)
    laws = {name: _law_over(place, name, dense, low, high) for name, low, high in runs}
    return ScalingCurve(
        field="n",
        at=place.alpha * equivalent.n,
        x=alpha * equivalent.n,
        error=equivalent.error * np.array(exact),
        composite=(dense * equivalent.n, equivalent.error * _composite(place, dense)),
        laws={name: (x * equivalent.n, equivalent.error * value) for name, (x, value) in laws.items()},
        passed=tuple((name, low * equivalent.n, high * equivalent.n) for name, low, high in runs),
        boundaries=tuple(
            Boundary("n", edge.value * equivalent.n, edge.here, edge.there, edge.exact) for edge in _walls(place, runs)
        ),
    )


def _runs(place: Place, alpha: Floats) -> list[tuple[str, float, float]]:
    """Phases along the curve in their order, each from where to where, by the closed boundaries."""
    numbers = phase_by_boundaries(place.units, alpha, place.L, place.D, place.saturated)
    changes = np.flatnonzero(np.diff(numbers)) + 1
    starts, ends = [0, *changes], [*(changes - 1), alpha.size - 1]
    return [
        (PHASES[int(numbers[first])], float(alpha[first]), float(alpha[last]))
        for first, last in zip(starts, ends, strict=True)
    ]


def _walls(place: Place, runs: list[tuple[str, float, float]]) -> list[Edge]:
    """The boundary at the end of each phase but the last."""
    walls = []
    for name, low, high in runs[:-1]:
        inside = place._replace(alpha=sqrt(low * high))
        walls += [edge for edge in neighbours(inside, name) if edge.field == "n" and edge.value >= inside.alpha][:1]
    return walls


def _points(place: Place, reach: float) -> Floats:
    """Where the exact error is solved for: evenly in the logarithm, at the point, and at the top of the peak."""
    low, high = place.alpha / reach, place.alpha * reach
    own = [place.alpha]
    if place.saturated is not None and low < place.saturated.alpha < high:
        own.append(place.saturated.alpha)
    return np.unique([*np.geomspace(low, high, POINTS - len(own)), *own])


def _composite(place: Place, alpha: Floats) -> Floats:
    return np.array([composite_law(place.units, float(value), place.L, place.D).error for value in alpha])


def _law_over(place: Place, phase: str, alpha: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """What the law of a phase says over the phase and a little beyond."""
    further = ON_THE_PEAK if phase == "peak" else BESIDE
    least = {"III": FULL, "VIb": FULL, "VIa": INTERPOLATION}.get(phase, 0.0)  # where the formula has its pole
    x = alpha[(alpha >= low / further) & (alpha <= high * further) & (alpha > least)]
    return x, np.array([law_value(place._replace(alpha=float(value)), phase) for value in x])
