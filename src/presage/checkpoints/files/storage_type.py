"""How numbers are stored in files: under which name, in how many bytes, and how finely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.files import small_floats

Floats = NDArray[np.float32] | NDArray[np.float64]


@final
@dataclass(frozen=True)
class StorageType:
    """A type of number: `raw` is how its bytes are viewed, `spacing` the distance of one to the next number."""

    name: str  # as safetensors calls it
    raw: np.dtype[Any]
    spacing: float  # 0 for integers, which are stored as they are
    decode: Callable[[NDArray[Any]], Floats] = field(repr=False, compare=False)

    @property
    def size(self) -> int:
        """Bytes of a number."""
        return self.raw.itemsize


def _single(raw: NDArray[Any]) -> Floats:
    return raw.astype(np.float32, copy=False)


def _double(raw: NDArray[Any]) -> Floats:  # of integers too that a float32 would round
    return raw.astype(np.float64, copy=False)


def _truth(raw: NDArray[Any]) -> Floats:
    return np.asarray(raw != 0, dtype=np.float32)


STORAGE_TYPES = {
    name: StorageType(name, np.dtype(raw), spacing, decode)
    for name, raw, spacing, decode in (
        ("F64", "<f8", 2.0**-52, _double),
        ("F32", "<f4", 2.0**-23, _single),
        ("F16", "<f2", 2.0**-10, _single),
        ("BF16", "<u2", 2.0**-7, small_floats.bfloat16),
        ("F8_E4M3", "u1", 2.0**-3, small_floats.float8_e4m3),
        ("F8_E5M2", "u1", 2.0**-2, small_floats.float8_e5m2),
        ("F8_E8M0", "u1", 1.0, small_floats.float8_e8m0),
        ("I8", "i1", 0.0, _single),
        ("U8", "u1", 0.0, _single),
        ("I16", "<i2", 0.0, _single),
        ("U16", "<u2", 0.0, _single),
        ("I32", "<i4", 0.0, _double),
        ("U32", "<u4", 0.0, _double),
        ("I64", "<i8", 0.0, _double),
        ("U64", "<u8", 0.0, _double),
        ("BOOL", "u1", 0.0, _truth),
    )
}
