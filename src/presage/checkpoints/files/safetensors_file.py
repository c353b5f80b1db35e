"""Safetensors: a length, a header in JSON, and the numbers one tensor after the other."""

from __future__ import annotations

import math
from typing import Any

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.json_file import LARGEST, json_object
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.storage_type import STORAGE_TYPES
from presage.checkpoints.files.stored_tensor import stored_tensor
from presage.checkpoints.tensor import Tensor

_LENGTH = 8  # bytes of the length of the header


def read_safetensors(file: ByteRange) -> Contents:
    """The tensors of a safetensors file, of which only the header is read.

    The places of all tensors must fill the file without gap or overlap. A tensor of a type that is not known, or whose
    shape does not fit its place, is skipped.
    """
    if file.size < _LENGTH:
        raise file.too_short(f"it has {file.size} bytes, and the length of its header alone takes {_LENGTH}")
    length = int.from_bytes(file.read(0, _LENGTH), "little")
    if length > min(LARGEST, file.size - _LENGTH):
        raise file.too_short(f"its header is said to have {length} bytes, and the file has {file.size}")
    header = json_object(file.part(_LENGTH, length))
    header.pop("__metadata__", None)
    data = file.part(_LENGTH + length, file.size - _LENGTH - length)
    places = {name: _place(file, name, entry) for name, entry in header.items()}
    _fill(data, places)
    tensors: dict[str, Tensor] = {}
    skipped = []
    for name, (begin, end) in places.items():
        try:
            tensors[name] = _tensor(name, header[name], data.part(begin, end - begin))
        except ValueError as error:
            skipped.append(Skipped(name, str(error)))
    return Contents(tensors, tuple(skipped))


def _tensor(name: str, entry: dict[str, Any], storage: ByteRange) -> Tensor:
    dtype = entry.get("dtype")
    kind = STORAGE_TYPES.get(dtype) if isinstance(dtype, str) else None
    if kind is None:
        raise ValueError(f"its type of number {quoted(dtype)} is not known")
    tensor = stored_tensor(name, storage, kind, entry.get("shape", ()))
    if math.prod(tensor.shape) * kind.size != storage.size:
        raise ValueError(f"shape {tensor.shape} of {kind.name} does not fill its {storage.size} bytes")
    return tensor


def _place(file: ByteRange, name: str, entry: Any) -> tuple[int, int]:
    offsets = entry.get("data_offsets") if isinstance(entry, dict) else None
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(type(offset) is int for offset in offsets)
        or not 0 <= offsets[0] <= offsets[1]
    ):
        raise _damaged(file, f"the header gives tensor {quoted(name)} no place in the file")
    return offsets[0], offsets[1]


def _fill(data: ByteRange, places: dict[str, tuple[int, int]]) -> None:
    """Complain unless the places follow one another from the first byte to the last."""
    end = 0
    for name, (first, last) in sorted(places.items(), key=lambda item: item[1]):
        if first != end:
            fault = "overlaps another" if first < end else "leaves a gap before it"
            raise _damaged(data, f"tensor {quoted(name)} {fault}")
        end = last
    if end > data.size:
        raise data.too_short(f"its tensors take {end} bytes, and {data.size} follow the header")
    if end < data.size:
        raise _damaged(data, f"its tensors take {end} bytes, and {data.size} follow the header")


def _damaged(file: ByteRange, reason: str) -> CheckpointError:
    return CheckpointError(file.name, "be a safetensors file", reason, "It is damaged: get it again.")
