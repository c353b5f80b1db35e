"""Ways to train queries and keys: L-BFGS on the two factors, or on S under a ridge, and a gain; proximal steps on S."""

from __future__ import annotations

from functools import partial
from itertools import islice
from math import sqrt
from time import perf_counter

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.untied.experiment.fit import NOTHING, Fit, certify, duality_gap, finite, shrunk
from presage.models.untied.experiment.objective import Evaluation, Objective
from presage.training.accelerated import Iterate, accelerated
from presage.training.curvature import MARGIN, power_iteration
from presage.training.duality import LOOK
from presage.training.history import History
from presage.training.lbfgs import LBFGS
from presage.training.proximal_gradient import ProximalGradient
from presage.training.quasi_newton import quasi_newton
from presage.training.saddle_points import past_saddles

ROUNDING = 1e-11  # relative: a gradient is not known better
STATIONARY = 1e-3  # relative gradient in the factors below which they are about to stay where they are
SADDLE = 1e-2  # residual in S above which such factors are no minimum
NUDGE = 0.3  # of the size of a factor that fits the labels


class _Watch:
    """Evaluates the whole loss, remembers the way, and says when the gradient is small enough.

    What is trained is one array, factors or S; where a gain is learned it is a vector, with the gain at its end in
    units in which a step that turns the weights into others turns the gain into another.

    At a minimum the gradient of the data cancels that of the penalty, whose size is the scale to measure by.
    """

    def __init__(self, objective: Objective, tol: float) -> None:
        self.objective, self.tol = objective, max(tol, ROUNDING)
        self.history, self.began, self.evaluations, self.relative = History(), perf_counter(), 0, np.inf

    def evaluate(self, X: Floats) -> tuple[float, Floats]:
        objective = self.objective
        A, gain = split(objective, X)
        if objective.weight_decay is None:
            evaluation = objective.at_matrix(A, gain)
            scale = 2.0 * objective.d * objective.ridge * float(np.linalg.norm(A))
        else:
            nothing = NOTHING * objective.d * sqrt(objective.sequences.size)
            evaluation = objective.at_factors(A, gain)
            scale = 2.0 * objective.weight_decay * max(float(np.linalg.norm(A)), nothing)
        self.evaluations += 1
        finite(evaluation, "L-BFGS", self.evaluations)
        value, gradient, slope = evaluation
        self.relative = float(np.linalg.norm(gradient)) / scale if scale > 0.0 else np.inf
        if not objective.learns_gain:
            return value, gradient
        self.relative = max(self.relative, abs(slope * gain) / max(value, 1e-300))
        return value, np.append(gradient, slope * unit_of_gain(objective))

    def done(self, value: float) -> bool:
        self.history.record(value)
        return self.relative <= self.tol

    def fit(self, X: Floats, limit: str) -> tuple[Fit, bool]:
        """What was found at X, and whether it is a saddle point: stationary in the factors, and far from it in S."""
        objective = self.objective
        A, gain = split(objective, X)
        S = A if objective.weight_decay is None else objective.S_of(A)
        data = objective.at_S(S, gain)
        certificate = certify(objective, S, data)
        stuck = self.relative <= max(self.tol, STATIONARY) and certificate.residual > max(self.tol, SADDLE)
        # At small weight decay rounding keeps the gradient in the factors from vanishing beside it, not the one in S.
        converged = not stuck and (self.relative <= self.tol or certificate.residual <= self.tol)
        said = "L-BFGS ended at a saddle point of the loss: use another seed."
        if not stuck:
            said = f"L-BFGS stopped {limit} with a relative gradient of {self.relative:.1e}, above {self.tol:.1g}."
        fit = Fit(
            S,
            data.value + objective.penalty_at(S),
            data.value / objective.n,
            certificate,
            converged,
            self.evaluations + 1,
            perf_counter() - self.began,
            self.history.rows,
            () if converged else (said,),
            gain,
        )
        return fit, stuck


def split(objective: Objective, X: Floats) -> tuple[Floats, float]:
    """The factors, or S, and the gain: 1 where none is learned."""
    if not objective.learns_gain:
        return X, 1.0
    d = objective.d
    shape = (d, d) if objective.weight_decay is None else (2, d, d)
    return X[:-1].reshape(shape), float(X[-1]) * unit_of_gain(objective)


def unit_of_gain(objective: Objective) -> float:
    """The sum of a row of labels over the norm of the weights that fit the labels."""
    d, size = objective.d, objective.sequences.size
    weights = sqrt(d) * size if objective.weight_decay is None else d * sqrt(size)
    return float(objective.sequences.labels[0, 0].sum()) / weights


def start(objective: Objective, rng: np.random.Generator) -> Floats:
    """Gaussian factors of the size that the labels ask for, or an S of zero where S itself is trained.

    A gain starts at 1.
    """
    d = objective.d
    if objective.weight_decay is None:
        A = np.zeros((d, d))
    else:
        A = sqrt(objective.sequences.size) * rng.standard_normal((2, d, d))
    return np.append(A, 1.0 / unit_of_gain(objective)) if objective.learns_gain else A


def lbfgs(trainer: LBFGS, objective: Objective, X: Floats) -> Fit:
    """L-BFGS from a start, until the gradient is below `tol` of its cancelling parts; saddle points are left."""
    return past_saddles(
        partial(_descended, trainer, objective), lambda fit, place: _off_the_saddle(objective, fit, place), X
    )


def _descended(trainer: LBFGS, objective: Objective, X: Floats) -> tuple[Fit, Floats, bool]:
    watch, steps = _Watch(objective, trainer.tol), trainer.steps
    found = quasi_newton(watch.evaluate, X, steps=steps, evaluations=10 * steps, memory=trainer.memory, done=watch.done)
    watch.evaluate(found.X)
    limit = f"after {found.steps} steps" if found.steps >= steps else "where no step lowers the loss any more"
    fit, stuck = watch.fit(found.X, limit)
    return fit, found.X, stuck


def _off_the_saddle(objective: Objective, fit: Fit, X: Floats) -> Floats:
    """Give the factors a part of the directions in which the loss falls: singular values of grad above the price."""
    left, values, right = np.linalg.svd(objective.at_S(fit.S, fit.gain).gradient)
    falling = int(np.count_nonzero(values > objective.threshold))
    nudged, size = X.copy(), NUDGE * sqrt(objective.d * objective.sequences.size)
    W_Q, W_K = split(objective, nudged)[0]
    W_Q[:, :falling] -= size * left[:, :falling]
    W_K[:, :falling] += size * right[:falling].T
    return nudged


def proximal(trainer: ProximalGradient, objective: Objective, rng: np.random.Generator) -> Fit:
    """FISTA [BT09] with restart [OC15] on S, for linear outputs, until the gap proves the loss least within `tol`."""
    d, history, began, passes = objective.d, History(), perf_counter(), 0

    def at(S: Floats) -> Iterate:
        nonlocal passes
        passes += 1
        evaluation = objective.at_S(S)
        finite(evaluation, "ProximalGradient", passes)
        return Iterate(S, evaluation.value, evaluation.gradient)

    here = at(np.zeros((d, d)))
    at_zero = here.gradient
    found, more = power_iteration(
        lambda S: objective.at_S(S).gradient - at_zero, rng.standard_normal((d, d)), rtol=1e-3
    )
    curvature, passes = MARGIN * found, passes + more
    descent = accelerated(here, at, lambda Y, slope: shrunk(objective, Y, slope, curvature)[0])
    for iteration, here in enumerate(islice(descent, trainer.steps), start=1):
        history.record(here.value + objective.penalty_at(here.X))
        if iteration % LOOK == 0 and _gap(objective, here) <= trainer.tol:
            break
    certificate = certify(objective, here.X, Evaluation(here.value, here.gradient))
    converged = certificate.gap <= trainer.tol
    said = f"ProximalGradient stopped after {trainer.steps} steps with a duality gap of {certificate.gap:.1e}."
    return Fit(
        here.X,
        here.value + objective.penalty_at(here.X),
        here.value / objective.n,
        certificate,
        converged,
        passes,
        perf_counter() - began,
        history.rows,
        () if converged else (said,),
    )


def _gap(objective: Objective, here: Iterate) -> float:
    return duality_gap(objective, here.X, Evaluation(here.value, here.gradient))
