"""What a trainer returns: the matrix it found, and a certificate of how near that is to a minimum."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment.objective import Evaluation, Objective
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.protocol.errors import TrainError
from presage.training.duality import relative_gap

NOTHING = 1e-3  # relative: an S smaller than this is on its way to zero


class Certificate(NamedTuple):
    """How near a matrix is to a minimum of the loss, measured after the training and apart from it."""

    # What is left of the subgradient in S, relative to the slope of the data: 0 at a minimum. For a student narrower
    # than the rank that its data ask for it stays large, since the minimum over all S is out of its reach.
    residual: float
    gap: float  # convex problems: (loss - lower bound by duality)/loss; inf where no bound is known
    rank: float  # fraction of the eigenvalues that one proximal step leaves non-zero


@final
@dataclass(frozen=True)
class Fit:
    """A trained network."""

    S: Floats = field(repr=False)
    loss: float  # whole, penalty included, not divided by anything
    train_error: float  # loss a sample, without the penalty
    certificate: Certificate
    converged: bool  # whether the trainer's own stopping rule was met
    evaluations: int  # passes over the data
    seconds: float
    # Rows (seconds, whole loss), one an iteration. Those of `AMP` may have two ways in them, and first losses that are
    # good to 1e-6.
    history: Floats = field(repr=False)
    caveats: tuple[str, ...] = ()
    way: tuple[Floats, ...] = field(default=(), repr=False)  # of a trainer that is followed: S at each of its times


def certify(
    objective: Objective, S: Floats, data: Evaluation, *, width: int | None = None, curvature: float | None = None
) -> Certificate:
    """Measure the optimality of `S`, given the loss of the samples there and its gradient.

    A student of a given `width` has at most that rank.

    A stationary point is a fixed point of every proximal step ``S -> S+ = shrink(Lambda S - (2/d) grad, Lambda)``.
    The residual is ``(Lambda/2) |S+ - S|`` over ``|grad|/d``, with Lambda such that both parts of the step weigh alike.
    A penalty that is not convex has minima that only steps of some `curvature` or more leave alone: it is then Lambda.
    """
    d, slope = objective.d, float(np.linalg.norm(data.gradient)) / objective.d
    # A student that decays to nothing is measured by the S that would fit the labels.
    size = max(float(np.linalg.norm(S)), NOTHING * np.sqrt(d) * objective.scale)
    Lambda = curvature or (2.0 * slope / size if size > 0 and slope > 0 else 1.0)
    theta, vectors = np.linalg.eigh(Lambda * S - 2.0 / d * data.gradient)
    kept = objective.penalty.shrink(theta, Lambda, objective.kappa)
    stepped = (vectors * kept) @ vectors.T
    residual = 0.5 * Lambda * float(np.linalg.norm(stepped - S)) / slope if slope > 0 else float(S.any())
    rank = min(int(np.count_nonzero(kept)), width or d) / d
    return Certificate(residual, _duality_gap(objective, S, data), rank)


def _duality_gap(objective: Objective, S: Floats, data: Evaluation) -> float:
    """Relative gap between the loss and a lower bound of it, for a square loss of linear outputs.

    For weight decay the dual point is feasible where ``-t grad <= d lambda~``; a ridge takes ``t^2 |grad|^2/(4 d tau)``
    off the bound.
    """
    if not objective.channel.linear:
        return inf
    d, L, g = objective.d, data.value, data.gradient
    curvature, largest = L, inf
    if isinstance(objective.penalty, NuclearPSD):
        steepest = -float(np.linalg.eigvalsh(g)[0])
        largest = d * objective.penalty.lambda_tilde(objective.kappa) / steepest if steepest > 0 else inf
    elif isinstance(objective.penalty, Frobenius) and objective.penalty.ridge > 0.0:
        curvature += float(np.sum(g * g)) / (4.0 * d * objective.penalty.ridge)
    else:
        return inf
    along = 2.0 * L - float(np.sum(g * S))
    return relative_gap(L + objective.penalty_at(S), L, along, curvature=curvature, largest=largest)


def finite(evaluation: Evaluation, trainer: str, iteration: int) -> None:
    """Stop the training if its loss or its gradient is not made of numbers any more."""
    if not np.isfinite(evaluation.value + evaluation.gradient.sum()):
        raise TrainError(
            f"{trainer} left the finite numbers at iteration {iteration}.",
            "Use a smaller learning rate, <trainer=LBFGS()>, or check the data for very large entries.",
        )
