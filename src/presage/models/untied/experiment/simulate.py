"""Train queries and keys at finite size and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor
from typing import Any, final

import numpy as np

from presage.laws.gaussian_product import GaussianProduct
from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.numerical_zeros import with_numerical_zeros
from presage.models.untied.experiment.ensemble import UntiedEnsemble
from presage.models.untied.experiment.fit import Fit
from presage.models.untied.experiment.objective import Objective
from presage.models.untied.experiment.sequences import draw, sample_target, stream
from presage.models.untied.experiment.training import lbfgs, proximal, start
from presage.models.untied.problem import UntiedProblem
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.trainer import Trainer
from presage.training.lbfgs import LBFGS
from presage.training.ordered_sums import one_blas_thread
from presage.training.proximal_gradient import ProximalGradient


def simulate(
    problem: UntiedProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    n_test: int = 20_000,
    keep: str | Sequence[str] = (),
    processes: int | None = None,
    progress: bool | None = None,
) -> UntiedEnsemble:
    """Draw targets and sequences, train queries and keys, and measure, one head a seed.

    Args:
        problem: what is learned; the number of samples is ``round(alpha d^2)``.
        d: dimension of a token, and width of the head.
        seeds: how many heads (seeds 0, 1, ...), or the seeds themselves.
        trainer: `LBFGS` (the default) trains the two factors, or S itself under a ridge. `ProximalGradient` trains S
            where outputs are linear, and its `tol` is the relative duality gap at which it stops.
        n_test: fresh samples for the test error, drawn in blocks.
        keep: "weights" keeps the S of every head and its target, "history" the loss against the time; a list both.
        processes: how many heads are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of the prediction, one entry a seed. A seed that fails is in `failures` with the reason.

    Raises:
        TrainError: when every seed fails.
        TrainInterrupted: on Ctrl-C, with the seeds that had ended.
    """
    setting = _setting(problem, d, LBFGS() if trainer is None else trainer, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress, keep=keep)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class HeadSetting(Setting):
    """Everything about a run but its seed."""

    problem: UntiedProblem
    d: int
    trainer: Trainer
    n_test: int

    kind = UntiedEnsemble

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.problem.samples(self.d)

    @property
    def n_keys(self) -> int:
        """Tokens that are looked at."""
        return self.problem.n_tokens if self.problem.n_keys is None else self.problem.n_keys

    @property
    def memory(self) -> float:
        """Bytes of the tokens and labels, and of the past steps of the trainer."""
        T, K = self.problem.n_tokens, self.n_keys
        past = 4.0 * getattr(self.trainer, "memory", 5)
        return 8.0 * (self.n * (2.0 * (T + K) * self.d + 4.0 * T * K) + (past + 20.0) * self.d**2)

    @property
    def kept_bytes(self) -> dict[str, float]:
        """S and its target; and a row of two numbers for each step."""
        return {"weights": 16.0 * self.d**2, "history": 16.0 * getattr(self.trainer, "steps", 0)}

    @property
    def size(self) -> str:
        """What makes it large."""
        return f"{self.n} samples"

    @property
    def notes(self) -> tuple[str, ...]:
        """A width, or a rank, of the target that this dimension cannot have."""
        target = self.problem.target
        if isinstance(target, MarchenkoPastur):
            name, ratio = "kappa_0", target.kappa_0
        else:
            name, ratio = "rank", target.rank if isinstance(target, GaussianProduct) else target.nonzero
        width = ratio * self.d
        if abs(width - round(width)) <= 1e-9 * self.d:
            return ()
        drawn = f"{max(1, round(width))}"
        if not isinstance(target, (MarchenkoPastur, GaussianProduct)):  # which are products of factors
            drawn = f"{floor(width)} or {ceil(width)}"
        return (f"{name} d = {width:g} is not a whole number: the targets have {drawn}.",)

    def described(self) -> dict[str, Any]:
        """The size of the test."""
        return {"n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw target and data, train, measure; matrix products are on one thread each."""
        problem, d = self.problem, self.d
        with one_blas_thread():
            for_target, for_data, for_trainer, for_test = streams(seed, d)
            S_0 = sample_target(problem.target, d, for_target)
            beta, target_beta = (problem.beta, problem.target_beta) if problem.softmax else (None, None)
            seen = (S_0, problem.mask, problem.n_tokens, self.n_keys, target_beta, problem.noise)
            price, factors = problem.weight_decay or 0.0, problem.penalty == "weight-decay"
            v_0 = problem.target_gain
            objective = Objective(
                draw(*seen, self.n, for_data, target_gain=v_0, threads=threads),
                beta,
                price if factors else None,
                0.0 if factors else price,
                threads,
                v_0 is not None,
            )
            fit = _fit(self.trainer, objective, for_trainer)
            fresh = stream(*seen, self.n_test, for_test, target_gain=v_0, threads=threads)
            total = sum(objective.with_sequences(block).loss_at(fit.S, fit.gain) for block in fresh)
        error = fit.S - S_0
        values = {
            "test_error": total / self.n_test,
            "train_loss": fit.loss / d**2,
            "train_error": fit.train_error,
            "estimation_error": float(np.sum(error**2)) / d,
            "rank": fit.certificate.rank,
            "symmetric_error": float(np.sum((0.5 * (error + error.T)) ** 2)) / d,
            "antisymmetric_error": float(np.sum((0.5 * (error - error.T)) ** 2)) / d,
            "gain": fit.gain,
            "m": float(np.sum(fit.S * S_0)) / d,
            "q": float(np.sum(fit.S**2)) / d,
            "singular_values": with_numerical_zeros(np.linalg.svd(fit.S, compute_uv=False), d),
            "residual": fit.certificate.residual,
            "gap": fit.certificate.gap,
            "converged": fit.converged,
            "evaluations": fit.evaluations,
            "seconds": fit.seconds,
        }
        kept = {"weights": fit.S, "targets": S_0, "history": fit.history / (1.0, float(d**2))}
        return Outcome(seed, values, fit.caveats, kept)


def _fit(trainer: Trainer, objective: Objective, rng: np.random.Generator) -> Fit:
    if isinstance(trainer, ProximalGradient):
        return proximal(trainer, objective, rng)
    assert isinstance(trainer, LBFGS)  # `_setting` lets no other in
    return lbfgs(trainer, objective, start(objective, rng))


def _setting(problem: UntiedProblem, d: Any, trainer: Any, n_test: Any) -> HeadSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        (LBFGS, ProximalGradient),
        reason="these know heads with separate queries and keys",
        remedy="Leave it out, or use <trainer=LBFGS()>.",
    )
    if isinstance(trainer, ProximalGradient) and problem.softmax:
        reason = "the loss of a softmax is not convex in S, and a duality gap proves nothing"
        raise checks.complaint("trainer", "be LBFGS for a softmax", reason, trainer, "Use <trainer=LBFGS()>.")
    if not problem.weight_decay:
        raise checks.complaint(
            "weight_decay",
            "be positive",
            "training minimises a loss with a price on the weights",
            problem.weight_decay,
            "Use <weight_decay=0.02>; a small value comes near the limit 0+.",
        )
    d = checks.integer("d", d, at_least=2, reason="it is the dimension of a token", remedy="Use for example <d=100>.")
    n_test = checks.integer(
        "n_test", n_test, at_least=1, reason="the test error is a mean over them", remedy="Use <n_test=20000>."
    )
    setting = HeadSetting(problem, d, trainer, n_test)
    problem.must_have_samples(d)
    return setting
