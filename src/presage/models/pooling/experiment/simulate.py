"""Pool real sequences of a real table of tokens at finite size, and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.pooling.experiment.ensemble import PoolingEnsemble
from presage.models.pooling.experiment.principal import PrincipalDirection
from presage.models.pooling.experiment.tokens import draw_sequences, draw_table, pooled
from presage.models.pooling.problem import PoolingProblem
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.trainer import Trainer
from presage.training.ordered_sums import one_blas_thread

NEGLIGIBLE = 1e-10  # of the largest eigenvalue: what rounding leaves of one that is zero


def simulate(
    problem: PoolingProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    centred: bool = True,
    processes: int | None = None,
    progress: bool | None = None,
) -> PoolingEnsemble:
    """Draw a table and sequences, pool them, and look at their covariance, one table a seed.

    Args:
        problem: the table, the sequences and their weights; the number of sequences is ``round(alpha d)``, that of
            tokens ``round(vocabulary d)``.
        d: dimension of a token.
        seeds: how many tables (seeds 0, 1, ...), or the seeds themselves.
        trainer: `PrincipalDirection()`, the only one there is.
        centred: whether the mean of the pooled tokens is taken off; without, an eigenvalue of no use comes out.
        processes: how many tables are drawn at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `PoolingSolution`, one entry a seed. A seed that fails is in `failures` with the reason.
    """
    setting = _setting(problem, d, PrincipalDirection() if trainer is None else trainer, centred)
    return train_ensemble(setting, seeds, processes=processes, progress=progress)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class TableSetting(Setting):
    """Everything about a run but its seed."""

    problem: PoolingProblem
    d: int
    trainer: Trainer
    centred: bool

    kind = PoolingEnsemble
    too_large = "Use a smaller <d>, <alpha> or <vocabulary>."

    @property
    def n(self) -> int:
        """Number of sequences."""
        return self.problem.samples(self.d)

    @property
    def table_size(self) -> int:
        """Number of tokens of the table."""
        return round(self.problem.vocabulary * self.d)

    @property
    def memory(self) -> float:
        """Bytes of the table, of the pooled tokens and of their products with the eigenvectors, and of sequences."""
        least = min(self.n, self.d)
        return 8.0 * (self.d * (self.table_size + 2.0 * self.n) + 3.0 * least**2 + 3.0 * self.n * self.problem.n_tokens)

    @property
    def size(self) -> str:
        return f"{self.n} sequences and {self.table_size} tokens of dimension {self.d}"

    @property
    def notes(self) -> tuple[str, ...]:
        wanted = {"alpha d": (self.problem.alpha, self.n), "vocabulary d": (self.problem.vocabulary, self.table_size)}
        return tuple(
            f"{name} = {ratio * self.d:g} is not a whole number: {count} are used."
            for name, (ratio, count) in wanted.items()
            if abs(ratio * self.d - count) > 1e-9 * self.d
        )

    def described(self) -> dict[str, Any]:
        return {"centred": self.centred}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw, pool, diagonalise, measure; matrix products are on one thread each."""
        problem = self.problem
        with one_blas_thread():
            for_table, for_sequences, _, _ = streams(seed, self.d)
            table = draw_table(problem.signal, self.d, self.table_size, for_table)
            X, kappa = pooled(problem, table, draw_sequences(problem, table, self.n, for_sequences))
            if self.centred:
                X -= X.mean(axis=0)
            eigenvalues, u = first_direction(X)
            eigenvalues /= kappa
            empirical = table.sign @ table.tokens / len(table.sign)
            values = {
                "alignment": float(u @ table.direction) ** 2,
                "mean_alignment": float(u @ empirical) ** 2 / float(empirical @ empirical),
                "top": float(eigenvalues[-1]),
                "edge": float(eigenvalues[-2]),
                "rank": float(np.mean(eigenvalues > NEGLIGIBLE * eigenvalues[-1])),
                "eigenvalues": eigenvalues,
            }
        return Outcome(seed, values)


def first_direction(X: Floats) -> tuple[Floats, Floats]:
    """All eigenvalues of the covariance ``X'X/N``, increasing, and the eigenvector of the largest.

    The smaller of the two products of X with itself has all that are not zero.
    """
    count, d = X.shape
    small = X.T @ X / count if d <= count else X @ X.T / count
    values = scipy.linalg.eigvalsh(small)
    last = len(small) - 1
    _, vectors = scipy.linalg.eigh(small, subset_by_index=[last, last])
    u = vectors[:, 0] if d <= count else X.T @ vectors[:, 0]
    padded = np.concatenate([np.zeros(d - len(values)), np.maximum(values, 0.0)])
    return padded, np.asarray(u / np.linalg.norm(u))


def _setting(problem: PoolingProblem, d: Any, trainer: Any, centred: Any) -> TableSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        PrincipalDirection,
        reason="the class is read off the covariance, and nothing is trained",
        remedy="Leave it out.",
    )
    checks.instance(
        "centred", centred, bool, reason="it says whether a mean is taken off", remedy="Use <centred=True>."
    )
    d = checks.integer("d", d, at_least=2, reason="it is the dimension of a token", remedy="Use <d=400>.")
    setting = TableSetting(problem, d, trainer, centred)
    for name, count in (("alpha", setting.n), ("vocabulary", setting.table_size)):
        if count < 2:
            what = "sequences" if name == "alpha" else "tokens, one of each class"
            reason = f"{name} d is the number of {what}, and there must be two"
            remedy = f"Use a larger <d> or <{name}>."
            raise checks.complaint(name, f"be larger at d = {d}", reason, getattr(problem, name), remedy)
    return setting
