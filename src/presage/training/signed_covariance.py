"""Sums of squares of samples with weights of either sign, by products that take half the work."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def add_signed_squares(total: NDArray[np.float64], rows: NDArray[Any], weights: NDArray[np.float64]) -> None:
    """Add ``sum w x x'`` over some rows x, which are overwritten, to a matrix.

    Products of a matrix with itself take half the work of others, so that rows of positive and of negative weight are
    added apart, each with the root of the size of its weight.
    """
    rows *= np.sqrt(np.abs(weights)).astype(rows.dtype)[:, None]
    positive, negative = weights > 0.0, weights < 0.0
    if positive.any():
        above = rows if positive.all() else rows[positive]
        total += above.T @ above
    if negative.any():
        below = rows if negative.all() else rows[negative]
        total -= below.T @ below
