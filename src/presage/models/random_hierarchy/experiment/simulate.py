"""Draw rules and samples, learn layer by layer, and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from presage.models.random_hierarchy.experiment.data import draw_rules, draw_samples
from presage.models.random_hierarchy.experiment.ensemble import RandomHierarchyEnsemble
from presage.models.random_hierarchy.experiment.layerwise_clustering import (
    LayerwiseClustering,
    Learned,
    learn_by_clustering,
)
from presage.models.random_hierarchy.experiment.layerwise_convolution import (
    LayerwiseConvolution,
    learn_by_convolution,
)
from presage.models.random_hierarchy.experiment.polynomial_kernel import PolynomialKernel, learn_by_kernel
from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.extras import must_be_installed
from presage.protocol.trainer import Trainer

# Packages that each trainer needs: module, name, and the extra that has it.
SCIKIT_LEARN, TORCH = ("sklearn", "scikit-learn", "learn"), ("torch", "torch", "torch")
NEEDED: dict[type[Trainer], tuple[tuple[str, str, str], ...]] = {
    LayerwiseClustering: (SCIKIT_LEARN,),
    PolynomialKernel: (SCIKIT_LEARN,),
    LayerwiseConvolution: (TORCH, SCIKIT_LEARN),
}


def simulate(
    problem: RandomHierarchyProblem,
    *,
    d: int | None = None,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    n_test: int = 4000,
    processes: int | None = None,
    progress: bool | None = None,
) -> RandomHierarchyEnsemble:
    """Draw rules and samples, learn, and measure on fresh samples, one learner a seed.

    Args:
        problem: what is learned; the number of samples is ``round(alpha n_c m^L)``.
        d: length of an input; it is ``branching^depth`` and can be left out.
        seeds: how many learners (seeds 0, 1, ...), or the seeds themselves.
        trainer: `LayerwiseClustering` (the default), `LayerwiseConvolution`, a convolutional network that is trained
            layer by layer, or `PolynomialKernel`, which has no layers.
        n_test: fresh samples for the accuracy and the purity.
        processes: how many learners are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `RandomHierarchySolution`, one entry a seed.
    """
    setting = _setting(problem, d, LayerwiseClustering() if trainer is None else trainer, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class HierarchySetting(Setting):
    """Everything about a run but its seed."""

    problem: RandomHierarchyProblem
    d: int
    trainer: Trainer
    n_test: int

    kind = RandomHierarchyEnsemble
    too_large = "Use a smaller <alpha>, <depth> or <symbols>, or a <trainer> of fewer clusters or channels."

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.problem.samples(self.d)

    @property
    def memory(self) -> float:
        """Bytes of the samples and their levels, of the counts, and of what a network or a kernel holds."""
        problem, rows = self.problem, self.n + self.n_test
        levels = 8.0 * rows * self.d * (4.0 + 4.0 / problem.branching)
        hot = 8.0 * rows * self.d * problem.symbols
        if isinstance(self.trainer, PolynomialKernel):
            return levels + hot + 16.0 * float(self.n) ** 2
        if isinstance(self.trainer, LayerwiseConvolution):
            return levels + hot + 16.0 * rows * self.d / problem.branching * self.trainer.width
        assert isinstance(self.trainer, LayerwiseClustering)  # checked where the setting is made
        alphabet, first = float(self.trainer.number(problem)), float(problem.symbols)
        # Counts of all tuples, once whole and once real: at the lowest level, or at the next, of clusters by then.
        tuples = max(first**problem.branching, alphabet**problem.branching / problem.branching)
        return levels + 16.0 * self.d / problem.branching * tuples * problem.n_classes

    @property
    def size(self) -> str:
        """What makes it large."""
        clusters = self.trainer.number(self.problem) if isinstance(self.trainer, LayerwiseClustering) else None
        return f"{self.n} samples of {self.d} symbols" + (f" and {clusters} clusters" if clusters else "")

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the problem as the theory has it, in plain sentences."""
        wanted = self.problem.alpha * self.problem.samples_at_one(self.d)
        if abs(self.n - wanted) > 1e-9 * wanted:
            return (f"alpha n_c m^L = {wanted:g} is not a whole number: {self.n} samples are used.",)
        return ()

    def described(self) -> dict[str, Any]:
        """The size of the test."""
        return {"n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw rules and samples, learn, measure."""
        problem, trainer = self.problem, self.trainer
        for_rules, for_data, for_trainer, for_test = streams(seed, self.d)
        rules = draw_rules(problem, for_rules)
        training = draw_samples(problem, rules, self.n, for_data)
        fresh = draw_samples(problem, rules, self.n_test, for_test)
        if isinstance(trainer, PolynomialKernel):
            found = Learned(learn_by_kernel(problem, trainer, training, fresh), np.full(problem.depth - 1, np.nan))
        elif isinstance(trainer, LayerwiseConvolution):
            found = learn_by_convolution(problem, trainer, training, fresh, for_trainer)
        else:
            assert isinstance(trainer, LayerwiseClustering)  # checked where the setting is made
            found = learn_by_clustering(problem, trainer, training, fresh, for_trainer)
        values = {
            "accuracy": found.accuracy,
            "bottom_purity": float(found.purity[0]),
            "top_purity": float(found.purity[-1]),
            "purity": found.purity,
        }
        return Outcome(seed, values)


def _setting(problem: RandomHierarchyProblem, d: Any, trainer: Any, n_test: Any) -> HierarchySetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        tuple(NEEDED),
        reason="these know random hierarchies",
        remedy="Leave it out, or use <trainer=LayerwiseClustering()>.",
    )
    for module, noun, extra in NEEDED[type(trainer)]:
        must_be_installed("trainer", trainer, module, extra, f"it learns by {noun}")
    own = problem.own_dimension
    reason, remedy = "it is the length of an input", f"Use <d={own}>, or leave it out."
    if d is not None and checks.integer("d", d, at_least=1, reason=reason, remedy=remedy) != own:
        raise checks.complaint(
            "d",
            f"be {own} here, or left out",
            "it is the length of an input, branching^depth, which the problem says",
            d,
            "Leave it out, or change <depth> or <branching>.",
        )
    n_test = checks.integer(
        "n_test", n_test, at_least=1, reason="the accuracy is their mean", remedy="Use <n_test=4000>."
    )
    setting = HierarchySetting(problem, own, trainer, n_test)
    least = max(problem.symbols, problem.n_classes)
    if setting.n < least:
        raise checks.complaint(
            "alpha",
            f"be larger: {setting.n} samples are fewer than {least}",
            f"{problem.symbols} symbols and {problem.n_classes} classes are told apart by the samples that have them",
            problem.alpha,
            f"Use at least <alpha={least / problem.samples_at_one(own):.3g}>.",
        )
    return setting
