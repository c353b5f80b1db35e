"""Gradient training: L-BFGS and Adam on the factor W, or on S where S itself is trained."""

from __future__ import annotations

from functools import partial
from math import sqrt
from time import perf_counter

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.fit import NOTHING, Fit, certify, finite
from presage.models.attention.experiment.objective import Evaluation, Objective
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.protocol import checks
from presage.training.adam import Adam, AdamState
from presage.training.history import step_of
from presage.training.lbfgs import LBFGS
from presage.training.quasi_newton import quasi_newton
from presage.training.saddle_points import past_saddles

ROUNDINGS = 3e4  # a gradient is not known better than this many rounding errors
SADDLE = 1e-2  # residual in S above which a stationary W is no minimum, unless W is too narrow for one


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
        self.history.append(step_of(self.began, value))
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


def lbfgs(trainer: LBFGS, objective: Objective, rng: np.random.Generator) -> Fit:
    """L-BFGS on W, or on S where S itself is trained, until the gradient is below `tol` of its cancelling parts."""
    return lbfgs_from(trainer, objective, start(objective, rng))


def lbfgs_from(trainer: LBFGS, objective: Objective, A: Floats) -> Fit:
    """The same from a given start: W, or S where S itself is trained."""
    return past_saddles(
        partial(_descend, trainer, objective), lambda fit, place: _off_the_saddle(objective, fit.S, place), A
    )


def _descend(trainer: LBFGS, objective: Objective, A: Floats) -> tuple[Fit, Floats, bool]:
    tol = max(trainer.tol, ROUNDINGS * objective.rounding)
    watch, steps = _Watch(objective, "L-BFGS", tol), trainer.steps
    found = quasi_newton(
        watch.evaluate, A, steps=steps, evaluations=10 * steps, memory=trainer.memory, done=watch.record
    )
    watch.evaluate(found.X)
    limit = f"after {found.steps} steps" if found.steps >= steps else "where no step lowers the loss any more"
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


def adam(trainer: Adam, objective: Objective, rng: np.random.Generator) -> Fit:
    """Full-batch Adam on W, or on S where S itself is trained."""
    watch = _Watch(objective, "Adam", trainer.tol)
    A = start(objective, rng)
    state = AdamState(np.zeros_like(A), np.zeros_like(A), 0)
    for _ in range(trainer.steps):
        evaluation = watch.evaluate(A)
        if watch.record(evaluation.value):
            break
        A, state = trainer.update(A, evaluation.gradient, state)
    else:
        watch.evaluate(A)
    return watch.fit(A, f"after {trainer.steps} steps")[0]
