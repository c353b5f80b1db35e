"""Gradient flow and descent of the matrix S itself, from zero, every matrix on their way kept."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.fit import Fit, certify, finite
from presage.models.attention.experiment.objective import Evaluation, Objective
from presage.models.attention.penalties.frobenius import Frobenius
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.training.gradient_flow import quadratic_flow

SETTLED = 1e-6  # relative residual of a matrix that is at the minimum


def flow(trainer: MatrixFlow, objective: Objective, rng: np.random.Generator) -> Fit:
    """The matrices of a flow along the whole loss, at the times of the trainer."""
    began, passes = perf_counter(), 0
    unit, nothing = mean_curvature(objective), np.zeros((objective.d, objective.d))
    pull = -_whole(objective, nothing).gradient / unit

    def curvature(S: Floats) -> Floats:
        nonlocal passes
        passes += 1
        return np.asarray(_whole(objective, S).gradient / unit + pull)

    way = quadratic_flow(curvature, pull, trainer.times)
    return _fit(objective, tuple(way), passes + 1, began)


def descent(trainer: MatrixDescent, objective: Objective, rng: np.random.Generator) -> Fit:
    """The matrices of descent along the whole loss, after the steps that the trainer looks at."""
    began, unit = perf_counter(), mean_curvature(objective)
    S, done, way = np.zeros((objective.d, objective.d)), 0, []
    for step in trainer.times.astype(int):
        for number in range(done, step):
            with np.errstate(over="ignore", invalid="ignore"):
                here = _whole(objective, S)
            finite(here, "Gradient descent", number)
            S = S - trainer.rate / unit * here.gradient
        done = step
        way.append(S)
    return _fit(objective, tuple(way), done, began)


def mean_curvature(objective: Objective) -> float:
    """Curvature of the loss of the samples in an entry of S, in the mean over data: ``4 n L/d``.

    Each of the T^2 outputs of a sample is a product with a matrix of mean square 1/d an entry, those on the diagonal
    twice that in the space of symmetric matrices, and the loss has its square.
    """
    T = objective.samples.n_tokens
    return 2.0 * objective.n * T * (T + 1) / objective.d


def _whole(objective: Objective, S: Floats) -> Evaluation:
    """The loss of the samples and its gradient, and those of the ridge."""
    data = objective.at_S(S)
    ridge = objective.d * getattr(objective.penalty, "ridge", 0.0)
    return Evaluation(data.value + ridge * float(np.sum(S * S)), data.gradient + 2.0 * ridge * S)


def _fit(objective: Objective, way: tuple[Floats, ...], passes: int, began: float) -> Fit:
    S = way[-1]
    assert isinstance(objective.penalty, Frobenius)
    data = objective.at_S(S)
    certificate = certify(objective, S, data)
    loss = data.value + objective.penalty_at(S)
    seconds = perf_counter() - began
    history = np.array([[seconds, loss]])
    settled = certificate.residual <= SETTLED
    return Fit(S, loss, data.value / objective.n, certificate, settled, passes, seconds, history, way=way)
