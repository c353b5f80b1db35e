"""The exact error along the number of samples around a point, with the laws of the phases that it passes."""

from __future__ import annotations

from itertools import pairwise
from math import inf

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.diagonal.declaration import ALPHA
from presage.models.diagonal.problem import DiagonalProblem
from presage.models.diagonal.theory.scaling.composite import composite_error
from presage.models.diagonal.theory.scaling.law_here import PHASES
from presage.models.diagonal.theory.scaling.phases import boundaries_of, boundary_between, phase_of
from presage.models.diagonal.theory.scaling.power_problem import PowerProblem, power_problem
from presage.models.diagonal.theory.solution import solve
from presage.protocol.scaling import Boundary, ScalingCurve

POINTS, FEWER, DENSE = 25, 60, 400  # of the exact curve, of the composite law, of the laws
LEAST, MOST = 10.0, 300.0  # how far from the point it goes at least and at most, as a factor
BEYOND = 3.0  # it goes this far beyond the boundaries next to the point
BESIDE, ON_THE_PEAK = 2.0, 1.1  # a law is drawn this far beyond its phase


def curve_in_samples(problem: DiagonalProblem) -> ScalingCurve:
    """The curve at the weight decay of a problem, from beyond one neighbouring phase to beyond the other."""
    p = power_problem(problem)
    edges = [edge.value / p.n for edge in boundaries_of(p) if edge.field == "n"]
    reach = min(max([LEAST, *(BEYOND * max(edge, 1.0 / edge) for edge in edges)]), MOST)
    ends = p.d * (ALPHA.at_least or 0.0), p.d * (ALPHA.at_most or inf)
    low, high = max(p.n / reach, ends[0]), min(p.n * reach, ends[1])
    own = [p.n, *([float(p.d)] if p.weight_decay > 0.0 and low < p.d < high else [])]
    x = np.unique([*np.geomspace(low, high, POINTS - len(own)), *own])
    dense, fewer = np.geomspace(low, high, DENSE), np.geomspace(low, high, FEWER)
    passed, boundaries = _phases_along(p, np.union1d(dense, own))
    return ScalingCurve(
        field="n",
        at=p.n,
        x=x,
        error=np.array([solve(problem.replace(alpha=float(n) / p.d)).estimation_error for n in x]),
        composite=(fewer, np.array([composite_error(p._replace(n=float(n))) for n in fewer])),
        laws=_laws_along(p, dense, passed),
        passed=passed,
        boundaries=boundaries,
    )


def _phases_along(
    p: PowerProblem, samples: Floats
) -> tuple[tuple[tuple[str, float, float], ...], tuple[Boundary, ...]]:
    """Phases in their order with where they begin and end, and the boundaries between them."""
    names = [phase_of(p._replace(n=float(n))) for n in samples]
    walls = [
        boundary_between(p, "n", float(np.log10(before)), float(np.log10(after)), name)
        for (before, name), (after, other) in pairwise(zip(samples, names, strict=True))
        if name != other
    ]
    starts = [float(samples[0]), *(wall.value for wall in walls)]
    ends = [*(wall.value for wall in walls), float(samples[-1])]
    order = [names[0], *(wall.there for wall in walls)]
    return tuple(zip(order, starts, ends, strict=True)), tuple(walls)


def _laws_along(
    p: PowerProblem, samples: Floats, passed: tuple[tuple[str, float, float], ...]
) -> dict[str, tuple[Floats, Floats]]:
    """What each law says over its own phase and a little beyond, where it is finite."""
    found = {}
    for name, low, high in passed:
        further = ON_THE_PEAK if name == "peak" else BESIDE
        x = samples[(samples >= low / further) & (samples <= high * further)]
        if name in ("III", "VI"):
            x = x[x > p.d]  # their formulas have a pole at as many samples as entries
        said = np.array([PHASES[name].law(p._replace(n=float(n))) for n in x])
        good = np.isfinite(said)
        found[name] = x[good], said[good]
    return found
