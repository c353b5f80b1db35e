"""Gradient flow of a quadratic loss, integrated by Krylov spaces: no step is too long, and no array is large."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.errors import TrainError

LOOK = 5  # products after which the accuracy is looked at
ENOUGH = 1e-9  # relative, of what is learned at every time


def quadratic_flow(curvature: Callable[[Floats], Floats], start: Floats, times: Floats, *, most: int = 2000) -> Floats:
    """X at given times of the flow ``dX/dt = start - curvature(X)`` from zero, whatever the shape of X.

    ``X(t) = (1 - e^{-H t}) H^-1 b`` in the space of ``b, H b, H^2 b ...``, which grows until X settles at every time.
    """
    size = float(np.linalg.norm(start))
    if size == 0.0:
        return np.zeros((len(times), *start.shape))
    basis = [start.ravel() / size]
    centre: list[float] = []
    beside: list[float] = []
    before = np.zeros((len(times), 0))
    while True:
        image = curvature(basis[-1].reshape(start.shape)).ravel()
        centre.append(float(image @ basis[-1]))
        block = np.array(basis)
        for _ in range(2):  # twice is enough for directions that are next to parallel
            image = image - block.T @ (block @ image)
        length = float(np.linalg.norm(image))
        ended = length <= 1e-13 * max(np.abs(centre)) or len(basis) == start.size
        if ended or len(basis) % LOOK == 0:
            now = _coefficients(np.array(centre), np.array(beside), size, times)
            moved = np.linalg.norm(now - np.pad(before, ((0, 0), (0, now.shape[1] - before.shape[1]))), axis=1)
            if ended or np.all(moved <= ENOUGH * np.maximum(np.linalg.norm(now, axis=1), 1e-300)):
                return (now @ block).reshape(len(times), *start.shape)
            before = now
        if len(basis) >= most:
            raise TrainError(f"The flow has not settled after {most} passes over the data.", "Use an earlier <until>.")
        beside.append(length)
        basis.append(image / length)


def _coefficients(centre: Floats, beside: Floats, size: float, times: Floats) -> Floats:
    """What the flow has learned along every direction of the space (columns) at every time (rows)."""
    h, vectors = np.linalg.eigh(np.diag(centre) + np.diag(beside, 1) + np.diag(beside, -1))
    t = times[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        learned = np.where(h * t == 0.0, t, -np.expm1(-h * t) / h)
    return np.asarray(size * (learned * vectors[0]) @ vectors.T)
