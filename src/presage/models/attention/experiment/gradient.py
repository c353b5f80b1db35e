"""Gradient training: L-BFGS and Adam on the factor W, or on S where S itself is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from time import perf_counter
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.fit import NOTHING, Fit, certify, finite
from presage.models.attention.experiment.objective import Evaluation, Objective
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.protocol import checks
from presage.protocol.trainer import Trainer, check_options
from presage.training.quasi_newton import quasi_newton

ROUNDINGS = 3e4  # a gradient is not known better than this many rounding errors
SADDLE = 1e-2  # residual in S above which a stationary W is no minimum, unless W is too narrow for one
ESCAPES = 3  # how often to leave a saddle point


def start(objective: Objective, rng: np.random.Generator) -> Floats:
    """Random start: Gaussian entries of the size that the labels ask for, or an S of zero where S itself is trained."""
    if objective.factorized:
        return sqrt(objective.scale) * rng.standard_normal((objective.d, objective.width))
    return np.zeros((objective.d, objective.d))


def whole(objective: Objective, A: Floats) -> tuple[Evaluation, float]:
    """Whole loss and gradient at the trained matrix (W, or S), and the size of the penalty's part of the gradient.

    At a minimum the gradient of the data cancels that of the penalty, so its size is the scale to measure by.
    """
    penalty = objective.penalty
    if isinstance(penalty, NuclearPSD):
        # A student that decays to nothing is measured by the W that would fit the labels.
        nothing = NOTHING * (objective.d * objective.width) ** 0.25 * sqrt(objective.d * objective.scale)
        return objective.at_W(A), 2.0 * penalty.weight_decay * max(float(np.linalg.norm(A)), nothing)
    if isinstance(penalty, Frobenius):
        data = objective.at_S(A)
        pull = 2.0 * objective.d * penalty.ridge * A
        evaluation = Evaluation(data.value + 0.5 * float(np.sum(A * pull)), data.gradient + pull)
        return evaluation, float(np.linalg.norm(pull))
    raise checks.complaint(
        "trainer",
        "be AMP or ProximalGradient for a penalty of one's own",
        "its values say nothing about its gradient, and at a kink it has none",
        type(penalty).__name__,
        "Leave trainer out, or use <trainer=ProximalGradient()>.",
    )


class _Watch:
    """Evaluates the loss, remembers the way, and says when the gradient is small enough."""

    def __init__(self, objective: Objective, name: str, tol: float) -> None:
        self.objective, self.name, self.tol = objective, name, tol
        self.evaluations, self.began = 0, perf_counter()
        self.history: list[tuple[float, float]] = []
        self.relative = np.inf

    def evaluate(self, A: Floats) -> Evaluation:
        evaluation, scale = whole(self.objective, A)
        self.evaluations += 1
        finite(evaluation, self.name, self.evaluations)
        self.relative = float(np.linalg.norm(evaluation.gradient)) / scale if scale > 0 else np.inf
        return evaluation

    def record(self, value: float) -> bool:
        self.history.append((perf_counter() - self.began, value))
        return self.relative <= self.tol

    def fit(self, A: Floats, limit: str) -> tuple[Fit, bool]:
        """What was found at A, and whether it is a saddle point: stationary in W, and far from it in S."""
        objective = self.objective
        S = objective.S_of(A) if objective.factorized else A
        data = objective.at_S(S)
        certificate = certify(objective, S, data, width=objective.width if objective.factorized else None)
        stuck = self.relative <= self.tol and certificate.residual > SADDLE and not _full(objective, A)
        # At small weight decay rounding keeps the gradient in W from vanishing beside the decay, not the one in S.
        converged = not stuck and (self.relative <= self.tol or certificate.residual <= self.tol)
        caveats = []
        if stuck:
            caveats.append(f"{self.name} ended at a saddle point of the loss: use AMP(), or another seed.")
        elif not converged:
            caveats.append(
                f"{self.name} stopped {limit} with a relative gradient of {self.relative:.1e}, "
                f"above its tolerance {self.tol:.1g}."
            )
        fit = Fit(
            S,
            data.value + objective.penalty_at(S),
            data.value / objective.n,
            certificate,
            converged,
            self.evaluations + 1,
            perf_counter() - self.began,
            np.array(self.history).reshape(-1, 2),
            tuple(caveats),
        )
        return fit, stuck


@final
@dataclass(frozen=True)
class LBFGS(Trainer):
    """Limited-memory quasi-Newton, until the gradient is below `tol` of its two parts that cancel there.

    It ends at a stationary point. Where the loss is not convex (a softmax at large beta) other starts may end lower:
    at beta = 3 by a fifth, with two tokens; `AMP` then finds lower ones.
    """

    tol: float = 1e-5
    steps: int = 20_000
    memory: int = 20

    def __post_init__(self) -> None:
        check_options(self)
        memory = checks.integer(
            "memory",
            self.memory,
            at_least=1,
            reason="it is how many past steps shape the next",
            remedy="Use for example memory=20.",
        )
        object.__setattr__(self, "memory", memory)

    def fit(self, objective: Objective, rng: np.random.Generator) -> Fit:
        return self.from_start(objective, start(objective, rng))

    def from_start(self, objective: Objective, A: Floats) -> Fit:
        """Minimise from a given start: W, or S where S itself is trained."""
        fit, A, stuck = self._descend(objective, A)
        for _ in range(ESCAPES):
            if not stuck:
                break
            again, A, stuck = self._descend(objective, _off_the_saddle(objective, fit.S, A))
            history = np.concatenate([fit.history, again.history + np.array([fit.seconds, 0.0])])
            seconds, evaluations = fit.seconds + again.seconds, fit.evaluations + again.evaluations
            fit = replace(again, history=history, seconds=seconds, evaluations=evaluations)
        return fit

    def _descend(self, objective: Objective, A: Floats) -> tuple[Fit, Floats, bool]:
        tol = max(self.tol, ROUNDINGS * objective.rounding)
        watch = _Watch(objective, "L-BFGS", tol)
        found = quasi_newton(
            watch.evaluate, A, steps=self.steps, evaluations=10 * self.steps, memory=self.memory, done=watch.record
        )
        watch.evaluate(found.X)
        limit = f"after {found.steps} steps" if found.steps >= self.steps else "where no step lowers the loss any more"
        fit, stuck = watch.fit(found.X, limit)
        return fit, found.X, stuck


def _full(objective: Objective, W: Floats) -> bool:
    """Whether W has as many directions as it has room for: a direction that it lost cannot come back by itself."""
    if not objective.factorized:
        return True
    singular = np.linalg.svd(W, compute_uv=False)
    typical = (objective.d * objective.width) ** 0.25 * sqrt(objective.scale)
    return bool(np.count_nonzero(singular > NOTHING * typical) >= min(objective.width, objective.d))


def _off_the_saddle(objective: Objective, S: Floats, W: Floats) -> Floats:
    """Give W a part of the directions in which the loss falls: those where ``grad/d + lambda~`` is negative."""
    penalty = objective.penalty
    slope, vectors = np.linalg.eigh(objective.at_S(S).gradient / objective.d)
    decay = penalty.lambda_tilde(objective.kappa) if isinstance(penalty, NuclearPSD) else 0.0
    falling = vectors[:, slope + decay < 0.0][:, : objective.width]
    nudge = np.zeros_like(W)
    nudge[:, -falling.shape[1] :] = 0.3 * (objective.d * objective.width) ** 0.25 * sqrt(objective.scale) * falling
    return W + nudge if falling.shape[1] else W


class AdamState(NamedTuple):
    """Moments of the gradient after `step` steps."""

    first: Floats
    second: Floats
    step: int


@final
@dataclass(frozen=True)
class Adam(Trainer):
    """Full-batch Adam with the update rule of ``torch.optim.Adam``; weight decay is a part of the loss.

    At a constant learning rate it ends slowly: its `tol` is looser than that of the other trainers, and a network
    that it leaves has a higher rank than the minimum.
    """

    lr: float = 0.1
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    tol: float = 1e-3
    steps: int = 20_000

    def __post_init__(self) -> None:
        check_options(self)
        remedy = "Use for example Adam(lr=0.1)."
        checks.real("lr", self.lr, above=0.0, reason="it is the length of a step", remedy=remedy)
        checks.real("eps", self.eps, above=0.0, reason="it keeps a division finite", remedy=remedy)
        betas = self.betas if isinstance(self.betas, tuple | list) else ()
        numbers = tuple(checks.real("betas", beta, reason="they weigh the past", remedy=remedy) for beta in betas)
        if len(numbers) != 2 or not all(0.0 <= beta < 1.0 for beta in numbers):
            raise checks.complaint("betas", "be two numbers in [0, 1)", "they weigh the past", self.betas, remedy)
        object.__setattr__(self, "betas", numbers)

    def update(self, A: Floats, gradient: Floats, state: AdamState) -> tuple[Floats, AdamState]:
        """One step of [KB15], in the arrangement of PyTorch."""
        b1, b2 = self.betas
        step = state.step + 1
        first = b1 * state.first + (1.0 - b1) * gradient
        second = b2 * state.second + (1.0 - b2) * gradient * gradient
        denominator = np.sqrt(second) / sqrt(1.0 - b2**step) + self.eps
        return A - self.lr / (1.0 - b1**step) * first / denominator, AdamState(first, second, step)

    def fit(self, objective: Objective, rng: np.random.Generator) -> Fit:
        watch = _Watch(objective, "Adam", self.tol)
        A = start(objective, rng)
        state = AdamState(np.zeros_like(A), np.zeros_like(A), 0)
        for _ in range(self.steps):
            evaluation = watch.evaluate(A)
            if watch.record(evaluation.value):
                break
            A, state = self.update(A, evaluation.gradient, state)
        else:
            watch.evaluate(A)
        return watch.fit(A, f"after {self.steps} steps")[0]
