"""Accuracy and purity against the number of samples, and the sample sizes at which they are half way."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.models.random_hierarchy.theory.calibration import CHAINED, LOWEST_LEVEL, error_bar
from presage.models.random_hierarchy.theory.levels import counted
from presage.models.random_hierarchy.theory.partitions import chance_purity
from presage.models.random_hierarchy.theory.rule_sets import Floats

FOLLOWED = (0.02, 50.0)  # range of alpha in which crossings are looked for
POINTS = 40  # of a curve in that range; it is straight in the logarithm of alpha between them
ACCURACY = 0.01  # of alpha at a crossing, relative


class Crossing(NamedTuple):
    """Where a curve is half way, and where the ends of its error bars are."""

    alpha: float
    early: float
    late: float

    @property
    def error_bar(self) -> float:
        """Half of the distance of the two ends."""
        return 0.5 * (self.late - self.early)

    @property
    def inside(self) -> bool:
        """Whether it is in the range that was looked at."""
        return FOLLOWED[0] < self.alpha < FOLLOWED[1]


class Crossings(NamedTuple):
    """Of the accuracy, and of the purity of every level that is clustered, the lowest first."""

    accuracy: Crossing
    purity: tuple[Crossing, ...]


def half_purity(problem: RandomHierarchyProblem) -> float:
    """Purity half way between that of clusters by chance and one: a level counts as learned from here on."""
    return 0.5 * (1.0 + chance_purity(problem.symbols, problem.synonyms))


def half_accuracy(problem: RandomHierarchyProblem) -> float:
    """Accuracy half way between a guess and one."""
    return 0.5 * (1.0 + 1.0 / problem.n_classes)


def crossings(problem: RandomHierarchyProblem) -> Crossings:
    """Where accuracy and purities are half way; the alpha of the problem plays no part."""
    return _crossings(problem.replace(alpha=1.0))


@lru_cache(maxsize=64)
def _crossings(problem: RandomHierarchyProblem) -> Crossings:
    alphas = np.geomspace(*FOLLOWED, POINTS)
    found = [counted(problem.replace(alpha=float(alpha))) for alpha in alphas]
    guess, chance = 1.0 / problem.n_classes, 1.0 / problem.symbols
    values = [one.accuracy for one in found]
    accuracy = _crossing(alphas, values, [error_bar(each, guess, CHAINED) for each in values], half_accuracy(problem))
    purity = []
    for level in range(problem.depth - 1):
        values = [one.purity[:, level] for one in found]
        bars = [error_bar(each, chance, CHAINED if level else LOWEST_LEVEL) for each in values]
        purity.append(_crossing(alphas, values, bars, half_purity(problem)))
    return Crossings(accuracy, tuple(purity))


def _crossing(alphas: Floats, values: list[Floats], bars: list[float], half: float) -> Crossing:
    mean, bar = np.array([each.mean() for each in values]), np.array(bars)
    at, early, late = (_reached(alphas, curve, half) for curve in (mean, mean + bar, mean - bar))
    return Crossing(at, early, late)


def _reached(alphas: Floats, curve: Floats, half: float) -> float:
    """Where a curve first is at half way; an end of the range where it is there from the start, or never."""
    if curve[0] >= half:
        return float(alphas[0])
    # A curve with its bar need not grow everywhere: what it has reached so far does.
    return float(np.exp(np.interp(half, np.maximum.accumulate(curve), np.log(alphas))))
