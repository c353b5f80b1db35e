"""Learning a matrix without symmetry: the minimum of a nuclear-norm loss, in two ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from math import inf, sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.bilinear.experiment.measurements import Measurements
from presage.protocol.errors import TrainError
from presage.training.accelerated import Iterate, accelerated
from presage.training.curvature import MARGIN, power_iteration
from presage.training.duality import LOOK, relative_gap
from presage.training.history import History
from presage.training.quasi_newton import quasi_newton


@final
@dataclass(frozen=True, eq=False)
class BilinearFit:
    """A trained matrix, and how near it is to the minimum."""

    M: Floats = field(repr=False)
    loss: float  # whole, penalty included
    error: float  # sum of the squared errors alone
    gap: float  # (loss - lower bound by duality)/loss
    rank: float  # fraction of singular values that one proximal step leaves non-zero
    steps: int
    converged: bool
    history: Floats = field(repr=False)  # rows (seconds, whole loss), one a step
    way: tuple[Floats, ...] = field(default=(), repr=False)  # of messages: M before the first step and after each


class _Loss:
    """``|y - A M|^2 + 2 lambda sqrt(p N) |M|_*`` of given data."""

    def __init__(self, measurements: Measurements, labels: Floats, weight_decay: float) -> None:
        self.measurements, self.labels = measurements, labels
        self.weight = 2.0 * weight_decay * sqrt(measurements.entries)  # of the nuclear norm

    def at(self, M: Floats) -> Iterate:
        """Sum of the squared errors and its gradient."""
        residual = self.measurements.forward(M) - self.labels
        return Iterate(M, float(np.sum(residual**2)), 2.0 * self.measurements.transpose(residual))

    def curvature(self, rng: np.random.Generator) -> float:
        """Largest curvature of the data term, by power iteration."""
        direction = rng.standard_normal(self.measurements.shape)
        found, _ = power_iteration(
            lambda M: 2.0 * self.measurements.transpose(self.measurements.forward(M)), direction, rtol=1e-3
        )
        return MARGIN * found

    def shrink(self, M: Floats, threshold: float) -> tuple[Floats, Floats]:
        """Soft threshold of the singular values; return the matrix and the values that are left."""
        left, values, right = np.linalg.svd(M, full_matrices=False)
        kept = np.maximum(values - threshold, 0.0)
        return np.asarray((left * kept) @ right), kept

    def gap(self, here: Iterate, nuclear: float) -> float:
        """Relative duality gap: a dual point is feasible where no singular value of ``t grad`` is above the weight."""
        loss = here.value + self.weight * nuclear
        if loss == 0.0:
            return 0.0
        along = 2.0 * here.value - float(np.sum(here.gradient * here.X))
        steepest = float(np.linalg.norm(here.gradient, 2))
        largest = self.weight / steepest if steepest > 0 else inf
        return relative_gap(loss, here.value, along, curvature=here.value, largest=largest)


def train_proximal(
    measurements: Measurements,
    labels: Floats,
    weight_decay: float,
    rng: np.random.Generator,
    *,
    tol: float = 1e-6,
    steps: int = 20_000,
) -> BilinearFit:
    """FISTA [BT09] with restart [OC15] on the matrix itself, until the loss is proven within `tol` of its minimum."""
    objective = _Loss(measurements, labels, weight_decay)
    curvature = objective.curvature(rng)
    kept = np.zeros(min(measurements.shape))

    def step(Y: Floats, slope: Floats) -> Floats:
        nonlocal kept
        stepped, kept = objective.shrink(Y - slope / curvature, objective.weight / curvature)
        return stepped

    here = objective.at(np.zeros(measurements.shape))
    descent, iteration, history = accelerated(here, objective.at, step), 0, History()
    for iteration, here in enumerate(islice(descent, steps), start=1):
        if not np.isfinite(here.value):
            raise TrainError(f"The training left the finite numbers at iteration {iteration}.", "Check the data.")
        history.record(here.value + objective.weight * float(kept.sum()))
        if iteration % LOOK == 0 and objective.gap(here, float(kept.sum())) <= tol:
            break
    loss = here.value + objective.weight * float(kept.sum())
    gap = objective.gap(here, float(kept.sum()))
    return BilinearFit(here.X, loss, here.value, gap, float(np.mean(kept > 0)), iteration, gap <= tol, history.rows)


def train_factors(
    measurements: Measurements,
    labels: Floats,
    weight_decay: float,
    rng: np.random.Generator,
    *,
    width: int | None = None,
    tol: float = 1e-6,
    steps: int = 20_000,
    memory: int = 20,
) -> BilinearFit:
    """L-BFGS on the factors of ``M = W_1 W_2'/sqrt(p N)``, each with its weight decay, from a random start.

    A student at least as wide as the rank of the minimum has no other minima; `width` is by default the shorter side.
    """
    objective = _Loss(measurements, labels, weight_decay)
    rows, columns = measurements.shape
    m = min(rows, columns) if width is None else width
    scale = 1.0 / sqrt(measurements.entries)

    def factors(flat: Floats) -> tuple[Floats, Floats]:
        return flat[: rows * m].reshape(rows, m), flat[rows * m :].reshape(columns, m)

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        W_1, W_2 = factors(flat)
        here = objective.at(scale * W_1 @ W_2.T)
        value = here.value + weight_decay * float(flat @ flat)
        slopes = (scale * here.gradient @ W_2, scale * here.gradient.T @ W_1)
        return value, np.concatenate([s.ravel() for s in slopes]) + 2.0 * weight_decay * flat

    start, history = rng.standard_normal((rows + columns) * m), History()
    # The dual bound is first order in what is left of the gradient, the loss second order.
    found = quasi_newton(
        value_and_gradient,
        start,
        steps=steps,
        evaluations=2 * steps,
        memory=memory,
        rtol=0.1 * tol**2,
        done=history.record,
    )
    W_1, W_2 = factors(found.X)
    here = objective.at(scale * W_1 @ W_2.T)
    gap = objective.gap(here, float(np.linalg.norm(here.X, "nuc")))
    curvature = objective.curvature(rng)
    kept = objective.shrink(here.X - here.gradient / curvature, objective.weight / curvature)[1]
    rank = float(np.mean(kept > 0))
    return BilinearFit(here.X, found.value, here.value, gap, rank, found.steps, gap <= tol, history.rows)
