"""Train several heads together at finite size and measure what the theory predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Any, Literal, final

import numpy as np

from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.numerical_zeros import with_numerical_zeros
from presage.laws.spectral_law import Floats
from presage.models.multihead.experiment.ensemble import MultiheadEnsemble
from presage.models.multihead.experiment.objective import Objective
from presage.models.multihead.experiment.sequences import draw, sample_targets, stream
from presage.models.multihead.experiment.training import lowest
from presage.models.multihead.experiment.values import Compared, beside_the_target, outputs_of, sample_values
from presage.models.multihead.problem import MultiheadProblem
from presage.protocol import checks
from presage.protocol.ensemble import Outcome, Setting, streams, train_ensemble
from presage.protocol.fields import Choice
from presage.protocol.trainer import Trainer
from presage.training.lbfgs import LBFGS
from presage.training.ordered_sums import one_blas_thread

# Of heads that are averaged, unless others are asked for: their loss can have several minima. Under a ridge one start
# in ten or so ends at a loss a few percent too high, under weight decay only where data are scarce.
STARTS = {"weight-decay": 2, "frobenius": 4}
VALUES = Choice(
    "what is learned behind the softmax",
    options=("gain", "matrix"),
    default="gain",
    reason="outputs are multiplied by a learned number or a learned matrix",
)
SAME = 1e-3  # relative: losses that differ by less are of one minimum


def simulate(
    problem: MultiheadProblem,
    *,
    d: int,
    seeds: int | Sequence[int] = 8,
    trainer: Trainer | None = None,
    starts: int | None = None,
    values: Literal["gain", "matrix"] = "gain",
    n_test: int = 20_000,
    keep: str | Sequence[str] = (),
    processes: int | None = None,
    progress: bool | None = None,
) -> MultiheadEnsemble:
    """Draw targets and sequences, train all heads together, and measure, one network a seed.

    Args:
        problem: what is learned; the number of samples is ``round(alpha d^2)``.
        d: dimension of a token.
        seeds: how many networks (seeds 0, 1, ...), or the seeds themselves.
        trainer: `LBFGS`, on the factors of the heads, or on their matrices under a ridge, and on the gain.
        starts: from how many random places heads are trained whose softmaxes are averaged (2, and 4 under a
            ridge); the lowest loss is kept. Their loss can have several minima, and a caveat says where they were met.
            Other heads have one start.
        values: what is learned behind the softmax of a problem with a `target_gain`: a "gain", or a whole value
            "matrix" V of d x d, at its least loss for the heads at every step. Outputs are then ``sigma x V``, labels
            ``sigma_0 x V_0`` with a Gaussian V_0 of ``|V_0|_F^2 = d v_0^2``, and losses are over d. V is found up to a
            number, the `gain`; what is left is `value_error`.
        n_test: fresh samples for the test error, drawn in blocks.
        keep: "weights" keeps the S_h of every network and its targets, "history" the loss against the time.
        processes: how many networks are trained at a time; the numbers do not depend on it.
        progress: whether to show a bar; by default when standard error is a terminal.

    Returns:
        The observables of the prediction, one entry a seed. A seed that fails is in `failures` with the reason.

    Raises:
        TrainError: when every seed fails.
        TrainInterrupted: on Ctrl-C, with the seeds that had ended.
    """
    setting = _setting(problem, d, LBFGS() if trainer is None else trainer, starts, values, n_test)
    return train_ensemble(setting, seeds, processes=processes, progress=progress, keep=keep)  # type: ignore[return-value]


@final
@dataclass(frozen=True)
class HeadsSetting(Setting):
    """Everything about a run but its seed."""

    problem: MultiheadProblem
    d: int
    trainer: LBFGS
    starts: int
    values: Literal["gain", "matrix"]
    n_test: int

    kind = MultiheadEnsemble

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.problem.samples(self.d)

    @property
    def memory(self) -> float:
        """Bytes of the tokens and labels, and of the past steps of the trainer."""
        H, T, d = self.problem.n_heads, self.problem.n_tokens, self.d
        past = (2.0 * self.trainer.memory + 20.0) * H * d * max(1.0, self.problem.kappa * d)
        matrices = 2.0 if self.values == "matrix" else 1.0  # tokens, and labels of their size
        return 8.0 * (self.n * T * (matrices * d + 5.0 * H * T) + past + 10.0 * H * d**2)

    @property
    def kept_bytes(self) -> dict[str, float]:
        """All S_h and their targets; and a row of two numbers for each step."""
        return {"weights": 16.0 * self.problem.n_heads * self.d**2, "history": 16.0 * self.trainer.steps}

    @property
    def size(self) -> str:
        """What makes it large."""
        return f"{self.n} samples and {self.problem.n_heads} heads"

    @property
    def notes(self) -> tuple[str, ...]:
        """Widths that this dimension cannot have."""
        problem, d = self.problem, self.d
        widths = [("kappa", problem.kappa)] if problem.penalty == "weight-decay" else []
        widths += [("kappa_0", law.kappa_0) for law in problem.targets if isinstance(law, MarchenkoPastur)]
        said = [
            f"{name} d = {ratio * d:g} is not a whole number: the networks have {max(1, round(ratio * d))}."
            for name, ratio in widths
            if abs(round(ratio * d) - ratio * d) > 1e-9 * d
        ]
        return tuple(dict.fromkeys(said))

    def described(self) -> dict[str, Any]:
        """Starts, and the size of the test."""
        return {"starts": self.starts, "values_learned": self.values, "n_test": self.n_test}

    def train(self, seed: int, threads: int) -> Outcome:
        """Draw targets and data, train, measure; matrix products are on one thread each."""
        problem, d = self.problem, self.d
        with one_blas_thread():
            for_target, for_data, for_trainer, for_test = streams(seed, d)
            S_0 = sample_targets(problem, d, for_target)
            sequences = draw(problem, S_0, self.n, for_data, threads=threads)
            fresh = stream(problem, S_0, self.n_test, for_test, threads=threads)
            if self.values == "gain":
                objective = Objective(problem, sequences, threads)
                fit, losses = lowest(self.trainer, objective, self.starts, for_trainer)
                total = sum(objective.with_sequences(block).loss_at(fit.S, fit.gains) for block in fresh)
                learned = Compared(float(np.mean(fit.gains)), nan)
            else:
                V_0, v_0 = sample_values(problem.v_0, d, for_target), problem.v_0
                objective = Objective(problem, sequences, threads, outputs_of(sequences, V_0, v_0))
                fit, losses = lowest(self.trainer, objective, self.starts, for_trainer)
                V = objective.values_at(fit.S)
                total = sum(
                    replace(objective, sequences=block, outputs=outputs_of(block, V_0, v_0)).loss_with(fit.S, V)
                    for block in fresh
                )
                learned = beside_the_target(V, V_0, v_0)
        S, ranks = fit.S, fit.certificate.ranks
        if problem.combine == "sum":  # all that outputs show
            S, S_0 = S.sum(axis=0, keepdims=True), S_0.sum(axis=0, keepdims=True)
        elif problem.combine == "mean":  # in whatever order they were learned
            S = S[assigned(S, S_0)]
        values = {
            "test_error": total / self.n_test,
            "train_loss": fit.loss / d**2,
            "train_error": fit.train_error,
            "rank": float(np.mean(ranks)),
            "gain": learned.gain,
            "value_error": learned.error,
            "eigenvalues": with_numerical_zeros(np.sort(np.linalg.eigvalsh(S), axis=None), d),
            **overlaps(S, S_0),
            "residual": fit.certificate.residual,
            "gap": fit.certificate.gap,
            "losses": losses / d**2,
            "converged": fit.converged,
            "evaluations": fit.evaluations,
            "seconds": fit.seconds,
        }
        spread = float(losses.max() / losses.min() - 1.0)
        several = f"{self.starts} starts ended at losses up to {spread:.1e} apart (relative): the lowest was kept."
        caveats = (*fit.caveats, *((several,) if spread > SAME else ()))
        kept = {"weights": S, "targets": S_0, "history": fit.history / (1.0, float(d**2))}
        return Outcome(seed, values, caveats, kept)


def assigned(S: Floats, S_0: Floats) -> list[int]:
    """Which head learned each head of the target: the permutation with the largest ``sum_k Tr S_k S_0k``."""
    from scipy.optimize import linear_sum_assignment

    _, heads = linear_sum_assignment(np.einsum("kij,hij->kh", S_0, S), maximize=True)
    return [int(head) for head in heads]


def overlaps(S: Floats, S_0: Floats) -> dict[str, float]:
    """Means over heads, and over pairs of different heads, of ``Tr S_h S_0k/d`` and ``Tr S_h S_k/d``."""
    H, d = len(S), S.shape[1]
    m, q = np.einsum("hij,kij->hk", S, S_0) / d, np.einsum("hij,kij->hk", S, S) / d
    other = ~np.eye(H, dtype=bool)
    return {
        "estimation_error": float(np.sum((S - S_0) ** 2)) / (H * d),
        "overlap": float(np.trace(m)) / H,
        "q": float(np.trace(q)) / H,
        "cross_target_overlap": float(np.mean(m[other])) if H > 1 else nan,
        "cross_overlap": float(np.mean(q[other])) if H > 1 else nan,
    }


def _setting(problem: MultiheadProblem, d: Any, trainer: Any, starts: Any, values: Any, n_test: Any) -> HeadsSetting:
    """Check what was asked for, and say in words what is wrong with it."""
    checks.instance(
        "trainer",
        trainer,
        LBFGS,
        reason="heads that are learned together are trained by it alone",
        remedy="Leave it out, or use <trainer=LBFGS()>.",
    )
    several = problem.combine == "mean" and problem.n_heads > 1
    if starts is not None and not several:
        reason = "heads that outputs tell apart, or only add up, are learned from one start"
        raise checks.complaint("starts", "be left out here", reason, starts, "Leave it out.")
    counts = {
        "d": (d, 2, "it is the dimension of a token", "Use for example <d=100>."),
        "starts": (
            (STARTS[problem.penalty] if several else 1) if starts is None else starts,
            1,
            "there must be one",
            "Use <starts=2>.",
        ),
        "n_test": (n_test, 1, "the test error is a mean over them", "Use <n_test=20000>."),
    }
    d, starts, n_test = (
        checks.integer(name, value, at_least=least, reason=reason, remedy=remedy)
        for name, (value, least, reason, remedy) in counts.items()
    )
    VALUES.checked("values", values)
    if values == "matrix":
        _check_values(problem)
    setting = HeadsSetting(problem, d, trainer, starts, values, n_test)
    if values == "matrix" and setting.n * problem.n_tokens < 2 * d:
        reason = "a value matrix has d^2 entries, and every token shows d numbers of it"
        remedy = "Use a larger <d> or <alpha>."
        raise checks.complaint(
            "alpha", f"be above {2.0 / (d * problem.n_tokens):.2g} at d = {d}", reason, problem.alpha, remedy
        )
    problem.must_have_samples(d)
    return setting


def _check_values(problem: MultiheadProblem) -> None:
    """Complain where no one value matrix stands behind all outputs."""
    if problem.target_gain is None:
        reason = "without a target_gain nothing is learned behind the softmax"
        raise checks.complaint(
            "values", "be left out here", reason, "matrix", "Use <target_gain=1.0>, or leave it out."
        )
    if problem.combine == "concatenate" and problem.n_heads > 1:
        reason = "heads side by side have a value matrix each, and one that they share is learned here"
        remedy = 'Use <n_heads=1> or <combine="mean">, or leave it out.'
        raise checks.complaint("values", "be left out here", reason, "matrix", remedy)
