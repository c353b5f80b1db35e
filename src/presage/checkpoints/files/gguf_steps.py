"""How far numbers are rounded that are stored as blocks of small integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Decode = Callable[[NDArray[np.uint8]], NDArray[np.float32]]

_LOWEST_BITS = {  # bytes of a block in which the integers are, and where in a byte their lowest bits are
    "Q4_0": (2, 18, 0x11),
    "Q4_1": (4, 20, 0x11),
    "Q5_0": (6, 22, 0x11),
    "Q5_1": (8, 24, 0x11),
    "Q8_0": (2, 34, 0x01),
    "Q2_K": (16, 80, 0x55),
    "Q3_K": (32, 96, 0x55),
    "Q4_K": (16, 144, 0x11),
    "Q5_K": (48, 176, 0x11),
    "Q6_K": (0, 128, 0x11),
    "TQ2_0": (0, 64, 0x55),
    "IQ4_NL": (2, 18, 0x11),
    "IQ4_XS": (8, 136, 0x11),
    "MXFP4": (1, 17, 0x11),
    "NVFP4": (4, 36, 0x11),
}
_GROUP = 32  # numbers that share a step in the other formats


def block_rounding(
    rows: NDArray[np.uint8], values: NDArray[np.float32], name: str, size: int, decode: Decode
) -> NDArray[np.float64]:
    """Root mean square rounding of an entry, one number a row; `size` is that of a block in bytes.

        error = sqrt(mean of step^2 / 12)

    The step of an entry is the distance to its neighbour, and is had from the file itself: the lowest bit of every
    integer is turned over, and the blocks are decoded once more. In a format whose bits are not known here, it is the
    smallest distance of two numbers of the same 32, which is the step or more.

    Equation: derived: the variance of a uniform number of width one step is its square over 12.
    Checked: tests/checkpoints/files/test_gguf_file.py::test_the_error_is_that_of_the_rounding
    """
    with np.errstate(all="ignore"):  # a damaged block has any scale
        if name in _LOWEST_BITS:
            first, last, mask = _LOWEST_BITS[name]
            turned = rows.copy()
            turned.reshape(-1, size)[:, first:last] ^= np.uint8(mask)
            steps: NDArray[Any] = decode(turned) - values
        else:
            steps = _smallest_distances(values.reshape(len(values), -1, _GROUP))
        squares = np.einsum("ij,ij->i", steps, steps, dtype=np.float64)
        return np.asarray(np.sqrt(squares / steps.shape[1] / 12.0), dtype=np.float64)


def _smallest_distances(groups: NDArray[np.float32]) -> NDArray[np.float64]:
    distances = np.diff(np.sort(groups, axis=-1), axis=-1)
    smallest = np.where(distances > 0, distances, math.inf).min(axis=-1)
    return np.where(np.isfinite(smallest), smallest, 0.0)
