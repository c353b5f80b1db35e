"""A tensor of a file, which is read when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray


class Numbers(NamedTuple):
    """What a tensor holds: its numbers, and how far each may have been rounded when it was stored."""

    values: NDArray[np.float32] | NDArray[np.float64]
    error: NDArray[np.float64]  # root mean square of the rounding, one a row (the first axis)


@final
@dataclass(frozen=True)
class Tensor:
    """A named tensor: its shape and storage type are known, its numbers are read when they are asked for."""

    name: str
    shape: tuple[int, ...]
    dtype: str  # as the file calls it, in capitals as safetensors does: F32, BF16, F8_E4M3, I8, Q4_1 ...
    reader: Callable[[slice | None], Numbers] = field(repr=False, compare=False)

    def read(self, rows: slice | None = None) -> Numbers:
        """Its numbers, those of some rows only where they are named; a `CheckpointError` where they cannot be had."""
        return self.reader(rows)
