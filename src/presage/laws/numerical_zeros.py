"""Zeros of a computed spectrum: what is smaller than the rounding of the numbers that it was computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.rounding import size_of_zero


def with_numerical_zeros(values: NDArray[np.floating[Any]], size: int, precision: Any = np.float64) -> Floats:
    """Eigenvalues or singular values of a matrix, with those that are its rounding set to zero.

    `size` is the longer side of the matrix, and `precision` that of its entries.
    """
    kind = np.dtype(precision)
    eps = float(np.finfo(kind if kind.kind == "f" else np.float64).eps)
    small = size_of_zero(size, eps, float(np.abs(values).max(initial=0.0)))
    return np.where(np.abs(values) <= small, 0.0, values).astype(np.float64)


def refuse_half_precision(name: str, given: NDArray[Any]) -> None:
    """Complain about numbers of half precision: their rounding cannot be told from small eigenvalues."""
    if given.dtype.kind == "f" and given.dtype.itemsize < 4:
        raise checks.complaint(
            name,
            "be of single or double precision",
            "rounding to three digits turns zeros into eigenvalues that cannot be told from small ones",
            f"numbers of {given.dtype}",
            "Compute them in single precision or better, or write .astype(float) if they are meant as they are.",
        )


def note_on_zeros(count: int, of: int, noun: str) -> tuple[str, ...]:
    """The sentence about values that were set to zero; none where there was no such."""
    if not count:
        return ()
    return (f"{count} of the {of} {noun} of the target are below rounding beside the largest: they are zeros.",)
