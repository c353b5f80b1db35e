"""What is zero beside rounding, of numbers that were computed from a matrix."""

from __future__ import annotations

MOST = 1e-6  # relative to the largest value: eight roundings of single precision


def size_of_zero(size: int, eps: float, largest: float) -> float:
    """At or below this an eigenvalue or singular value is the rounding of a zero: `size` roundings of the largest.

    `size` is the longer side of the matrix, eps the rounding of its entries: what LAPACK, and the products that made
    the matrix, leave of a zero. It is at most 1e-6 of the largest, for single precision would otherwise count small
    eigenvalues of a wide spectrum among its rounding.

    Equation: derived: the bound of a backward stable eigensolver, which numpy.linalg.matrix_rank takes too.
    Checked: tests/laws/test_numerical_zeros.py::test_a_matrix_of_low_rank_has_that_rank
    Checked: tests/laws/test_numerical_zeros.py::test_the_rounding_scales_with_the_matrix_and_its_size
    """
    return min(size * eps, MOST) * largest
