"""What the count of partitions says about learning a random hierarchy layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, final

import numpy as np

from presage.models.random_hierarchy.declaration import MEASURED, SPREAD
from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.models.random_hierarchy.theory.calibration import CHAINED, LOWEST_LEVEL, MANY_SYNONYMS, error_bar
from presage.models.random_hierarchy.theory.levels import counted
from presage.models.random_hierarchy.theory.rule_sets import DRAWS, FEWEST, Floats
from presage.models.random_hierarchy.theory.signal import signal_to_noise
from presage.protocol import checks
from presage.protocol.feature_comparison import Beside
from presage.protocol.prediction import Prediction

FEW = 0.5  # how often a tuple is seen at a position before that is said
BIMODAL = (0.15, 0.97)  # accuracies between these are means of learners that differ much


@final
@dataclass(frozen=True)
class RandomHierarchySolution(Prediction):
    """Prediction for clustering layer by layer, in the mean over rules and samples."""

    problem: RandomHierarchyProblem
    accuracy: float  # part of fresh samples whose class is right
    bottom_purity: float  # part of the lowest tuples of the commonest symbol of their cluster
    top_purity: float  # the same at the highest level that is clustered
    rule_spread: float  # standard deviation of the accuracy from one set of rules to another
    purity: Floats = field(repr=False, hash=False, compare=False)  # of every level that is clustered, the lowest first
    signal_to_noise: Floats = field(repr=False, hash=False, compare=False)  # of every level, if those below are clean
    sets: int  # sets of rules that the numbers are means over
    bars: dict[str, float] = field(repr=False, hash=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    observables = (*MEASURED, SPREAD)
    compared = tuple(observable.name for observable in MEASURED)

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off: calibrated on learners, and the error of the mean over sets of rules."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: that it is a count and no theorem, and where it is worst."""
        return (*self.problem.notes, *self.notes)

    def features_beside(self, ensemble: Any) -> Mapping[str, Beside] | None:
        """Purity of every level, predicted and of each learner, the lowest first; None of learners without levels."""
        measured = ensemble.values("purity")
        if not np.isfinite(measured).all():
            return None
        return {"purity": Beside("purity of a level's clusters, the lowest first", self.purity, measured)}


def solve(problem: RandomHierarchyProblem, *, draws: int = DRAWS) -> RandomHierarchySolution:
    """Predict what clustering layer by layer learns, by a count of the partitions that beat the true one.

    `draws` is the number of sets of rules that are averaged over; they are the same at every alpha.
    """
    remedy = f"Use <draws={DRAWS}>."
    reason = "numbers are means over so many sets of rules, and one has no spread"
    draws = checks.integer("draws", draws, at_least=FEWEST, at_most=10_000, reason=reason, remedy=remedy)
    found = counted(problem, draws)
    sets = len(found.accuracy)
    purity = found.purity.mean(axis=0)
    chance = 1.0 / problem.symbols
    bars = {
        "accuracy": error_bar(found.accuracy, 1.0 / problem.n_classes, CHAINED),
        "bottom_purity": error_bar(found.purity[:, 0], chance, LOWEST_LEVEL),
        "top_purity": error_bar(found.purity[:, -1], chance, CHAINED if problem.depth > 2 else LOWEST_LEVEL),
    }
    spread = float(found.accuracy.std(ddof=1))
    levels = range(1, problem.depth)
    return RandomHierarchySolution(
        problem,
        accuracy=float(found.accuracy.mean()),
        bottom_purity=float(purity[0]),
        top_purity=float(purity[-1]),
        rule_spread=spread,
        purity=purity,
        signal_to_noise=np.array([signal_to_noise(problem, level) for level in levels]),
        sets=sets,
        bars={**bars, "rule_spread": 2.0 * spread / sqrt(2.0 * (sets - 1))},
        notes=tuple(_notes(problem, float(found.accuracy.mean()), sets, draws)),
    )


def _notes(problem: RandomHierarchyProblem, accuracy: float, sets: int, draws: int) -> list[str]:
    said = [
        "a count of partitions, not a theorem: its form and its error bars were chosen beside learners, and one mean "
        "in twenty is outside of them; its claim is k-means at every level, for the mean over rules and samples."
    ]
    if BIMODAL[0] < (accuracy - 1.0 / problem.n_classes) / (1.0 - 1.0 / problem.n_classes) < BIMODAL[1]:
        said.append(
            "single learners differ much here, by their rules and by luck: compare the mean of 8 seeds or more."
        )
    if problem.synonyms >= MANY_SYNONYMS:
        said.append(
            f"with {problem.synonyms} synonyms there are more partitions than are counted, and learners are mostly "
            "worse than predicted below alpha = 2: by up to 0.26 in the accuracy of those that were tried."
        )
    seen = problem.alpha * problem.samples_at_one(problem.own_dimension) / (problem.synonyms * problem.symbols)
    if seen < FEW:
        said.append(f"a tuple is seen {seen:.2g} times at a position on average: with so few samples chance decides.")
    if sets < draws:
        said.append(
            f"{sets} sets of rules instead of {draws}, since each is large here: the error bar has what that costs."
        )
    return said
