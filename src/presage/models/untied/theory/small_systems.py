"""Linear systems of a few unknowns, compiled: what a proximal map of a row solves at every step."""

from __future__ import annotations

from math import sqrt

from presage.protocol.njit import njit


@njit(cache=True, error_model="numpy")
def solved(left, step):  # type: ignore[no-untyped-def]
    """Solve for a positive definite matrix by Cholesky, in place; False where it is not positive definite."""
    n = step.size
    for k in range(n):
        for i in range(k + 1):
            total = left[k, i]
            for c in range(i):
                total -= left[k, c] * left[i, c]
            if k == i:
                if total <= 0.0:
                    return False
                left[k, k] = sqrt(total)
            else:
                left[k, i] = total / left[i, i]
    for k in range(n):
        for c in range(k):
            step[k] -= left[k, c] * step[c]
        step[k] /= left[k, k]
    for k in range(n - 1, -1, -1):
        for c in range(k + 1, n):
            step[k] -= left[c, k] * step[c]
        step[k] /= left[k, k]
    return True


@njit(cache=True, error_model="numpy")
def eliminate(left, first, second):  # type: ignore[no-untyped-def]
    """Solve for the columns of two matrices, in place; the matrix is positive definite at a minimum."""
    n = left.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            ratio = left[i, k] / left[k, k]
            for c in range(k + 1, n):
                left[i, c] -= ratio * left[k, c]
            for c in range(n):
                first[i, c] -= ratio * first[k, c]
                second[i, c] -= ratio * second[k, c]
    for k in range(n - 1, -1, -1):
        for c in range(n):
            for i in range(k + 1, n):
                first[k, c] -= left[k, i] * first[i, c]
                second[k, c] -= left[k, i] * second[i, c]
            first[k, c] /= left[k, k]
            second[k, c] /= left[k, k]
