"""What a trainer returns: the matrix that it found, and a certificate of how near that is to a minimum."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.untied.experiment.objective import Evaluation, Objective
from presage.protocol.errors import TrainError
from presage.training.duality import relative_gap

NOTHING = 1e-3  # relative to an S that fits the labels: one smaller than this is on its way to zero


class Certificate(NamedTuple):
    """How near a matrix is to a minimum of the loss, measured after the training and apart from it."""

    residual: float  # what is left of the subgradient in S, relative to the slope of the data: 0 at a minimum
    gap: float  # linear outputs: (loss - lower bound by duality)/loss; inf where no bound is known
    rank: float  # fraction of singular values that one proximal step leaves non-zero


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """A trained head."""

    S: Floats = field(repr=False)
    loss: float  # whole, penalty included, not divided by anything
    train_error: float  # loss a sample, without the penalty
    certificate: Certificate
    converged: bool  # whether the trainer's own stopping rule was met
    evaluations: int  # passes over the data
    seconds: float
    history: Floats = field(repr=False)  # rows (seconds, whole loss), one an iteration
    caveats: tuple[str, ...] = ()
    gain: float = 1.0  # of the outputs


def shrunk(objective: Objective, S: Floats, gradient: Floats, curvature: float) -> tuple[Floats, Floats]:
    """A proximal step from S: where the penalty and a quadratic of this curvature that touches the loss are least.

    Returns the matrix and its singular values.
    """
    left, values, right = np.linalg.svd(S - gradient / curvature, full_matrices=False)
    kept = np.maximum(values - objective.threshold / curvature, 0.0)
    kept /= 1.0 + 2.0 * objective.d * objective.ridge / curvature
    return np.asarray((left * kept) @ right), kept


def certify(objective: Objective, S: Floats, data: Evaluation) -> Certificate:
    """Measure the optimality of `S`, given the loss of the samples there and its gradient.

    A stationary point is a fixed point of every proximal step. The residual is ``L |S+ - S|`` over ``|grad|``, with a
    curvature L such that both parts of the step weigh alike.
    """
    slope = float(np.linalg.norm(data.gradient))
    size = max(float(np.linalg.norm(S)), NOTHING * np.sqrt(objective.d) * objective.sequences.size)
    curvature = slope / size if size > 0.0 and slope > 0.0 else 1.0
    stepped, kept = shrunk(objective, S, data.gradient, curvature)
    residual = curvature * float(np.linalg.norm(stepped - S)) / slope if slope > 0.0 else float(S.any())
    return Certificate(residual, duality_gap(objective, S, data), np.count_nonzero(kept) / objective.d)


def duality_gap(objective: Objective, S: Floats, data: Evaluation) -> float:
    """Relative gap between the loss and a lower bound of it, for linear outputs.

    Under weight decay a dual point is feasible where no singular value of ``t grad`` is above ``2 lambda d``; a ridge
    takes ``t^2 |grad|^2/(4 d ridge)`` off the bound.
    """
    if not objective.linear:
        return inf
    L, g = data.value, data.gradient
    curvature, largest = L, inf
    if objective.weight_decay is None:
        curvature += float(np.sum(g * g)) / (4.0 * objective.d * objective.ridge)
    else:
        steepest = float(np.linalg.norm(g, 2))
        largest = objective.threshold / steepest if steepest > 0.0 else inf
    along = 2.0 * L - float(np.sum(g * S))
    return relative_gap(L + objective.penalty_at(S), L, along, curvature=curvature, largest=largest)


def finite(evaluation: Evaluation, trainer: str, iteration: int) -> None:
    """Stop the training if its loss or its gradient is not made of numbers any more."""
    if not np.isfinite(evaluation.value + evaluation.gradient.sum() + evaluation.slope):
        raise TrainError(f"{trainer} left the finite numbers at iteration {iteration}.", "Use a larger <weight_decay>.")
