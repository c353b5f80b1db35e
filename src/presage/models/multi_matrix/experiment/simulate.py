"""Train matrices of finite size on sampled data, and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Literal, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.declaration import MOST_MATRICES
from presage.models.multi_matrix.experiment.ensemble import MultiMatrixEnsemble
from presage.models.multi_matrix.experiment.objective import Objective
from presage.models.multi_matrix.experiment.samples import draw_matrices, draw_samples, quadratic_forms
from presage.models.multi_matrix.experiment.training import Fit, minimised, passed
from presage.models.multi_matrix.links import MatrixLink
from presage.models.multi_matrix.message_passing import MatricesAMP
from presage.models.multi_matrix.problem import MultiMatrixProblem
from presage.models.multi_matrix.symmetries import invisible
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.fields import Choice
from presage.protocol.trainer import Trainer
from presage.training.lbfgs import LBFGS
from presage.training.ordered_sums import one_blas_thread

START = Choice(
    "where L-BFGS begins", options=("target", "random"), reason="it begins at the target or at random weights"
)


def simulate(
    problem: MultiMatrixProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    start: Literal["target", "random"] = "target",
    n_test: int = 20_000,
    keep: str | Sequence[str] = (),
    processes: int | None = None,
    progress: bool | None = None,
) -> MultiMatrixEnsemble:
    """Draw matrices and data, train, and measure, one network a seed.

    Args:
        problem: the matrices, the function and the data; the number of samples is ``round(alpha d^2)``.
        d: dimension of a sample.
        seeds: how many networks (seeds 0, 1, ...), or the seeds themselves.
        trainer: `LBFGS` (the default) finds a minimum of the training loss; `MatricesAMP` passes messages, from a part
            of the target.
        start: where L-BFGS begins: at the "target", which leads to the minimum that the theory is about, or at "random"
            weights, from which training may end in a worse one.
        n_test: fresh samples for the test error.
        keep: "weights" keeps the matrices and those of the target, "history" the loss against the time; a list several.
        processes: how many networks are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `MultiMatrixSolution`, one entry a seed. A seed that fails is in `failures` with the reason.
    """
    setting = _setting(problem, d, LBFGS() if trainer is None else trainer, start, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress, keep=keep)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class MatricesSetting(Setting):
    """Everything about a run but its seed."""

    problem: MultiMatrixProblem
    d: int
    trainer: Trainer
    start: Literal["target", "random"]
    n_test: int

    kind = MultiMatrixEnsemble

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.problem.samples(self.d)

    @property
    def memory(self) -> float:
        """Bytes of the samples, of what is known of each, and of the past steps of L-BFGS."""
        count, d = self.problem.matrices, self.d
        past = 2.0 * getattr(self.trainer, "memory", 0) + 8.0
        return 8.0 * (self.n * (2.0 * d + 40.0 * count**2) + self.n_test * d + past * 2.0 * count * d * d) + 1e7

    @property
    def kept_bytes(self) -> dict[str, float]:
        """The matrices with those of the target, and a row of two numbers a step."""
        steps = float(getattr(self.trainer, "steps", 0))
        return {"weights": 16.0 * self.problem.matrices * self.d**2, "history": 16.0 * steps}

    @property
    def size(self) -> str:
        return f"{self.n} samples of {self.d} dimensions"

    @property
    def notes(self) -> tuple[str, ...]:
        exact = self.problem.alpha * self.d**2
        if abs(exact - self.n) > 1e-9 * self.d**2:
            return (f"alpha d^2 = {exact:g} is not a whole number: {self.n} samples are used.",)
        return ()

    def described(self) -> dict[str, Any]:
        return {"start": self.start, "n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw, train, put signs and order right, measure; matrix products are on one thread each."""
        problem, d = self.problem, self.d
        with one_blas_thread():
            for_target, for_data, for_trainer, for_test = streams(seed, d)
            S_0 = draw_matrices(problem, d, for_target)
            samples = draw_samples(problem, S_0, self.n, for_data, threads)
            fit = self._fit(Objective(problem.link, samples, problem.weight_decay, threads), S_0, for_trainer)
            order, signs = put_right(problem.link, fit.S, S_0)
            S, ranks = signs[:, None, None] * fit.S[order], fit.ranks[order]
            fresh = draw_samples(problem, S_0, self.n_test, for_test, threads)
            off = fresh.y - problem.link(quadratic_forms(fresh.X, S, threads))
        values: dict[str, Any] = {
            "test_error": float(np.mean(off**2)),
            "train_loss": fit.loss / d**2,
            "train_error": fit.train_error,
            "overlaps": np.einsum("hij,kij->hk", S, S_0) / d,
            "residual": fit.residual,
            "converged": fit.converged,
        }
        errors = np.sum((S - S_0) ** 2, axis=(1, 2)) / d
        for h in range(MOST_MATRICES):  # a matrix that is not there has no number
            error, rank = (errors[h], ranks[h]) if h < len(S) else (nan, nan)
            values |= {f"estimation_error_{h + 1}": float(error), f"rank_{h + 1}": float(rank)}
        kept = {"weights": S, "targets": S_0, "history": fit.history}
        return Outcome(seed, values, fit.caveats, kept)

    def _fit(self, objective: Objective, S_0: Floats, rng: np.random.Generator) -> Fit:
        if isinstance(self.trainer, MatricesAMP):
            return passed(self.trainer, objective, S_0)
        assert isinstance(self.trainer, LBFGS)
        return minimised(self.trainer, objective, S_0 if self.start == "target" else None, rng)


def put_right(link: MatrixLink, S: Floats, S_0: Floats) -> tuple[list[int], Floats]:
    """Order and signs of the matrices, of those that labels do not tell, that have the largest overlap with the target.

    Equation: derived: ``g(s_h z_(o_h)) = g(z)`` leaves the loss alone, and with it what is learned.
    Checked: tests/models/multi_matrix/test_experiment.py::test_signs_and_order_are_put_right
    """
    overlaps = np.einsum("hij,kij->hk", S, S_0)
    places = range(len(S))
    best = max(invisible(link), key=lambda one: sum(one.signs[h] * overlaps[one.order[h], h] for h in places))
    return list(best.order), np.array(best.signs, dtype=np.float64)


def _setting(problem: MultiMatrixProblem, d: Any, trainer: Any, start: Any, n_test: Any) -> MatricesSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        (LBFGS, MatricesAMP),
        reason="these train several matrices",
        remedy="Leave it out, or use <trainer=MatricesAMP()>.",
    )
    START.checked("start", start)
    if start == "random" and not isinstance(trainer, LBFGS):
        reason, remedy = "message passing begins at a part of the target of its own", "Give <m_0> to the trainer."
        raise checks.complaint("start", "be left out here", reason, start, remedy)
    d = checks.integer("d", d, at_least=4, reason="it is the dimension of a sample", remedy="Use <d=50>.")
    reason, remedy = "the test error is their mean", "Use <n_test=20000>."
    n_test = checks.integer("n_test", n_test, at_least=1, reason=reason, remedy=remedy)
    setting = MatricesSetting(problem, d, trainer, start, n_test)
    if setting.n < 2:
        reason, remedy = "alpha d^2 is the number of samples, and there must be two", "Use a larger <d> or <alpha>."
        raise checks.complaint("alpha", f"be larger at d = {d}", reason, problem.alpha, remedy)
    return setting
