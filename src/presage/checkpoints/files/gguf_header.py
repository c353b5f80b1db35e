"""The header of a GGUF file: what it says of the model, and where its tensors are."""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.quoted import quoted

VERSIONS = (2, 3)
ALIGNMENT = 32
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
_LONGEST_LIST = 10_000  # a longer one is of a vocabulary
_DEEPEST = 50
_MOST_AXES = 8


class GgufTensor(NamedTuple):
    """Where a tensor is: `offset` is from the beginning of the data, `shape` is (out, in)."""

    name: str
    shape: tuple[int, ...]
    kind: int  # the number of its type
    offset: int


class GgufHeader(NamedTuple):
    """What the file says of the model, its tensors, and the data they are in."""

    fields: dict[str, Any]
    tensors: list[GgufTensor]
    data: ByteRange


def read_gguf_header(file: ByteRange) -> GgufHeader:
    """The header, read value by value: each is known to be inside the file before it is read."""
    cursor = _Cursor(file)
    cursor.take(4)  # the magic, by which the file was told to be one
    version = cursor.number("I")
    if version not in VERSIONS:
        what = "it is big-endian" if version & 0xFFFF == 0 else f"it is of version {version}"
        raise _not_read(file, f"{what}, and only little-endian files of versions 2 and 3 are read")
    n_tensors, n_fields = cursor.number("Q"), cursor.number("Q")
    fields: dict[str, Any] = {}
    for _ in range(n_fields):
        key = cursor.text()
        if key in fields:
            raise _not_read(file, f"its field {quoted(key)} occurs twice")
        fields[key] = cursor.value(cursor.number("I"), _DEEPEST)
    tensors = [_tensor(cursor) for _ in range(n_tensors)]
    alignment = fields.get("general.alignment", ALIGNMENT)
    if type(alignment) is not int or alignment <= 0:
        raise _not_read(file, f"its alignment is {quoted(alignment)}")
    begin = -(-cursor.place // alignment) * alignment
    return GgufHeader(fields, tensors, file.part(min(begin, file.size), max(0, file.size - begin)))


def _tensor(cursor: _Cursor) -> GgufTensor:
    name = cursor.text()
    axes = cursor.number("I")
    if axes > _MOST_AXES:
        raise _not_read(cursor.file, f"its tensor {quoted(name)} has {axes} axes")
    lengths = tuple(cursor.number("Q") for _ in range(axes))
    return GgufTensor(name, lengths[::-1], cursor.number("I"), cursor.number("Q"))


def _not_read(file: ByteRange, reason: str) -> CheckpointError:
    return CheckpointError(file.name, "be a GGUF file", reason, "It is damaged or too old: get it again.")


class _Cursor:
    """A place in the file that moves on as values are read."""

    def __init__(self, file: ByteRange) -> None:
        self.file, self.place = file, 0
        self._stream = file.stream()

    def take(self, count: int) -> bytes:
        if self.place + count > self.file.size:
            raise self.file.too_short("it ends within its header")
        self.place += count
        return self._stream.read(count)

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def text(self) -> str:
        return self.take(int.from_bytes(self.take(8), "little")).decode()

    def value(self, kind: int, deepest: int) -> Any:
        """A value of any type; of a long list, or one of texts, nothing is kept."""
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _TEXT:
            return self.text()
        if kind != _ARRAY or deepest == 0:
            raise _not_read(self.file, f"it has a field of type {kind}, or lists nested too deeply")
        inner, count = self.number("I"), self.number("Q")
        if inner in _SCALARS:
            content = self.take(count * struct.calcsize(_SCALARS[inner]))
            return list(struct.unpack(f"<{count}{_SCALARS[inner]}", content)) if count <= _LONGEST_LIST else None
        for _ in range(count):
            if inner == _TEXT:
                self.take(int.from_bytes(self.take(8), "little"))
            else:
                self.value(inner, deepest - 1)
        return None
