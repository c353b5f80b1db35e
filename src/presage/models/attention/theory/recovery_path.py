"""Noise level and cutoff of a linear channel as the samples grow and the penalty stays: one curve, followed once.

The two equations have one root for every number of samples, and its tangent is explicit. Every sample size at which a
feature is learned or forgotten is a point where that curve passes the feature, so that all features share one walk.
In this file `alpha` is that of one token, times ``L_in`` for more.
"""

from __future__ import annotations

from functools import partial
from math import exp, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.theory.explicit_map import solve_point
from presage.solving.penalized_equations import PenalizedEquations
from presage.spectra.symmetric.functionals import Functionals, functionals

ASIDE = 1e-4  # how far off the cubic through the last two stations may lead; between stations it is off far less
LONGEST, SHORTEST = 0.4, 1e-7  # steps of log alpha
BEYOND_THE_PEAK = 1.0  # alpha from which on the noise only falls: labels are fitted exactly up to about 1/4
BEGIN = 4.0  # times fewer samples than the largest feature needs on the noise of an empty student
FARTHEST = 1e15  # alpha at which the walk ends, whatever is left
CELLS = 16  # between two stations, in each of which the curve passes a feature at most once
POLISHED = 32  # first features whose crossings are solved for once more


class Walk(NamedTuple):
    """Stations of the curve: log alpha, and the logarithms of noise level and cutoff with their slopes there."""

    at: Floats
    place: Floats  # rows (log delta, log c)
    slope: Floats
    note: str  # why it ends early, "" where it does not

    def between(self, index: NDArray[np.int64], y: Floats) -> Floats:
        """``(log delta, log c)`` at `y` in the intervals of these indices, by the cubics of values and slopes."""
        return _cubic(self.at, self.place, self.slope, index, y)


class Crossing(NamedTuple):
    """A sample size at which a feature begins or ceases to be learned."""

    feature: int  # counted from 0
    alpha: float
    learned: bool


def log_threshold(place: Floats) -> Floats:
    """Logarithm of the least eigenvalue of the target that is learned, at rows ``(log delta, log c)``."""
    log_delta, log_c = place[..., 0], place[..., 1]
    chi = np.maximum(np.exp(np.minimum(log_c - log_delta, 300.0)), 2.0)
    return np.asarray(log_delta + np.log(0.5 * (chi + np.sqrt((chi - 2.0) * (chi + 2.0)))))


def walk(target: SpectralLaw, noise: float, strength: float, largest: float, least: float) -> Walk:
    """Follow the solution from too few samples for the `largest` feature to enough for the `least`.

    Each station is a Newton step from the cubic through the last two; where that leads aside the step is halved.
    """
    rho_0 = target.second_moment + 0.5 * noise
    alpha = rho_0 / (2.0 * largest**2) / BEGIN
    point = solve_point(target, noise, alpha, strength)
    while log_threshold(np.log([point.delta, point.c])) <= log(largest):
        alpha /= BEGIN
        point = solve_point(target, noise, alpha, strength)
    integrals = partial(functionals, target)

    def equations(y: float) -> PenalizedEquations[Functionals]:
        return PenalizedEquations(integrals, 0.5 * noise, exp(y), 0.25 * strength, unit=2.0)

    y, h, note = log(alpha), 0.05, ""
    at, place = [y], [np.log([point.delta, point.c])]
    slope = [equations(y).tangent(point.functionals)]
    while y < log(FARTHEST):
        if log_threshold(place[-1]) < log(least) and y > log(BEYOND_THE_PEAK) and slope[-1][0] < 0.0:
            break
        found = _station(equations(y + h), _ahead(at, place, slope, y + h))
        if found is None or found.aside > ASIDE:
            h *= 0.5 if found is None else max(0.3, 0.8 * (ASIDE / found.aside) ** 0.25)
            if h < SHORTEST:
                note = f"the equations cannot be followed beyond alpha = {exp(y):.4g}: rounding hides the noise there."
                break
            continue
        y += h
        at.append(y)
        place.append(found.place)
        slope.append(found.slope)
        h = min(LONGEST, h * min(2.0, 0.8 * (ASIDE / max(found.aside, 1e-12)) ** 0.25))
    return Walk(np.array(at), np.array(place), np.array(slope), note)


class _Station(NamedTuple):
    place: Floats
    slope: Floats
    aside: float  # how far the prediction was off


def _station(equations: PenalizedEquations[Functionals], start: Floats) -> _Station | None:
    """Newton's method from a prediction: mostly a single step; None where it does not get there."""
    place, moved = start, np.zeros(2)
    for _ in range(4):
        f = equations.at(exp(place[0]), exp(place[1]))
        step = equations.newton_step(f)
        place, moved = place + step, moved + step
        if not np.isfinite(place).all():
            return None
        if float(np.abs(step).max()) < ASIDE:
            # A cutoff far below the noise says nothing of the features.
            weight = np.array([1.0, min(1.0, exp(min(place[1] - place[0], 0.0)))])
            return _Station(place, equations.tangent(f), float((weight * np.abs(moved)).max()))
    return None


def _ahead(at: list[float], place: list[Floats], slope: list[Floats], y: float) -> Floats:
    """The curve at `y`, beyond the last stations."""
    if len(at) == 1:
        return np.asarray(place[0] + slope[0] * (y - at[0]))
    only = np.zeros(1, dtype=np.int64)
    return np.asarray(_cubic(np.array(at[-2:]), np.array(place[-2:]), np.array(slope[-2:]), only, np.array([y]))[0])


def _cubic(at: Floats, place: Floats, slope: Floats, index: NDArray[np.int64], y: Floats) -> Floats:
    h = (at[index + 1] - at[index])[:, None]
    s = (y - at[index])[:, None] / h
    left, right = place[index], place[index + 1]
    rise = right - left
    a, b = slope[index] * h - rise, rise - slope[index + 1] * h
    return np.asarray((1.0 - s) * left + s * right + s * (1.0 - s) * ((1.0 - s) * a + s * b))


def crossings(target: SpectralLaw, noise: float, strength: float, s: Floats) -> tuple[list[Crossing], Walk]:
    """Every sample size at which one of the features `s` (decreasing) is learned or forgotten, in their order.

    Equation: derived: ``s_*(delta, c) = s_i`` along the curve on which ``lambda~`` is constant.
    Checked: tests/models/attention/theory/test_sequential_recovery.py::test_every_crossing_is_on_its_path
    Checked: tests/models/attention/theory/test_sequential_recovery.py::test_check_values
    """
    path = walk(target, noise, strength, float(s[0]), float(s[-1]))
    steps = len(path.at) - 1
    index = np.repeat(np.arange(steps), CELLS)
    y = path.at[index] + np.tile(np.arange(CELLS) / CELLS, steps) * np.diff(path.at)[index]
    y, index = np.append(y, path.at[-1]), np.append(index, steps - 1)
    edge = log_threshold(path.between(index, y))
    rising = np.log(s[::-1])  # increasing
    # A feature is passed in a cell if it lies between the thresholds at its ends.
    first = np.searchsorted(rising, np.minimum(edge[:-1], edge[1:]))
    last = np.searchsorted(rising, np.maximum(edge[:-1], edge[1:]))
    cell = np.repeat(np.arange(len(edge) - 1), last - first)
    begun = np.repeat(np.cumsum(last - first) - (last - first), last - first)
    feature = len(s) - 1 - (first[cell] + np.arange(len(cell)) - begun)
    learned = edge[cell] > edge[cell + 1]
    where = _bisected(path, index[cell], y[cell], y[cell + 1], learned, np.log(s)[feature])
    place = path.between(index[cell], where)
    alpha = np.exp(where)
    for k in np.flatnonzero(feature < POLISHED):
        alpha[k] = _polished(target, noise, strength, float(s[feature[k]]), place[k], float(alpha[k]))
    order = np.argsort(alpha, kind="stable")
    found = [Crossing(int(feature[k]), float(alpha[k]), bool(learned[k])) for k in order]
    return found, path


def _bisected(
    path: Walk, index: NDArray[np.int64], low: Floats, high: Floats, falling: NDArray[np.bool_], level: Floats
) -> Floats:
    """Where the threshold is at a level, in each cell of the walk."""
    low, high = low.copy(), high.copy()
    for _ in range(52):
        middle = 0.5 * (low + high)
        above = log_threshold(path.between(index, middle)) > level
        before = above == falling
        low, high = np.where(before, middle, low), np.where(before, high, middle)
    return np.asarray(0.5 * (low + high))


def _polished(target: SpectralLaw, noise: float, strength: float, s: float, place: Floats, alpha: float) -> float:
    """A crossing to the accuracy of the equations: Newton's method in the cutoff along the path of its feature.

    The path is ``delta = s`` up to ``c = 2s`` and ``t = s (c - s)`` beyond, on which `explicit_map` gives alpha and
    the penalty; where that does not converge, at a feature that is only touched, the crossing of the walk stays.
    """
    log_c = float(place[1])
    within = place[1] - place[0] <= log(2.0)
    for _ in range(4):
        c = exp(log_c)
        delta = s if within else (s * (c - s)) ** 0.5
        f = functionals(target, delta, c)
        t, turn = delta**2, 0.0 if within else 0.5 * s / delta
        found = (f.risk + 0.5 * noise) / (2.0 * t)
        slope = (f.drisk_dc + turn * f.drisk_ddelta) / (2.0 * t) - 2.0 * found * turn / delta
        price = 4.0 * c * (found - f.I)
        price_slope = 4.0 * (found - f.I) + 4.0 * c * (slope - f.dI_dc - turn * f.dI_ddelta)
        step = (strength - price) / (c * price_slope) if price_slope != 0.0 else np.inf
        if abs(step) > 1e-2:
            return alpha
        log_c += step
        if abs(step) < 1e-6:
            return found + slope * c * step
    return alpha
