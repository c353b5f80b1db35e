"""Train matrices without symmetry at finite size and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan, sqrt
from typing import Any, final

import numpy as np

from presage.laws.numerical_zeros import with_numerical_zeros
from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats
from presage.models.bilinear.declaration import FOLLOWED, MATRIX_FOLLOWED
from presage.models.bilinear.experiment.bayes_amp import bayes_message_passing
from presage.models.bilinear.experiment.ensemble import BilinearEnsemble
from presage.models.bilinear.experiment.flow import train_flow
from presage.models.bilinear.experiment.measurements import Measurements, draw_labels, draw_measurements
from presage.models.bilinear.experiment.training import BilinearFit, train_factors, train_proximal
from presage.models.bilinear.plain_bayes_amp import PlainBayesAMP
from presage.models.bilinear.problem import BilinearProblem
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.errors import TrainError
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.protocol.trainer import Trainer
from presage.training.bayes_amp import HOVERING, BayesAMP
from presage.training.history import History
from presage.training.lbfgs import LBFGS
from presage.training.ordered_sums import one_blas_thread
from presage.training.proximal_gradient import ProximalGradient

BLOCK_BYTES = 64e6  # test samples are drawn in blocks of about this size
UNPENALISED = (
    "the matrix is trained itself and without a penalty: the weight decay plays no part, in the training loss neither."
)
FOLLOWED_TRAINERS = (PlainBayesAMP, MatrixFlow, MatrixDescent)  # every matrix on their way is kept


def simulate(
    problem: BilinearProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    n_test: int = 20_000,
    keep: str | Sequence[str] = (),
    processes: int | None = None,
    progress: bool | None = None,
) -> BilinearEnsemble:
    """Draw targets and data, train, and measure, one fit a seed.

    Args:
        problem: what is learned; the number of samples is ``round(alpha p N)``.
        d: shorter side of the matrix; the longer one is ``round(aspect d)``.
        seeds: how many fits (seeds 0, 1, ...), or the seeds themselves.
        trainer: `ProximalGradient` (the default) trains the matrix, which is convex; `LBFGS` its two factors; their
            `tol` is the relative duality gap at which training stops. `BayesAMP` finds the posterior mean, and
            `PlainBayesAMP` goes towards it in steps that can be followed. `MatrixFlow` and `MatrixDescent` train the
            matrix from zero without a penalty, and are followed too.
        n_test: fresh samples for the test error, drawn in blocks.
        keep: "weights" keeps the M of every fit and its target, "history" the loss against the time, "trajectory" the
            errors after every step of `PlainBayesAMP`, or at every time of a flow; a list several.
        processes: how many fits are made at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `BilinearSolution`, one entry a seed. A seed that fails is in `failures` with the reason.
    """
    setting = _setting(problem, d, ProximalGradient() if trainer is None else trainer, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress, keep=keep)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class MatrixSetting(Setting):
    """Everything about a run but its seed."""

    problem: BilinearProblem
    d: int
    trainer: Trainer
    n_test: int

    kind = BilinearEnsemble

    @property
    def entries(self) -> int:
        """Entries of the target."""
        return self.problem.samples_at_one(self.d)

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.problem.samples(self.d)

    @property
    def memory(self) -> float:
        """Bytes of the data of one matrix."""
        T = self.problem.n_tokens
        way = self.entries * self.trainer.steps if isinstance(self.trainer, FOLLOWED_TRAINERS) else 0
        return 8.0 * (self.n * (self.entries if T is None else 2 * T * (self.d + T)) + way)

    @property
    def kept_bytes(self) -> dict[str, float]:
        """M and its target; and a row of two numbers for each step."""
        history = 16.0 * getattr(self.trainer, "steps", 0)
        known = {"weights": 16.0 * self.entries, "history": history}
        return {**known, "trajectory": 2.0 * history} if isinstance(self.trainer, FOLLOWED_TRAINERS) else known

    @property
    def size(self) -> str:
        """What makes it large."""
        return f"{self.n} samples"

    def described(self) -> dict[str, Any]:
        """The size of the test."""
        return {"n_test": self.n_test}

    @property
    def notes(self) -> tuple[str, ...]:
        """What of the problem plays no part on the way of a matrix that is trained itself."""
        plays_none = isinstance(self.trainer, MatrixFlow | MatrixDescent) and self.problem.weight_decay
        return (UNPENALISED,) if plays_none else ()

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw target and data, train, measure; threads take parts of the samples, matrix products have one each."""
        problem, d = self.problem, self.d
        with one_blas_thread():
            for_target, for_data, for_trainer, for_test = streams(seed, d)
            measurements = draw_measurements(problem, d, self.n, for_data, threads=threads)
            M_0 = problem.target.sample(*measurements.shape, for_target)
            labels = draw_labels(measurements, M_0, problem.noise, for_data)
            fit = _train(self.trainer, problem, measurements, labels, for_trainer)
            values = {
                "estimation_error": float(np.sum((fit.M - M_0) ** 2)) / sqrt(measurements.entries),
                "test_error": _test_errors(problem, M_0, [fit.M], self.n_test, for_test, threads)[0],
                "train_loss": fit.loss / measurements.entries,
                "train_error": fit.error / self.n,
                "rank": fit.rank,
                "singular_values": _singular_values(fit.M),
                "gap": fit.gap,
                "converged": fit.converged,
            }
        stopped = f"the training stopped with a duality gap of {fit.gap:.1e}."
        if not self.trainer.minimises:
            stopped = "Bayes message passing still moves at its last step: use more damping or steps."
        units = (1.0, float(measurements.entries) if self.trainer.minimises else 1.0)  # those of `train_loss`

        def followed() -> Floats:
            """Rows (step, each of FOLLOWED), all tested on the same fresh samples."""
            errors = [float(np.sum((M - M_0) ** 2)) / sqrt(measurements.entries) for M in fit.way]
            tested = _test_errors(problem, M_0, fit.way, self.n_test, streams(seed, d, 5)[-1], threads)
            columns = {"test_error": tested, "estimation_error": errors}
            if not isinstance(self.trainer, MatrixFlow | MatrixDescent):
                return np.column_stack([np.arange(len(fit.way)), *(columns[one.name] for one in FOLLOWED)])
            columns["train_error"] = [float(np.sum((measurements.forward(M) - labels) ** 2)) / self.n for M in fit.way]
            return np.column_stack([self.trainer.times, *(columns[one.name] for one in MATRIX_FOLLOWED)])

        kept = {"weights": fit.M, "targets": M_0, "history": fit.history / units, "trajectory": followed}
        as_told = isinstance(self.trainer, FOLLOWED_TRAINERS)  # it ends after its steps, and is no fit
        return Outcome(seed, values, () if fit.converged or as_told else (stopped,), kept)


def _train(
    trainer: Any, problem: BilinearProblem, measurements: Measurements, labels: Floats, rng: np.random.Generator
) -> BilinearFit:
    if isinstance(trainer, PlainBayesAMP):
        plain = BayesAMP(trainer.denoiser, noise=problem.noise, steps=trainer.steps, damping=0.0)
        return _posterior_mean(plain, measurements, labels)
    if isinstance(trainer, BayesAMP):
        return _posterior_mean(trainer, measurements, labels)
    if isinstance(trainer, MatrixFlow | MatrixDescent):
        return train_flow(trainer, measurements, labels, problem.components)
    options = {"tol": trainer.tol, "steps": trainer.steps}
    if isinstance(trainer, LBFGS):
        return train_factors(measurements, labels, _decay(problem), rng, memory=trainer.memory, **options)
    return train_proximal(measurements, labels, _decay(problem), rng, **options)


def _posterior_mean(trainer: BayesAMP, measurements: Measurements, labels: Floats) -> BilinearFit:
    """All steps of message passing; it has settled if the last one moves the matrix by little."""
    way, history = [np.zeros(measurements.shape)], History()
    for state in bayes_message_passing(
        measurements, labels, trainer.noise or 0.0, trainer.denoiser, steps=trainer.steps, damping=trainer.damping
    ):
        way.append(state.M)
        history.record(state.V)
    *_, before, M = way
    if len(way) <= trainer.steps:
        raise TrainError("Message passing left the finite numbers.", "Use more damping, or a little <noise>.")
    moved = float(np.linalg.norm(M - before)) / max(float(np.linalg.norm(M)), 1e-300)
    error = float(np.sum((measurements.forward(M) - labels) ** 2))
    rank = float(np.mean(_singular_values(M) > 0))
    settled = moved <= max(trainer.tol, HOVERING)
    return BilinearFit(M, error, error, nan, rank, trainer.steps, settled, history.rows, tuple(way))


def _singular_values(M: Floats) -> Floats:
    """Singular values, decreasing; what is the rounding of zero is zero."""
    return with_numerical_zeros(np.linalg.svd(M, compute_uv=False), max(M.shape))


def _test_errors(
    problem: BilinearProblem, M_0: Floats, fits: Sequence[Floats], n_test: int, rng: np.random.Generator, threads: int
) -> list[float]:
    """Test error of each of several fits, all on the same fresh samples."""
    d = M_0.shape[1]
    numbers = M_0.size if problem.n_tokens is None else 2 * problem.n_tokens * d
    block = max(1, int(BLOCK_BYTES / (8 * numbers)))
    total = [0.0] * len(fits)
    for start in range(0, n_test, block):
        fresh = draw_measurements(problem, d, min(block, n_test - start), rng, threads=threads)
        labels = draw_labels(fresh, M_0, problem.noise, rng)
        here = [float(np.sum((labels - fresh.forward(M)) ** 2)) for M in fits]
        total = [before + more for before, more in zip(total, here, strict=True)]
    return [one / n_test for one in total]


def _decay(problem: BilinearProblem) -> float:
    if not problem.weight_decay:
        raise checks.complaint(
            "weight_decay",
            "be positive",
            "training minimises a loss with weight decay",
            problem.weight_decay,
            "Use <weight_decay=0.1>; a small value comes near the limit 0+.",
        )
    return problem.weight_decay


def _setting(problem: BilinearProblem, d: Any, trainer: Any, n_test: Any) -> MatrixSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        (ProximalGradient, LBFGS, BayesAMP, *FOLLOWED_TRAINERS),
        reason="these know matrices without symmetry",
        remedy="Leave it out, or use <trainer=ProximalGradient()>.",
    )
    if trainer.minimises and not isinstance(trainer, FOLLOWED_TRAINERS):
        _decay(problem)
    elif isinstance(trainer, BayesAMP):
        trainer = trainer.for_problem(problem.noise, RectangularLaw)
    d = checks.integer("d", d, at_least=2, reason="it is the shorter side of the matrix", remedy="Use <d=40>.")
    n_test = checks.integer(
        "n_test", n_test, at_least=1, reason="the test error is their mean", remedy="Use <n_test=2000>."
    )
    setting = MatrixSetting(problem, d, trainer, n_test)
    problem.must_have_samples(d)
    return setting
