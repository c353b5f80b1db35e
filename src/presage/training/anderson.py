"""Anderson's mixing: the combination of the last steps of a fixed-point iteration that should move least."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RIDGE = 1e-10  # relative: residuals that are nearly parallel say nothing about the difference of their weights


def mixing_weights(residuals: Sequence[Floats]) -> Floats:
    """Weights c, of sum one, that minimise ``|sum_i c_i r_i|``: a map near its fixed point is nearly linear.

    ``c_1 = gamma_1``, ``c_i = gamma_i - gamma_{i-1}``, the last of k ``1 - gamma_{k-1}``, with ``gamma`` the least
    squares solution of ``sum_i gamma_i (r_{i+1} - r_i) = r_k``; for a linear map and enough residuals the mixture is
    the fixed point.

    Equation: derived, the constraint on the sum is solved for the last weight.
    Checked: tests/training/test_anderson.py::test_a_linear_map_is_solved_in_as_many_steps_as_it_has_dimensions
    """
    flat = np.stack([residual.ravel() for residual in residuals])
    changes = np.diff(flat, axis=0)
    products = changes @ changes.T
    products += RIDGE * np.trace(products) * np.eye(len(products))
    last = np.zeros(len(flat))
    last[-1] = 1.0
    if not np.trace(products) > 0.0:
        return last
    gamma = np.linalg.solve(products, changes @ flat[-1])
    return np.asarray(last + np.concatenate([gamma, [0.0]]) - np.concatenate([[0.0], gamma]))
