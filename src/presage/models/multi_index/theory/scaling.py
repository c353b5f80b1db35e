"""The scaling law of features of falling size: as many are learned as samples allow, and the rest is the risk."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import final

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.multi_index.declaration import ALPHA, SCALING
from presage.models.multi_index.gaussian_means import moments
from presage.models.multi_index.problem import MultiIndexProblem
from presage.models.multi_index.theory.outliers import weak_outliers, weak_threshold
from presage.models.multi_index.theory.readout import excess_risk, floor
from presage.models.multi_index.theory.solution import solve
from presage.protocol import checks
from presage.protocol.scaling import Boundary, Scaling, ScalingLaw

FACTOR = 1.5  # either side of a point, of local exponents
NO_FLOOR = 1e-9  # of the variance of a label: a floor that is rounding
PHASES = ("nothing learned", "one by one", "all learned")


@final
@dataclass(frozen=True)
class MultiIndexScaling(Scaling):
    """Phase, law and boundaries of features of falling size; n is counted as alpha, n/d."""

    learned: int = 0  # features above their threshold

    observables = SCALING
    phases = PHASES


def scaling(problem: MultiIndexProblem, *, local: bool = True) -> MultiIndexScaling:
    """The law of the excess risk in the number of samples: before the first threshold, between, and after the last.

    `local` asks for the exponent of the exact risk around the point too. Boundaries in n are given as alpha = n/d.
    """
    if problem.decay == 0.0 or problem.features < 2:
        raise checks.complaint(
            "decay",
            "be above 1/2, with at least two features",
            "a scaling law is about features of falling size",
            problem.decay,
            "Use for example <decay=1.0> and <features=100>.",
        )
    here, thresholds = solve(problem), weak_threshold(problem)
    composite = excess_risk(problem, weak_outliers(problem).overlap)
    first, last = float(thresholds[0]), float(thresholds[-1])
    law = _law(problem, thresholds)
    boundaries = tuple(
        Boundary("alpha", value, law.phase, there, exact=False)
        for value, there in _walls(law.phase, first, last)
        if np.isfinite(value)
    )
    exponents = {}
    if local:
        ends = np.clip([problem.alpha / FACTOR, problem.alpha * FACTOR], ALPHA.at_least, ALPHA.at_most)
        risks = [solve(problem.replace(alpha=float(alpha))).excess_risk for alpha in ends]
        exponents["n"] = float(np.log(risks[1] / risks[0]) / np.log(ends[1] / ends[0]))
    bar = here.error_bars["excess_risk"]
    bars = {"error": bar, "law_value": 0.0, "composite": bar, "learned": 0.0}
    notes = (
        *here.notes,
        *_about_the_floor(problem),
        "the law is the leading order of many features, of which few are at their threshold; that no method has a "
        "better exponent is stated in print, and not checked here.",
    )
    return MultiIndexScaling(
        problem, law, boundaries, here.excess_risk, composite, exponents, bars, notes, int(np.sum(here.overlaps > 0.0))
    )


def exponent(decay: float, power: int = 1) -> float:
    """Exponent of the excess risk in the number of samples, ``-(1/b)(1 - 1/(2 gamma))``, b that of the thresholds.

    Features up to ``K ~ alpha^{1/(2 b gamma)}`` are learned, and what is left has the energy ``K^{1 - 2 gamma}``.

    Equation: [DKLM26a], [DKLM26b]
    Checked: tests/models/multi_index/test_theory.py::test_slopes_of_risk_and_energy
    """
    return -(1.0 - 1.0 / (2.0 * decay)) / power


def one_by_one(problem: MultiIndexProblem, K: float, power: int) -> float:
    """The excess risk above its floor where K of infinitely many features are learned, at ``alpha (k/K)^(2 b gamma)``.

        R = lambda K^{1 - 2 gamma} sum_l f_l^2 [1/(2 gamma - 1) + I_l]
        I_l = int_0^1 u^{-2 gamma} (1 - (1 - u^{2 b gamma})^l) du
            = sum_{j=1}^l C(l,j) (-1)^{j+1}/(2 gamma (b j - 1) + 1)

    Equation: derived: the sum over features as an integral, of Hermite parts up to the degree of the readout.
    Checked: tests/models/multi_index/test_theory.py::test_law_of_many_features
    """
    gamma, known = problem.decay, moments(problem.link)
    total = 0.0
    for degree in range(1, problem.readout_degree + 1):
        inner = sum(
            comb(degree, j) * (-1.0) ** (j + 1) / (2.0 * gamma * (power * j - 1) + 1.0) for j in range(1, degree + 1)
        )
        total += known.coefficients[degree] ** 2 * (1.0 / (2.0 * gamma - 1.0) + inner)
    return float(problem.signal * K ** (1.0 - 2.0 * gamma) * total)


def not_there(problem: MultiIndexProblem) -> float:
    """What features beyond the last would have above the floor: ``lambda sum_{k>p} a_k^2 sum_{l<=D} f_l^2``.

    Equation: derived: the features of `one_by_one` without end, less those of the problem.
    Checked: tests/models/multi_index/test_theory.py::test_laws_have_the_floor_of_the_readout
    """
    known = moments(problem.link).coefficients[1 : problem.readout_degree + 1]
    beyond = scipy.special.zeta(2.0 * problem.decay, problem.features + 1.0)
    return float(problem.signal * beyond * np.sum(known**2))


def _law(problem: MultiIndexProblem, thresholds: Floats) -> ScalingLaw:
    """The law of the phase that the problem is in."""
    alpha, gamma, known = problem.alpha, problem.decay, moments(problem.link)
    lost = floor(problem)
    above = f", above the floor {lost:.3g} of the readout's degree" if _about_the_floor(problem) else ""
    if not alpha > thresholds[0]:
        value = known.variance * float(np.sum(problem.weights**2))
        words, formula = "no feature is above its threshold", "R = lambda Var f sum_k a_k^2"
        return ScalingLaw(PHASES[0], words, formula, value, {"n": 0.0}, exact=True)
    if alpha > thresholds[-1]:
        degrees = np.arange(1, problem.readout_degree + 1)
        slope = float(np.sum(degrees * known.coefficients[degrees] ** 2))
        value = lost + slope * float(np.sum(problem.weights**2 * thresholds)) / alpha
        words = f"all features are learned{above}"
        formula = "R = R_floor + lambda sum_k a_k^2 (alpha_k/alpha) sum_l l f_l^2"
        return ScalingLaw(PHASES[2], words, formula, value, {"n": -1.0}, exact=False)
    middle = max(int(np.searchsorted(thresholds, alpha)) - 1, 0)
    last = int(np.flatnonzero(np.isfinite(thresholds))[-1])  # smaller features are too small for their labels' rounding
    power = 1
    if last > middle:
        steps = float(np.log(thresholds[last] / thresholds[middle]) / np.log((last + 1) / (middle + 1)))
        power = max(round(steps / (2.0 * gamma)), 1)
    K = (middle + 1) * (alpha / float(thresholds[middle])) ** (1.0 / (2.0 * power * gamma))
    words = f"about {K:.3g} features are learned, and the others are the risk{above}"
    formula = (
        "R = R_floor + lambda sum_l f_l^2 {K^(1 - 2 gamma) [1/(2 gamma - 1) + I_l] - sum_{k>p} k^(-2 gamma)},  "
        "K = (alpha/alpha_1)^(1/(2 b gamma))"
    )
    value = lost + one_by_one(problem, K, power) - not_there(problem)
    return ScalingLaw(PHASES[1], words, formula, value, {"n": exponent(gamma, power)}, exact=False)


def _about_the_floor(problem: MultiIndexProblem) -> tuple[str, ...]:
    """What the exponent of a law is about, where the readout leaves something of the very features."""
    if floor(problem) < NO_FLOOR * problem.label_variance:
        return ()
    return ("the exponent of the law is that of the risk above its floor, which more samples do not lower.",)


def _walls(phase: str, first: float, last: float) -> list[tuple[float, str]]:
    """Where the phases beside this one begin."""
    if phase == PHASES[0]:
        return [(first, PHASES[1])]
    return [(first, PHASES[0]), (last, PHASES[2])] if phase == PHASES[1] else [(last, PHASES[1])]
