"""A tensor whose numbers cannot be used, which leaves its layer out and not the file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.tensor import Numbers, Tensor

LARGEST, SMALLEST = 1e60, 1e-60  # single precision has none of these


class UnusableTensorError(Exception):
    """A tensor that cannot be read or has numbers that are none, with the row that says so."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.skipped = Skipped(name, reason)


def read_numbers(tensor: Tensor, rows: slice | None = None) -> Numbers:
    """The numbers of a tensor, or of some of its rows; one that cannot be read is said to be unusable."""
    try:
        return tensor.read(rows)
    except CheckpointError as error:
        raise UnusableTensorError(tensor.name, f"it cannot be read: {error.reason}") from error


def finite(name: str, values: NDArray[np.floating]) -> NDArray[np.floating]:
    """The values as they are; where some are NaN or infinite, the tensor of that name is said to be unusable.

    So it is where its largest number is of a size whose fourth power is none: products of two factors are squared.
    """
    good = np.isfinite(values)
    if not good.all():
        raise UnusableTensorError(name, f"{good.size - np.count_nonzero(good)} of its numbers are NaN or infinite")
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest > LARGEST or 0.0 < largest < SMALLEST:
        raise UnusableTensorError(name, f"its largest number is {largest:.1e}, which is no size of a weight")
    return values
