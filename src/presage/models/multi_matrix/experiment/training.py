"""Ways to matrices of small loss: L-BFGS on their factors, and message passing."""

from __future__ import annotations

from itertools import islice
from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.experiment.amp import message_passing
from presage.models.multi_matrix.experiment.objective import Certificate, Objective, factors_of, matrices_of
from presage.models.multi_matrix.message_passing import MatricesAMP
from presage.protocol.errors import TrainError
from presage.training.history import History
from presage.training.lbfgs import LBFGS
from presage.training.quasi_newton import quasi_newton

SMALL = 0.3  # of random weights to start from, whose matrices are of order one
ASIDE = 0.03  # of random weights beside those of the target, so that no direction begins at zero
STATIONARY = 1e-2  # what may be left of the slope where training has settled; with more it is a saddle point
ROUNDING = 1e-11  # relative: a gradient is not known better


class Fit(NamedTuple):
    """Matrices that training ended in."""

    S: Floats  # L x d x d
    loss: float  # whole
    train_error: float  # squared error a sample
    residual: float
    ranks: Floats
    converged: bool
    history: Floats  # rows (seconds, whole loss over d^2)
    caveats: tuple[str, ...]


def minimised(trainer: LBFGS, objective: Objective, target: Floats | None, rng: np.random.Generator) -> Fit:
    """L-BFGS on the factors, from random ones or from those of the target."""
    d, count = objective.d, objective.link.matrices
    W = rng.standard_normal((count, 2, d, d))
    W = SMALL * W if target is None else factors_of(target) + ASIDE * W
    history, relative, tol = History(), np.inf, max(trainer.tol, ROUNDING)

    def value_and_gradient(W: Floats) -> tuple[float, Floats]:
        nonlocal relative
        value, gradient = objective.at_W(W)
        if not np.isfinite(value):
            raise TrainError("Training left the finite numbers.", "Use a larger <weight_decay>, or another <link>.")
        decay = 2.0 * objective.weight_decay * max(float(np.linalg.norm(W)), 1e-3 * d * sqrt(2.0 * count))
        relative = float(np.linalg.norm(gradient)) / decay
        return value / d**2, gradient / d**2

    def done(value: float) -> bool:
        history.record(value)
        return relative <= tol

    steps = trainer.steps
    found = quasi_newton(value_and_gradient, W, steps=steps, evaluations=10 * steps, memory=trainer.memory, done=done)
    value_and_gradient(found.X)
    S = matrices_of(found.X)
    certificate = objective.certify(S)
    limit = f"after {found.steps} steps" if found.steps >= steps else "where no step lowers the loss any more"
    said = f"L-BFGS stopped {limit} with a relative gradient of {relative:.1e}, above {tol:.1g}."
    # At small weight decay rounding keeps the gradient in the factors from vanishing beside it, not the one in S.
    return _fit(objective, S, certificate, history, relative <= tol or certificate.residual <= tol, said, tol)


def passed(trainer: MatricesAMP, objective: Objective, target: Floats) -> Fit:
    """Message passing from a part of the target."""
    history, moved, before = History(), np.inf, trainer.m_0 * target
    S = before
    for state in islice(message_passing(objective, before, trainer.v_0, trainer.damping), trainer.steps):
        S = state.S
        moved = float(np.linalg.norm(S - before)) / max(float(np.linalg.norm(S)), 1e-300)
        history.record(state.loss / objective.d**2)
        if moved <= trainer.tol:
            break
        before = S
    settled = moved <= trainer.tol
    said = f"message passing stopped after {trainer.steps} steps, the last of which moved the matrices by {moved:.1e}."
    return _fit(objective, S, objective.certify(S), history, settled, said, trainer.tol)


def _fit(
    objective: Objective,
    S: Floats,
    certificate: Certificate,
    history: History,
    settled: bool,
    unsettled: str,
    tol: float,
) -> Fit:
    """What was found at S, with the sentence on a training that did not settle, or that settled at a saddle point."""
    data, (residual, ranks) = objective.at_S(S), certificate
    loss, error = data.value + objective.penalty_at(S), data.value / len(objective.samples.y)
    saddle = f"training settled where a relative {residual:.1e} of the slope is left: this is a saddle point."
    caveats = (unsettled,) if not settled else (saddle,) if residual > max(tol, STATIONARY) else ()
    return Fit(S, loss, error, residual, ranks, not caveats, history.rows, caveats)
