"""What training returns: the heads that it found, and a certificate of how near they are to a minimum."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multihead.experiment.objective import Evaluation, Objective
from presage.training.duality import relative_gap

NOTHING = 1e-3  # relative to an S that fits the labels: one smaller than this is on its way to zero


class Certificate(NamedTuple):
    """How near heads are to a minimum of the loss, measured after the training and apart from it."""

    # What is left of the subgradient in the S_h, relative to the slope of the data: 0 at a minimum. For heads narrower
    # than the rank that their data ask for it stays large, since the minimum over all S_h is out of their reach.
    residual: float
    gap: float  # linear outputs: (loss - lower bound by duality)/loss; inf where no bound is known
    ranks: Floats  # fraction of the eigenvalues of each head that one proximal step leaves non-zero


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """Trained heads."""

    S: Floats = field(repr=False)  # H x d x d
    gains: Floats
    loss: float  # whole, penalty included, not divided by anything
    train_error: float  # loss a sample, without the penalty
    certificate: Certificate
    converged: bool  # whether the trainer's own stopping rule was met
    evaluations: int  # passes over the data
    seconds: float
    history: Floats = field(repr=False)  # rows (seconds, whole loss), one an iteration
    caveats: tuple[str, ...] = ()


def certify(objective: Objective, S: Floats, data: Evaluation) -> Certificate:
    """Measure the optimality of heads, given the loss of the samples there and its gradient.

    A stationary point is a fixed point of every proximal step ``S_h -> S_h+``. The residual is ``L |S+ - S|`` over
    ``|grad|``, with a curvature L such that both parts of the step weigh alike.
    """
    slope = float(np.linalg.norm(data.gradient))
    size = max(float(np.linalg.norm(S)), NOTHING * np.sqrt(S.shape[0] * objective.d) * objective.sequences.size)
    curvature = slope / size if size > 0.0 and slope > 0.0 else 1.0
    theta, vectors = np.linalg.eigh(S - data.gradient / curvature)
    kept = theta / (1.0 + 2.0 * objective.ridge / curvature)
    if objective.factorized:
        kept = np.maximum(theta - objective.threshold / curvature, 0.0)
    stepped = (vectors * kept[:, None, :]) @ vectors.transpose(0, 2, 1)
    residual = curvature * float(np.linalg.norm(stepped - S)) / slope if slope > 0.0 else float(S.any())
    if objective.linear:  # all heads have one gradient, and the rank that outputs show is that of their sum
        theta = np.linalg.eigvalsh(S.sum(axis=0) - data.gradient[0] / curvature)[None]
        kept = np.maximum(theta - objective.threshold / curvature, 0.0) if objective.factorized else theta
    most = objective.width * (len(S) if objective.linear else 1) if objective.factorized else objective.d
    ranks = np.minimum(np.count_nonzero(kept, axis=1), min(most, objective.d)) / objective.d
    return Certificate(residual, _duality_gap(objective, S, data), ranks)


def _duality_gap(objective: Objective, S: Floats, data: Evaluation) -> float:
    """Relative gap between the loss and a lower bound of it, for the sum of the scores of all heads.

    All heads have the gradient of their sum. Under weight decay the dual point is feasible where ``-t grad`` is at most
    the price of a trace; H ridges take ``t^2 H |grad|^2`` over four times their weight off the bound.
    """
    if not objective.linear:
        return inf
    L, g = data.value, data.gradient[0]
    curvature, largest = L, inf
    if objective.factorized:
        steepest = -float(np.linalg.eigvalsh(g)[0])
        largest = objective.threshold / steepest if steepest > 0.0 else inf
    else:
        curvature += len(S) * float(np.sum(g * g)) / (4.0 * objective.ridge)
    along = 2.0 * L - float(np.sum(g * S.sum(axis=0)))
    return relative_gap(L + objective.penalty_at(S), L, along, curvature=curvature, largest=largest)
