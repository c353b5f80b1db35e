"""How many samples show each feature, by the preprocessing of a problem and by any."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import factorial, inf, isinf, nan
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_index.declaration import THRESHOLDS
from presage.models.multi_index.label_law import label_law
from presage.models.multi_index.noise_sensitivity import noise_sensitivity
from presage.models.multi_index.problem import MultiIndexProblem
from presage.models.multi_index.theory.outliers import (
    best_threshold,
    sides,
    smaller,
    unbounded,
    weak_threshold,
)
from presage.protocol.prediction import SampleSizes


@final
@dataclass(frozen=True, eq=False)
class MultiIndexThresholds(SampleSizes):
    """Sample ratios ``alpha = n/d`` from which on features are seen, as a number each and for every feature."""

    first: float
    last: float
    best_first: float
    best_last: float
    alpha: Floats = field(repr=False)  # of every feature, by the preprocessing of the problem
    weak: Floats = field(repr=False)  # the same by the formula of weak features, E[T^2]/theta_k^2
    best: Floats = field(repr=False)  # of the best first-order method
    caveats: tuple[str, ...] = ()
    problem: MultiIndexProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS


def thresholds(problem: MultiIndexProblem) -> MultiIndexThresholds:
    """Thresholds of every feature in ``alpha = n/d``: of the preprocessing, by its weak formula, and the best possible.

    Weights without a bound have no threshold in the strict sense, since rare labels make outliers by themselves: for
    these the formula of weak features is what is told.
    """
    weak, notes = weak_threshold(problem), list(problem.notes)
    own = weak
    if unbounded(problem):
        notes.append(
            "weights without a bound have no sharp threshold, since rare labels make outliers by themselves: these are "
            "the thresholds of weak features."
        )
    else:
        own = _own(problem, weak)
    best = _best(problem)
    if np.isinf(own[0]):
        notes.append("labels that are weighted like this show no feature, however many samples there are.")
    return MultiIndexThresholds(
        float(own[0]), float(own.max()), float(best[0]), float(best.max()), own, weak, best, tuple(notes), problem
    )


def exact_thresholds(problem: MultiIndexProblem) -> Floats:
    """Thresholds of the features that are followed, by the preprocessing of the problem, above the bulk or below it."""
    both = sides(problem)
    return np.array([min(side.threshold(row) for side in both) for row in range(len(both[0].excess))])


def weak_signal_threshold(problem: MultiIndexProblem) -> float:
    """Samples from which on first-order methods find a single weak feature, by the noise sensitivity exponent b.

        alpha_Alg = b!/(lambda^b (E[f^b (z^2 - 1)])^2)

    Lambda is the signal over the noise, times the size of the feature squared. It is infinite where no power that is
    looked at has such an expectation, and nan where quadrature cannot tell.

    Equation: [DKLM26b]
    Checked: tests/models/multi_index/test_theory.py::test_seen_ratios_of_exact_thresholds_and_their_formula
    """
    found = noise_sensitivity(problem.link)
    if not found.sure:
        return inf if isinf(found.exponent) else nan
    b = int(found.exponent)
    signal = problem.weights[0] ** 2 / problem.noise
    return float(factorial(b) / (signal**b * found.coefficient**2))


def _own(problem: MultiIndexProblem, weak: Floats) -> Floats:
    """Exact thresholds of those that are followed, for all: further ones relative to the formula of weak features."""
    followed = exact_thresholds(problem)
    known = len(followed)
    if problem.decay == 0.0:
        return np.full(problem.features, followed[0])
    if problem.features == known:
        return followed
    half, sizes = known // 2 - 1, problem.sizes
    if not np.isfinite([weak[half], weak[known - 1], followed[half], followed[-1]]).all():
        return np.concatenate([followed, np.full(problem.features - known, inf)])
    near, last = followed[half] / weak[half], followed[-1] / weak[known - 1]
    slope = (near - last) / (sizes[half] - sizes[known - 1])
    return np.concatenate([followed, weak[known:] * (last + slope * (sizes[known:] - sizes[known - 1]))])


def _best(problem: MultiIndexProblem) -> Floats:
    """Thresholds of the best method for all features: of further ones by what they have in labels."""
    law = label_law(problem)
    followed = best_threshold(law)
    known = len(followed)
    if problem.decay == 0.0:
        return np.full(problem.features, followed[0])
    if problem.features == known:
        return followed
    small = smaller(law, problem.sizes[:known])
    if small is None:
        return np.concatenate([followed, np.full(problem.features - known, inf)])
    power, near, slope = small
    a = problem.sizes[known:]
    seen = [law.weight @ (one * other) for one, other in ((near, near), (near, slope), (slope, slope))]
    return np.concatenate([followed, a ** (-2 * power) / (seen[0] + 2.0 * a * seen[1] + a**2 * seen[2])])
