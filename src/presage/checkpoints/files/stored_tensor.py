"""A tensor that lies in a file as an array: bytes, a type of number, a shape and strides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.file_tensor import file_tensor
from presage.checkpoints.files.row_rounding import row_rounding
from presage.checkpoints.files.storage_type import StorageType
from presage.checkpoints.tensor import Numbers, Tensor

MOST_AXES = 32


def stored_tensor(
    name: str,
    storage: ByteRange,
    kind: StorageType,
    shape: Sequence[int],
    strides: Sequence[int] | None = None,
    offset: int = 0,
) -> Tensor:
    """The tensor whose entry (i, j, ...) is number ``offset + i strides[0] + j strides[1] + ...`` of `storage`.

    Without `strides` the rows follow one another. A `ValueError` says why there can be no such tensor.
    """
    shape = _whole_numbers("shape", shape)
    strides = contiguous(shape) if strides is None else _whole_numbers("strides", strides)
    (offset,) = _whole_numbers("offset", (offset,))
    if len(strides) != len(shape):
        raise ValueError(f"it has {len(shape)} axes and {len(strides)} strides")
    room = storage.size // kind.size
    if math.prod(shape) > room:
        raise ValueError(f"its shape {shape} asks for {math.prod(shape)} numbers, and {room} are stored")
    if math.prod(shape) > 0 and offset + _reach(shape, strides) > room:
        raise ValueError(f"shape {shape}, strides {strides} and offset {offset} lead beyond the {room} numbers stored")

    def read(first: int, last: int) -> Numbers:
        part = (last - first, *shape[1:]) if shape else ()
        if math.prod(part) == 0:
            return Numbers(kind.decode(np.empty(part, kind.raw)), np.zeros(part[0]))
        begin = offset + (first * strides[0] if shape else 0)
        content = storage.read(begin * kind.size, _reach(part, strides) * kind.size)
        steps = tuple(stride * kind.size for stride in strides)
        raw = np.lib.stride_tricks.as_strided(np.frombuffer(content, kind.raw), part, steps, writeable=False)
        values = kind.decode(np.ascontiguousarray(raw)).reshape(part)
        return Numbers(values, row_rounding(values, kind.spacing))

    return file_tensor(storage.name, name, shape, kind.name, read)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of an array whose rows follow one another."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many numbers there are from the first entry to the last."""
    return 1 + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))


def _whole_numbers(what: str, numbers: Sequence[int]) -> tuple[int, ...]:
    if not isinstance(numbers, list | tuple) or not all(type(number) is int and number >= 0 for number in numbers):
        raise ValueError(f"its {what} is not made of whole numbers that are 0 or more")
    if len(numbers) > MOST_AXES:
        raise ValueError(f"it has more than {MOST_AXES} axes")
    return tuple(numbers)
