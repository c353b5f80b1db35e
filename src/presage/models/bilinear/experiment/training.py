"""Learning a matrix without symmetry: the minimum of a nuclear-norm loss, in two ways."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.bilinear.experiment.measurements import Measurements
from presage.protocol.errors import TrainError

LOOK = 10  # iterations between two looks at the duality gap
MARGIN = 1.02  # on the largest curvature, which power iteration approaches from below


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


class _Loss:
    """``|y - A M|^2 + 2 lambda sqrt(p N) |M|_*`` of given data."""

    def __init__(self, measurements: Measurements, labels: Floats, weight_decay: float) -> None:
        self.measurements, self.labels = measurements, labels
        self.weight = 2.0 * weight_decay * sqrt(measurements.entries)  # of the nuclear norm

    def data(self, M: Floats) -> tuple[float, Floats]:
        """Sum of the squared errors and its gradient."""
        residual = self.measurements.forward(M) - self.labels
        return float(np.sum(residual**2)), 2.0 * self.measurements.transpose(residual)

    def curvature(self, rng: np.random.Generator) -> float:
        """Largest curvature of the data term, by power iteration."""
        direction = rng.standard_normal(self.measurements.shape)
        found = 0.0
        for _ in range(100):
            direction /= np.linalg.norm(direction)
            direction = 2.0 * self.measurements.transpose(self.measurements.forward(direction))
            last, found = found, float(np.linalg.norm(direction))
            if found - last < 1e-3 * found:
                break
        return MARGIN * found

    def shrink(self, M: Floats, threshold: float) -> tuple[Floats, Floats]:
        """Soft threshold of the singular values; return the matrix and the values that are left."""
        left, values, right = np.linalg.svd(M, full_matrices=False)
        kept = np.maximum(values - threshold, 0.0)
        return np.asarray((left * kept) @ right), kept

    def gap(self, M: Floats, nuclear: float, error: float, gradient: Floats) -> float:
        """Relative duality gap: with the dual point ``2 t (y - A M)`` the bound is ``t (2 L - <grad, M>) - t^2 L``."""
        loss = error + self.weight * nuclear
        if not error > 0.0:
            return 0.0 if loss == 0.0 else inf
        along = 2.0 * error - float(np.sum(gradient * M))
        steepest = float(np.linalg.norm(gradient, 2))
        t = min(max(along / (2.0 * error), 0.0), self.weight / steepest if steepest > 0 else inf)
        return (loss - t * (along - t * error)) / loss


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
    M = before = np.zeros(measurements.shape)
    error, gradient = objective.data(M)
    gradient_before, momentum, gap = gradient, 1.0, inf
    kept = np.zeros(min(measurements.shape))
    iteration = 0
    for iteration in range(1, steps + 1):
        # The gradient is affine in M: at the extrapolated point it is extrapolated too, without a pass.
        grown = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum**2))
        ahead = (momentum - 1.0) / grown
        Y, slope = M + ahead * (M - before), gradient + ahead * (gradient - gradient_before)
        stepped, kept = objective.shrink(Y - slope / curvature, objective.weight / curvature)
        momentum = 1.0 if float(np.sum((Y - stepped) * (stepped - M))) > 0.0 else grown
        before, gradient_before, M = M, gradient, stepped
        error, gradient = objective.data(M)
        if not np.isfinite(error):
            raise TrainError(f"The training left the finite numbers at iteration {iteration}.", "Check the data.")
        if iteration % LOOK == 0:
            gap = objective.gap(M, float(kept.sum()), error, gradient)
            if gap <= tol:
                break
    loss = error + objective.weight * float(kept.sum())
    gap = objective.gap(M, float(kept.sum()), error, gradient)
    return BilinearFit(M, loss, error, gap, float(np.mean(kept > 0)), iteration, gap <= tol)


def train_factors(
    measurements: Measurements,
    labels: Floats,
    weight_decay: float,
    rng: np.random.Generator,
    *,
    width: int | None = None,
    tol: float = 1e-6,
    steps: int = 20_000,
) -> BilinearFit:
    """L-BFGS on the factors of ``M = W_1 W_2'/sqrt(p N)``, each with its weight decay, from a random start.

    A student at least as wide as the rank of the minimum has no other minima; `width` is by default the shorter side.
    """
    from scipy.optimize import minimize

    objective = _Loss(measurements, labels, weight_decay)
    rows, columns = measurements.shape
    m = min(rows, columns) if width is None else width
    scale = 1.0 / sqrt(measurements.entries)

    def factors(flat: Floats) -> tuple[Floats, Floats]:
        return flat[: rows * m].reshape(rows, m), flat[rows * m :].reshape(columns, m)

    def value_and_gradient(flat: Floats) -> tuple[float, Floats]:
        W_1, W_2 = factors(flat)
        error, gradient = objective.data(scale * W_1 @ W_2.T)
        value = error + weight_decay * float(flat @ flat)
        slopes = (scale * gradient @ W_2, scale * gradient.T @ W_1)
        return value, np.concatenate([s.ravel() for s in slopes]) + 2.0 * weight_decay * flat

    start = rng.standard_normal((rows + columns) * m)
    # The dual bound is first order in what is left of the gradient, the loss second order.
    options: Any = {"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20, "ftol": 0.1 * tol**2, "gtol": 0.0}
    found = minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    W_1, W_2 = factors(found.x)
    M = scale * W_1 @ W_2.T
    error, gradient = objective.data(M)
    gap = objective.gap(M, float(np.linalg.norm(M, "nuc")), error, gradient)
    curvature = objective.curvature(rng)
    rank = float(np.mean(objective.shrink(M - gradient / curvature, objective.weight / curvature)[1] > 0))
    return BilinearFit(M, float(found.fun), error, gap, rank, int(found.nit), gap <= tol)
