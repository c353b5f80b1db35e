"""Equidistant nodes for averages over a Gaussian: for smooth integrands they converge as fast as Gauss-Hermite."""

from __future__ import annotations

from functools import cache

import numpy as np

from presage.laws.spectral_law import Floats

REACH = 6.5  # radius of the ball of nodes, in deviations: beyond it the weight of a Gaussian is 7e-10


@cache
def gaussian_ball(k: int, across: int) -> tuple[Floats, Floats]:
    """Nodes (n x k) and weights of a standard Gaussian in k directions, `across` nodes along each."""
    x = (np.arange(across) - 0.5 * (across - 1)) * (2.0 * REACH / across)
    nodes = np.stack([axis.ravel() for axis in np.meshgrid(*[x] * k, indexing="ij")], axis=-1)
    square = np.sum(nodes**2, axis=-1)
    inside = square < REACH**2
    weights = np.exp(-0.5 * square[inside])
    return nodes[inside], weights / weights.sum()
