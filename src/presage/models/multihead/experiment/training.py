"""Training of several heads together: L-BFGS on their factors, or matrices, and gains, from several random starts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import sqrt
from time import perf_counter

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multihead.experiment.fit import NOTHING, Fit, certify
from presage.models.multihead.experiment.objective import Objective
from presage.protocol.errors import TrainError
from presage.training.history import History
from presage.training.lbfgs import LBFGS
from presage.training.quasi_newton import quasi_newton
from presage.training.saddle_points import past_saddles

ROUNDING = 1e-11  # relative: a gradient is not known better
STATIONARY = 1e-3  # relative gradient below which factors are about to stay where they are
SADDLE = 1e-2  # residual in S above which such factors are no minimum, unless they are too narrow for one
NUDGE = 0.3  # of the size of a factor that fits the labels


class _Trained:
    """The whole loss as a function of one vector: factors or matrices of all heads, and the gains if they are learned.

    At a minimum the gradient of the data cancels that of the penalty, whose size is the scale to measure by.
    """

    def __init__(self, objective: Objective, tol: float) -> None:
        self.objective, self.tol = objective, max(tol, ROUNDING)
        self.shape = (objective.problem.n_heads, objective.d, objective.width if objective.factorized else objective.d)
        self.history, self.began, self.evaluations, self.relative = History(), perf_counter(), 0, np.inf

    def parts(self, flat: Floats) -> tuple[Floats, Floats]:
        """The matrices or factors in a vector, and the gains: ones where none are learned."""
        size = int(np.prod(self.shape))
        gains = flat[size:] if len(flat) > size else np.ones(self.objective.groups)
        return flat[:size].reshape(self.shape), gains

    def evaluate(self, flat: Floats) -> tuple[float, Floats]:
        objective, (A, gains) = self.objective, self.parts(flat)
        found = objective.whole(A, gains)
        self.evaluations += 1
        gradient = found.gradient.ravel()
        if not np.isfinite(found.value + gradient.sum() + found.slopes.sum()):
            what = f"L-BFGS left the finite numbers at iteration {self.evaluations}."
            raise TrainError(what, "Use a larger <weight_decay>.")
        size = float(np.linalg.norm(A))
        if objective.factorized:  # heads that decay to nothing are measured by those that would fit the labels
            typical = (objective.d * objective.width) ** 0.25 * sqrt(objective.d * objective.sequences.size)
            pull = 2.0 * objective.problem.weight_decay * max(size, NOTHING * typical)
        else:
            pull = 2.0 * objective.ridge * size
        self.relative = float(np.linalg.norm(gradient)) / pull if pull > 0.0 else np.inf
        if len(flat) > A.size:
            gradient = np.concatenate([gradient, found.slopes])
            self.relative = max(self.relative, float(np.abs(found.slopes * gains).max()) / max(found.value, 1e-300))
        return found.value, gradient

    def done(self, value: float) -> bool:
        self.history.record(value)
        return self.relative <= self.tol

    def fit(self, flat: Floats, limit: str) -> tuple[Fit, bool]:
        """What was found, and whether it is a saddle point: stationary in the factors, and far from it in the S_h."""
        objective, (A, gains) = self.objective, self.parts(flat)
        S = objective.S_of(A) if objective.factorized else A
        data = objective.at_S(S, gains)
        certificate = certify(objective, S, data)
        stuck = self.relative <= max(self.tol, STATIONARY) and certificate.residual > max(self.tol, SADDLE)
        stuck = stuck and objective.factorized and not _full(objective, A)
        converged = not stuck and (self.relative <= self.tol or certificate.residual <= self.tol)
        said = "L-BFGS ended at a saddle point of the loss: use another seed, or more <starts>."
        if not stuck:
            said = f"L-BFGS stopped {limit} with a relative gradient of {self.relative:.1e}, above {self.tol:.1g}."
        fit = Fit(
            S,
            gains,
            data.value + objective.penalty_at(S),
            data.value / objective.n,
            certificate,
            converged,
            self.evaluations + 1,
            perf_counter() - self.began,
            self.history.rows,
            () if converged else (said,),
        )
        return fit, stuck


def start(objective: Objective, rng: np.random.Generator) -> Floats:
    """Gaussian factors, or symmetric Gaussian matrices, of the size that the labels ask for, and gains of one."""
    problem, d, size = objective.problem, objective.d, objective.sequences.size
    if objective.factorized:
        A = sqrt(size) * rng.standard_normal((problem.n_heads, d, objective.width))
    else:  # heads that start alike would stay alike
        A = rng.standard_normal((problem.n_heads, d, d))
        A = size * (A + A.transpose(0, 2, 1)) / sqrt(2.0 * d)
    gains = np.ones(0 if problem.target_gain is None or objective.outputs is not None else objective.groups)
    return np.concatenate([A.ravel(), gains])


def lbfgs(trainer: LBFGS, objective: Objective, flat: Floats) -> Fit:
    """L-BFGS from a start, until the gradient is below `tol` of its cancelling parts; saddle points are left."""
    return past_saddles(
        partial(_descended, trainer, objective), lambda fit, place: _off_the_saddle(objective, fit, place), flat
    )


def lowest(trainer: LBFGS, objective: Objective, starts: int, rng: np.random.Generator) -> tuple[Fit, Floats]:
    """The lowest of the minima that L-BFGS finds from so many random starts, and the losses of all of them."""
    fits = [lbfgs(trainer, objective, start(objective, rng)) for _ in range(starts)]
    losses = np.array([fit.loss for fit in fits])
    best = fits[int(np.argmin(losses))]
    passes, seconds = sum(fit.evaluations for fit in fits), sum(fit.seconds for fit in fits)
    return replace(best, evaluations=passes, seconds=seconds), losses


def _descended(trainer: LBFGS, objective: Objective, flat: Floats) -> tuple[Fit, Floats, bool]:
    trained, steps = _Trained(objective, trainer.tol), trainer.steps
    found = quasi_newton(
        trained.evaluate, flat, steps=steps, evaluations=10 * steps, memory=trainer.memory, done=trained.done
    )
    trained.evaluate(found.X)
    limit = f"after {found.steps} steps" if found.steps >= steps else "where no step lowers the loss any more"
    fit, stuck = trained.fit(found.X, limit)
    return fit, found.X, stuck


def _full(objective: Objective, W: Floats) -> bool:
    """Whether every W_h has as many directions as it has room for: one that it lost cannot come back by itself."""
    singular = np.linalg.svd(W, compute_uv=False)
    typical = (objective.d * objective.width) ** 0.25 * sqrt(objective.sequences.size)
    return bool(np.all(np.count_nonzero(singular > NOTHING * typical, axis=1) >= min(objective.width, objective.d)))


def _off_the_saddle(objective: Objective, fit: Fit, flat: Floats) -> Floats:
    """Give every W_h a part of the directions in which the loss falls: those where ``grad + price`` is negative."""
    d, m = objective.d, objective.width
    gradient, nudged = objective.at_S(fit.S, fit.gains).gradient, flat.copy()
    W = nudged[: len(gradient) * d * m].reshape(-1, d, m)
    size = NUDGE * (d * m) ** 0.25 * sqrt(objective.sequences.size)
    for h, (slope, vectors) in enumerate(zip(*np.linalg.eigh(gradient), strict=True)):
        falling = vectors[:, slope + objective.threshold < 0.0][:, :m]
        W[h][:, m - falling.shape[1] :] += size * falling
    return nudged
