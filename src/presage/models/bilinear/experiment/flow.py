"""Gradient flow and descent of a matrix without symmetry, entry by entry, from zero and without a penalty."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.bilinear.experiment.measurements import Measurements
from presage.models.bilinear.experiment.training import BilinearFit
from presage.protocol.errors import TrainError
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.training.gradient_flow import quadratic_flow

SETTLED = 1e-6  # relative slope of a matrix that is at the minimum


def train_flow(
    trainer: MatrixFlow | MatrixDescent, measurements: Measurements, labels: Floats, scores: int
) -> BilinearFit:
    """Every matrix that the trainer looks at; a sample shows so many scores."""
    # In the mean over data the square of a measurement, doubled, of which there are n times the scores.
    unit = 2.0 * len(labels) * scores / sqrt(measurements.entries)

    def slope(M: Floats) -> Floats:
        return np.asarray(2.0 / unit * measurements.transpose(measurements.forward(M) - labels))

    nothing = np.zeros(measurements.shape)
    if isinstance(trainer, MatrixFlow):
        pull = -slope(nothing)
        way = [*quadratic_flow(lambda M: slope(M) + pull, pull, trainer.times)]
    else:
        way, M, done = [], nothing, 0
        for step in trainer.times.astype(int):
            for number in range(done, step):
                with np.errstate(over="ignore", invalid="ignore"):
                    M = M - trainer.rate * slope(M)
                if not np.isfinite(M).all():
                    raise TrainError(f"Descent left the finite numbers at step {number}.", "Use a smaller <rate>.")
            done = step
            way.append(M)
    M = way[-1]
    error = float(np.sum((measurements.forward(M) - labels) ** 2))
    left = float(np.linalg.norm(slope(M))) / max(float(np.linalg.norm(slope(nothing))), 1e-300)
    rank = float(np.mean(np.linalg.svd(M, compute_uv=False) > 0.0))
    return BilinearFit(M, error, error, inf, rank, len(way), left <= SETTLED, np.zeros((0, 2)), tuple(way))
