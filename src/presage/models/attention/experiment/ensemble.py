"""What trained networks show: the observables of `Solution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.fit import Trainer
from presage.models.attention.experiment.tokens import Gaussian, Tokens
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem

OBSERVABLES = ("test_error", "train_loss", "train_error", "estimation_error", "rank")


@final
@dataclass(frozen=True, eq=False)
class Ensemble:
    """Networks of one problem and one dimension, trained on independent data. A failed seed has NaN and a reason."""

    problem: Problem
    d: int
    seeds: tuple[int, ...]
    trainer: Trainer
    task: str
    test_error: Floats = field(repr=False)  # loss a fresh, noisy sample
    train_loss: Floats = field(repr=False)  # the whole loss reached, penalty included, over d^2
    train_error: Floats = field(repr=False)  # loss a sample
    estimation_error: Floats = field(repr=False)  # |S_fit - S_0|_F^2/d
    rank: Floats = field(repr=False)  # fraction of non-zero eigenvalues of S_fit
    m: Floats = field(repr=False)  # Tr(S_fit S_0)/d
    q: Floats = field(repr=False)  # |S_fit|_F^2/d
    eigenvalues: Floats = field(repr=False)  # of S_fit, increasing, one row a seed
    residual: Floats = field(repr=False)  # of the subgradient, relative: 0 at a minimum
    gap: Floats = field(repr=False)  # relative duality gap; inf where the loss is not convex
    converged: NDArray[np.bool_] = field(repr=False)  # whether the trainer's stopping rule was met
    evaluations: NDArray[np.int64] = field(repr=False)  # passes over the data
    seconds: Floats = field(repr=False)
    failures: dict[int, str]  # reason of each seed that has no result
    tokens: Tokens = Gaussian()  # noqa: RUF009 - frozen
    centring: str = "trace"
    dtype: str = "float64"
    n_test: int = 20_000
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def singular_values(self) -> Floats:
        """Singular values of ``W_fit/(m d)^(1/4)``, increasing, one row a seed."""
        if not isinstance(self.problem.penalty, NuclearPSD):
            raise AttributeError(
                "`singular_values` are those of a factor W, and this model trains S itself. "
                "Use `eigenvalues`, those of S."
            )
        return np.sqrt(np.maximum(self.eigenvalues, 0.0))

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: seeds that failed, and trainers that stopped before their rule was met."""
        failed = [f"seed {seed} failed: {reason}" for seed, reason in self.failures.items()]
        return (*failed, *self.notes)

    def mean(self, name: str) -> float:
        """Mean of an observable over the seeds that have one."""
        values = self.values(name)
        return float(np.mean(values)) if len(values) else float("nan")

    def standard_error(self, name: str) -> float:
        """Standard error of that mean; NaN with fewer than two seeds."""
        values = self.values(name)
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")

    def values(self, name: str) -> Floats:
        """An observable of the seeds that have a result."""
        values: Any = getattr(self, name)
        return np.asarray(values[[seed not in self.failures for seed in self.seeds]])

    def __str__(self) -> str:
        done = len(self.seeds) - len(self.failures)
        lines = [
            f"{done} networks of d = {self.d}, trained by {self.trainer}",
            f"task {self.task}, tokens {type(self.tokens).__name__}, centring by the {self.centring}, {self.dtype}",
        ]
        if done > 1:
            lines += [f"{name:<17} {self.mean(name):.6g} +- {self.standard_error(name):.1e}" for name in OBSERVABLES]
        elif done == 1:
            lines += [f"{name:<17} {self.mean(name):.6g}" for name in OBSERVABLES]
            lines.append("a single network has no standard error: use more seeds")
        return "\n".join([*lines, *(f"caveat: {line}" for line in self.caveats)])
