"""Zeros of a computed spectrum: what is smaller than the rounding of the numbers that it was computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats


def with_numerical_zeros(values: NDArray[np.floating[Any]], size: int, precision: Any = np.float64) -> Floats:
    """Eigenvalues or singular values of a matrix, with those that are its rounding set to zero.

    ``|s| <= size eps max|s|``, where `size` is the longer side of the matrix and eps that of the `precision` of its
    entries: what LAPACK and the products that made the matrix leave of a zero.

    Equation: derived: the bound of a backward stable eigensolver, which numpy.linalg.matrix_rank takes too.
    Checked: tests/laws/test_numerical_zeros.py::test_a_matrix_of_low_rank_has_that_rank
    """
    kind = np.dtype(precision)
    eps = float(np.finfo(kind if kind.kind == "f" else np.float64).eps)
    size_of_largest = float(np.abs(values).max(initial=0.0))
    return np.where(np.abs(values) <= size * eps * size_of_largest, 0.0, values).astype(np.float64)


def note_on_zeros(count: int, of: int, noun: str) -> tuple[str, ...]:
    """The sentence about values that were set to zero; none where there was no such."""
    if not count:
        return ()
    return (f"{count} of the {of} {noun} of the target are below rounding, d eps times the largest: they are zeros.",)
