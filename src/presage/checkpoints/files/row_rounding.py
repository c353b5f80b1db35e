"""How far the numbers of a row may have been rounded when they were stored as floats."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.files.storage_type import Floats


def row_rounding(values: Floats, spacing: float) -> NDArray[np.float64]:
    """Root mean square rounding of an entry, one number a row (the first axis).

        error = spacing rms(row) / sqrt(12)

    `spacing` is the distance of one to the next number of the format. A number ``x`` is rounded uniformly within half
    the distance at ``x``, which is between spacing |x| / 2 and spacing |x|: the error is twice too large at
    most. It is too small for a row of numbers below the smallest normal one of the format only.

    Equation: derived: the variance of a uniform number of width spacing |x| is its square over 12.
    Checked: tests/checkpoints/files/test_storage_type.py::test_the_rounding_of_a_row_is_that_of_a_rounded_sample
    """
    rows = values.shape[0] if values.ndim else 1
    if spacing == 0.0 or values.size == 0:
        return np.zeros(rows)
    flat = values.reshape(rows, -1)
    with np.errstate(all="ignore"):  # infinite numbers are the reader's to name
        mean_square = np.einsum("ij,ij->i", flat, flat, dtype=np.float64) / flat.shape[1]
    return np.asarray(spacing / math.sqrt(12.0) * np.sqrt(mean_square), dtype=np.float64)
