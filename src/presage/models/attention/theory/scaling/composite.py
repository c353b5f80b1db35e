"""The composite law: isolated features on a semicircle of noise. No integral, and right within a few per cent."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

from presage.laws.spectral_law import Floats
from presage.models.attention.theory.decomposition import threshold
from presage.models.attention.theory.scaling.laws import law_all_learned
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from presage.models.attention.theory.scaling.unit_semicircle import Isc, Jsc
from presage.protocol.njit import njit

HALVINGS = 60  # of a bracket in a logarithm: to rounding
FULL = 0.5  # alpha above which a fit can have full rank
FAR = 80.0  # e-folds at which the search for a bracket gives up


class Composite(NamedTuple):
    """A solution of the composite law, at second moment one."""

    delta: float
    c: float
    learned: int  # K, features above s_*
    error: float  # R
    bulk: float  # what the bulk costs of it
    features: float  # what features cost of it, learned and not


@njit(cache=True)
def _count(A: float, gamma: float, d: int, level: float) -> int:
    """How many of ``A i^-g`` are above a level."""
    if level >= A:
        return 0
    return min(d, int((A / level) ** (1.0 / gamma)))


@njit(cache=True)
def composite_alpha(inverse: Floats, inverse_square: Floats, K: int, delta: float, c: float, L: float) -> float:
    """``alpha = Isc(chi) + (1/d) sum_kept (1 + 1/u^2 - chi/u) + L/(4c)``.

    Equation: derived: the second of the two equations for isolated features on a semicircle.
    Checked: tests/models/attention/theory/scaling/test_composite.py::test_composite_law_against_the_exact_solver
    """
    kept = (K + delta * delta * inverse_square[K] - c * inverse[K]) / (inverse.size - 1)
    return float(Isc(c / delta) + kept + L / (4.0 * c))


@njit(cache=True)
def composite_features(inverse: Floats, inverse_square: Floats, rest: Floats, K: int, delta: float, c: float) -> float:
    """``(1/d) sum_kept t e(u, chi) + (1/d) sum_lost s^2``: what features cost; beside it the bulk costs ``t Jsc(chi)``.

    Equation: derived: the first of the two equations for isolated features on a semicircle.
    Checked: tests/models/attention/theory/scaling/test_composite.py::test_composite_law_against_the_exact_solver
    """
    t = delta * delta
    kept = K * (2.0 * t + c * c) + 3.0 * t * t * inverse_square[K] - 4.0 * t * c * inverse[K]
    return float((kept + rest[K]) / (inverse.size - 1))


@njit(cache=True)
def _cutoff(
    inverse: Floats, inverse_square: Floats, A: float, gamma: float, alpha: float, L: float, delta: float
) -> float:
    """The cutoff of the second equation at a noise level: what it says falls with the cutoff."""
    d = inverse.size - 1
    low = log(L / (4.0 * alpha)) if L > 0.0 else log(delta) - FAR
    high = low + 1.0
    step = 1.0
    while high < low + 2.0 * FAR:
        c = exp(high)
        K = _count(A, gamma, d, threshold(delta, c))
        if composite_alpha(inverse, inverse_square, K, delta, c, L) <= alpha:
            break
        high += step
        step *= 2.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        c = exp(middle)
        K = _count(A, gamma, d, threshold(delta, c))
        if composite_alpha(inverse, inverse_square, K, delta, c, L) > alpha:
            low = middle
        else:
            high = middle
    return exp(0.5 * (low + high))


@njit(cache=True)
def _excess(
    inverse: Floats,
    inverse_square: Floats,
    rest: Floats,
    A: float,
    gamma: float,
    alpha: float,
    L: float,
    D: float,
    delta: float,
) -> float:
    """How much too large the error is for a noise level, by the first equation ``2 alpha t = R + D/2``."""
    c = _cutoff(inverse, inverse_square, A, gamma, alpha, L, delta)
    K = _count(A, gamma, inverse.size - 1, threshold(delta, c))
    features = composite_features(inverse, inverse_square, rest, K, delta, c)
    return float(delta * delta * (Jsc(c / delta) - 2.0 * alpha) + features + 0.5 * D)


@njit(cache=True)
def _noise_level(
    inverse: Floats,
    inverse_square: Floats,
    rest: Floats,
    A: float,
    gamma: float,
    alpha: float,
    L: float,
    D: float,
) -> float:
    """The noise level of the first equation, by a bracket from that of an empty fit."""
    high = 0.5 * log((1.0 + 0.5 * D) / (2.0 * alpha))
    low = high
    up = _excess(inverse, inverse_square, rest, A, gamma, alpha, L, D, exp(high)) > 0.0
    step = 0.25
    start = high
    while abs(high - start) < FAR and abs(low - start) < FAR:
        if up:
            low, high = high, high + step
        else:
            low, high = low - step, low
        edge = high if up else low
        if (_excess(inverse, inverse_square, rest, A, gamma, alpha, L, D, exp(edge)) > 0.0) != up:
            break
        step *= 1.5
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _excess(inverse, inverse_square, rest, A, gamma, alpha, L, D, exp(middle)) > 0.0:
            low = middle
        else:
            high = middle
    return exp(0.5 * (low + high))


def composite_law(units: PowerLawUnits, alpha: float, L: float, D: float) -> Composite:
    """Solve the composite law: ``2 alpha t = R + D/2`` with ``R = t Jsc(chi) + features``, beside the second equation.

    Features are taken as isolated from each other and the bulk as that of noise alone. For ``c >= 2 delta`` it is right
    to 1e-4 and better, below within a few per cent for ``gamma > 1``; for smaller gamma the features that are not
    learned shift the bulk by their mean, and it is up to half too high. Where all features are learned there is no
    bulk, and `law_all_learned` is taken. Use it for maps and as a start.

    Equation: derived.
    Checked: tests/models/attention/theory/scaling/test_composite.py::test_composite_law_against_the_exact_solver
    Checked: tests/models/attention/theory/scaling/test_composite.py::test_composite_law_meets_its_own_equations
    """
    if alpha > FULL:  # if all is learned there is no bulk, and no other solution
        c, R = L / (4.0 * alpha - 2.0), float(law_all_learned(alpha, L, D))
        delta = sqrt((R + 0.5 * D) / (2.0 * alpha))
        if threshold(delta, c) < units.smallest:
            return Composite(delta, c, units.d, R, 0.0, R)
    inverse, inverse_square, rest = units.sums
    A, gamma, d = units.A, units.gamma, units.d
    delta = _noise_level(inverse, inverse_square, rest, A, gamma, alpha, L, D)
    c = _cutoff(inverse, inverse_square, A, gamma, alpha, L, delta)
    K = _count(A, gamma, d, threshold(delta, c))
    bulk, features = costs(units, delta, c)
    return Composite(delta, c, K, bulk + features, bulk, features)


def costs(units: PowerLawUnits, delta: float, c: float) -> tuple[float, float]:
    """What the bulk costs and what features cost at a noise level and a cutoff, by the composite law."""
    inverse, inverse_square, rest = units.sums
    K = _count(units.A, units.gamma, units.d, threshold(delta, c))
    features = composite_features(inverse, inverse_square, rest, K, delta, c)
    return delta**2 * float(Jsc(c / delta)), features
