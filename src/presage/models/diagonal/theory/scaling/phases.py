"""Which phase a problem is in, and where the next ones begin.

A boundary is where the laws of its two sides are equal; that of phase Ib is known beyond leading order. The phases are
those of a matrix (a quadratic network) with one difference: there is no hard edge of the noise, whose largest of d
values grows as ``sqrt(2 log d)``, so that cutoffs ``chi delta`` take the place of ``2 delta``.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log, sqrt

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.diagonal.theory.scaling import laws
from presage.models.diagonal.theory.scaling.power_problem import PowerProblem
from presage.protocol.scaling import Boundary

HALF = log(2.0)
STEP = 0.1  # decades between places that are looked at for another phase
RANGES = {"n": (1e-9, 1e6), "weight_decay": (1e-12, 1e6)}  # of alpha, as the problem has it, and of the weight decay


def phase_of(p: PowerProblem) -> str:
    """Name of the phase, by the leading laws: Ib, then what weight decay limits, then what noise limits."""
    if nothing_is_fitted(p):
        return "Ib"
    if weight_decay_rules(p):
        if p.weight_decay >= p.alpha * p.amplitude and p.amplitude <= noise_limited_cutoff(p):
            return "Ia"
        return "III" if all_are_kept(p) else "II"
    if at_peak(p):
        return "peak"
    if p.alpha >= 1.0:
        return "VI"
    if p.amplitude <= noise_limited_cutoff(p):
        return "Ia"
    return "IV" if laws.error_of_sequence(p) > laws.error_of_overfitting(p) else "V"


def nothing_is_fitted(p: PowerProblem) -> bool:
    """Whether the fit is zero for at least half of all data: phase Ib."""
    delta, c = _without_fit(p)
    # The largest entry alone is there half of the time, or all together seldom: no sum is needed.
    first = np.asarray([p.amplitude])
    if _log_all_zero(p, first, delta, c) < -HALF:
        return False
    if p.d * -_log_all_zero(p, first, delta, c) < HALF:
        return True
    return _log_all_zero(p, p.theta, delta, c) >= -HALF


def weight_decay_of_nothing(p: PowerProblem) -> float:
    """The weight decay from which on the fit is zero: the median over data of ``|A'y|_inf``.

    ``lambda = alpha c``, where all of ``theta_i + delta z`` are within c of zero with probability one half, at
    ``alpha delta^2 = Q_0 + Delta``.

    Equation: derived: the LASSO is zero from ``lambda = |A'y|_inf`` on, and then ``A'y = alpha (theta + delta z)``.
    Checked: tests/models/diagonal/test_scaling.py::test_weight_decay_from_which_on_nothing_is_fitted
    """
    delta, theta = sqrt((p.Q_0 + p.noise) / p.alpha), p.theta

    def excess(log_c: float) -> float:
        return _log_all_zero(p, theta, delta, exp(log_c)) + HALF

    low, high = log(1e-3 * delta), log(10.0 * p.amplitude + 100.0 * delta)
    return p.alpha * exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-13)))


def weight_decay_rules(p: PowerProblem) -> bool:
    """Whether the weight decay, and not the noise, sets the cutoff: II beside IV, V, the peak and VI; III beside VI.

    Below one sample an entry the cutoff ``lambda/alpha`` is above that of IV, where both laws are the same, and the
    noise that is fitted at this weight decay costs less than the law of II. Where every entry is kept, III is above VI:
    ``lambda^2 > Delta (alpha - 1)``.

    Equation: derived: neighbours equated.
    Checked: tests/models/diagonal/test_scaling.py::test_boundaries_are_where_neighbours_are_equal
    """
    if all_are_kept(p):
        return p.weight_decay**2 >= p.noise * (p.alpha - 1.0)
    if p.weight_decay == 0.0:
        return False
    c = p.weight_decay / p.alpha
    if p.alpha < 1.0 and laws.error_above(p, c) < min(laws.error_of_sequence(p), p.Q_0):
        return False
    return p.noise == 0.0 or laws.error_above(p, c) >= laws.bulk(p.alpha, p.weight_decay, p.noise).overfitting


def all_are_kept(p: PowerProblem) -> bool:
    """Whether the cutoff of III, ``lambda/(alpha - 1)``, is below every entry."""
    return p.alpha > 1.0 and p.weight_decay < (p.alpha - 1.0) * cutoff_of_all_kept(p)


def at_peak(p: PowerProblem) -> bool:
    """Whether the law of the peak is below those of V or VI beside it, within a factor of two of as many as entries.

    It is a law of noise alone: most entries have to be below the noise that it makes.

    Equation: derived: neighbours equated.
    Checked: tests/models/diagonal/test_scaling.py::test_boundaries_are_where_neighbours_are_equal
    """
    peak = laws.error_at_peak(p)
    beside = laws.error_of_overfitting(p) if p.alpha < 1.0 else laws.error_of_least_squares(p)
    middle = p.amplitude * (0.5 * p.d) ** -p.gamma
    return 0.5 < p.alpha < 2.0 and middle**2 < peak <= beside


def cutoff_of_all_kept(p: PowerProblem) -> float:
    """The cutoff below which every entry is kept: ``(2 gamma/(2 gamma - 1))^gamma M^gamma theta_d``.

    Equation: derived: II equated with III, ``c^2``.
    Checked: tests/models/diagonal/test_scaling.py::test_boundaries_are_where_neighbours_are_equal
    """
    g = p.gamma
    return float((2.0 * g / (2.0 * g - 1.0) * p.moment) ** g * p.amplitude * p.d**-g)


def noise_limited_cutoff(p: PowerProblem) -> float:
    """The cutoff of noise alone, with the whole target counted as noise: an entry 1 below it is not learned, as in Ia.

    With as many samples as entries or more it is the noise itself.

    Equation: derived: `laws.bulk` with labels of variance ``Q_0 + Delta``.
    Checked: tests/models/diagonal/test_scaling.py::test_boundaries_are_where_neighbours_are_equal
    """
    variance = p.Q_0 + p.noise
    if p.alpha >= 1.0:
        return sqrt(variance / p.alpha)
    chi, delta, _ = laws.bulk(p.alpha, 0.0, variance)
    return chi * delta


def boundaries_of(p: PowerProblem) -> tuple[Boundary, ...]:
    """The nearest other phases in the number of samples and in the weight decay, below and above."""
    here = phase_of(p)
    found = (_nearest(p, field, places, here) for field in RANGES for places in _places(p, field))
    return tuple(boundary for boundary in found if boundary is not None)


def _places(p: PowerProblem, field: str) -> Iterator[Floats]:
    """Where to look, from here downwards and from here upwards, in decades."""
    low, high = np.log10(RANGES[field]) + (np.log10(p.d) if field == "n" else 0.0)
    value = getattr(p, field)
    start = np.log10(value) if value > 0.0 else low
    grid = np.arange(low, high + STEP, STEP)
    if field == "n":  # the peak may be narrower than a step
        grid = np.union1d(grid, np.log10(p.d))
    yield grid[grid < start][::-1]
    yield grid[grid > start]


def _nearest(p: PowerProblem, field: str, places: Floats, here: str) -> Boundary | None:
    """The first change of phase along some places."""
    value = getattr(p, field)
    inside = np.log10(value) if value > 0.0 else float(places[0]) if len(places) else 0.0
    for place in places:
        if phase_of(p._replace(**{field: 10.0**place})) != here:
            return boundary_between(p, field, inside, float(place), here)
        inside = float(place)
    return None


def boundary_between(p: PowerProblem, field: str, inside: float, outside: float, here: str) -> Boundary:
    """Where the phase `here` ends between two places of a field, told by their decades: to rounding."""

    def phase(place: float) -> str:
        return phase_of(p._replace(**{field: 10.0**place}))

    while abs(outside - inside) > 1e-13 * max(1.0, abs(outside)):
        middle = 0.5 * (inside + outside)
        if middle in (inside, outside):
            break
        inside, outside = (middle, outside) if phase(middle) == here else (inside, middle)
    there = phase(outside)
    return Boundary(field, 10.0**outside, here, there, exact="Ib" in (here, there))


def _without_fit(p: PowerProblem) -> tuple[float, float]:
    """Noise and cutoff of a fit that is zero."""
    return sqrt((p.Q_0 + p.noise) / p.alpha), p.weight_decay / p.alpha


def _log_all_zero(p: PowerProblem, theta: Floats, delta: float, c: float) -> float:
    """Logarithm of the probability that every one of these entries is below the cutoff."""
    if p.gaussian:
        kept = 2.0 * scipy.special.ndtr(-c / np.sqrt(theta**2 + delta**2))
    else:
        kept = scipy.special.ndtr((theta - c) / delta) + scipy.special.ndtr(-(theta + c) / delta)
    with np.errstate(divide="ignore"):
        return float(np.log1p(-np.minimum(kept, 1.0)).sum())
