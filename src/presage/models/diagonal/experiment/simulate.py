"""Train diagonal networks at finite size and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, final

import numpy as np

from presage.laws.empirical import Empirical
from presage.laws.power_law import PowerLaw
from presage.laws.spectral_law import Floats
from presage.models.diagonal.experiment.by_rank import by_rank
from presage.models.diagonal.experiment.ensemble import DiagonalEnsemble
from presage.models.diagonal.experiment.lasso import Lasso
from presage.models.diagonal.experiment.training import (
    Data,
    DiagonalFit,
    train_coordinates,
    train_factors,
    train_proximal,
)
from presage.models.diagonal.problem import DiagonalProblem
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.extras import must_be_installed
from presage.protocol.trainer import Trainer
from presage.training.lbfgs import LBFGS
from presage.training.ordered_sums import one_blas_thread
from presage.training.proximal_gradient import ProximalGradient

BLOCK_BYTES = 64e6  # test samples are drawn in blocks of about this size


def simulate(
    problem: DiagonalProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    n_test: int = 20_000,
    keep: str | Sequence[str] = (),
    processes: int | None = None,
    progress: bool | None = None,
) -> DiagonalEnsemble:
    """Draw targets and data, train, and measure, one fit a seed.

    Args:
        problem: what is learned; the number of samples is ``round(alpha d)``.
        d: number of entries of the vector.
        seeds: how many fits (seeds 0, 1, ...), or the seeds themselves.
        trainer: `ProximalGradient` (the default) and `Lasso`, coordinate descent by scikit-learn, train the vector,
            which is convex; `LBFGS` the two factors of the network. Their `tol` is the relative duality gap at which
            training stops.
        n_test: fresh samples for the test error, drawn in blocks.
        keep: "weights" keeps theta of every fit and its target, "history" the loss against the time, a list both.
        processes: how many fits are made at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of `DiagonalSolution`, one entry a seed. A seed that fails is in `failures` with the reason.
    """
    setting = _setting(problem, d, ProximalGradient() if trainer is None else trainer, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress, keep=keep)  # type: ignore[return-value]


def draw_target(problem: DiagonalProblem, d: int, rng: np.random.Generator) -> Floats:
    """A vector of the law of the problem: a law of d atoms of equal mass has each exactly once."""
    return draw_sized_target(problem, d, rng)[0]


def draw_sized_target(problem: DiagonalProblem, d: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """A vector of the law of the problem, and the values of the law: of Gaussian entries their standard deviations."""
    values = np.asarray(rng.permutation(problem.target.sample(d, rng)))
    return (values, values) if problem.draw == "fixed" else (values * rng.standard_normal(d), values)


def draw_samples(theta_0: Floats, noise: float, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Samples ``A = X/sqrt(d)`` and their labels ``A theta_0 + sqrt(noise) xi``."""
    A = rng.standard_normal((n, len(theta_0))) / sqrt(len(theta_0))
    return A, A @ theta_0 + sqrt(noise) * rng.standard_normal(n)


@final
@dataclass(frozen=True)
class VectorSetting(Setting):
    """Everything about a run but its seed."""

    problem: DiagonalProblem
    d: int
    trainer: Trainer
    n_test: int

    kind = DiagonalEnsemble

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.problem.samples(self.d)

    @property
    def memory(self) -> float:
        """Bytes of the samples of one vector, twice, of their products, and of a block of the test."""
        return 8.0 * self.d * (2.0 * self.n + min(self.n, self.d)) + 2.0 * BLOCK_BYTES

    @property
    def kept_bytes(self) -> dict[str, float]:
        """The vector and its target; and a row of two numbers for each step."""
        return {"weights": 16.0 * self.d, "history": 16.0 * getattr(self.trainer, "steps", 0)}

    @property
    def size(self) -> str:
        """What makes it large."""
        return f"{self.n} samples of {self.d} entries"

    @property
    def notes(self) -> tuple[str, ...]:
        """What differs from the problem as the theory has it, in plain sentences."""
        target, said = self.problem.target, []
        if abs(self.n - self.problem.alpha * self.d) > 1e-9 * self.d:
            said.append(f"alpha d = {self.problem.alpha * self.d:g} is not a whole number: {self.n} samples are used.")
        counts = self.d * target.atoms.masses
        if isinstance(target, PowerLaw | Empirical) and np.abs(counts - np.round(counts)).max() > 1e-9 * self.d:
            said.append(
                f"the target has {len(target.atoms.positions)} different entries, and a vector of d = {self.d} cannot "
                "hold each as often as the law says: every vector draws its own. Use a target of d entries."
            )
        return tuple(said)

    def described(self) -> dict[str, Any]:
        """The size of the test."""
        return {"n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw target and data, train, measure; matrix products are on one thread each."""
        problem, d = self.problem, self.d
        with one_blas_thread():
            for_target, for_data, for_trainer, for_test = streams(seed, d)
            theta_0, sizes = draw_sized_target(problem, d, for_target)
            data = Data(*draw_samples(theta_0, problem.noise, self.n, for_data), problem.weight_decay)
            fit = _train(self.trainer, data, for_trainer)
            values = {
                "estimation_error": float(np.sum((fit.theta - theta_0) ** 2)) / d,
                "test_error": _test_error(theta_0, fit.theta, problem.noise, self.n_test, for_test),
                "train_loss": fit.loss / d,
                "train_error": fit.error / self.n,
                "nonzero": float(np.mean(fit.support)),
                "entries": np.sort(fit.theta),
                **by_rank(fit, theta_0, sizes),
                "gap": fit.gap,
                "converged": fit.converged,
            }
        stopped = f"the training stopped with a duality gap of {fit.gap:.1e}."
        kept = {"weights": fit.theta, "targets": theta_0, "history": fit.history / (1.0, float(d))}
        return Outcome(seed, values, () if fit.converged else (stopped,), kept)


def _train(trainer: Any, data: Data, rng: np.random.Generator) -> DiagonalFit:
    options = {"tol": trainer.tol, "steps": trainer.steps}
    if isinstance(trainer, Lasso):
        return train_coordinates(data, **options)
    if isinstance(trainer, LBFGS):
        return train_factors(data, rng, memory=trainer.memory, **options)
    return train_proximal(data, rng, **options)


def _test_error(theta_0: Floats, theta: Floats, noise: float, n_test: int, rng: np.random.Generator) -> float:
    block = max(1, int(BLOCK_BYTES / (8 * len(theta))))
    total = 0.0
    for start in range(0, n_test, block):
        A, labels = draw_samples(theta_0, noise, min(block, n_test - start), rng)
        total += float(np.sum((labels - A @ theta) ** 2))
    return total / n_test


def _setting(problem: DiagonalProblem, d: Any, trainer: Any, n_test: Any) -> VectorSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        (Lasso, ProximalGradient, LBFGS),
        reason="these know diagonal networks",
        remedy="Leave it out, or use <trainer=LBFGS()>.",
    )
    if isinstance(trainer, Lasso):
        reason = "coordinate descent is that of scikit-learn"
        instead = "use <trainer=ProximalGradient()>, which needs nothing else"
        must_be_installed("trainer", trainer, "sklearn", "learn", reason, instead)
    if not problem.weight_decay > 0.0:
        raise checks.complaint(
            "weight_decay",
            "be positive",
            "training minimises a loss with weight decay",
            problem.weight_decay,
            "Use <weight_decay=0.1>; a small value comes near the limit 0+.",
        )
    d = checks.integer("d", d, at_least=2, reason="it is the number of entries", remedy="Use <d=400>.")
    n_test = checks.integer(
        "n_test", n_test, at_least=1, reason="the test error is their mean", remedy="Use <n_test=2000>."
    )
    setting = VectorSetting(problem, d, trainer, n_test)
    problem.must_have_samples(d)
    return setting
