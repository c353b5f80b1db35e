"""Arrays of NumPy: one in a .npy file, several in a .npz, which is a zip of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.archive import Archive
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.storage_type import STORAGE_TYPES
from presage.checkpoints.files.stored_tensor import contiguous, stored_tensor
from presage.checkpoints.files.wall import wall
from presage.checkpoints.tensor import Tensor

_SUFFIX = ".npy"
_LONGEST_HEADER = 10_000
_NAMES = {  # of the types that NumPy knows, as the header spells them
    "<f8": "F64",
    "<f4": "F32",
    "<f2": "F16",
    "|i1": "I8",
    "|u1": "U8",
    "<i2": "I16",
    "<u2": "U16",
    "<i4": "I32",
    "<u4": "U32",
    "<i8": "I64",
    "<u8": "U64",
    "|b1": "BOOL",
}


def is_npz(names: Sequence[str]) -> bool:
    """Whether an archive with these members is one of NumPy's."""
    return bool(names) and all(name.endswith(_SUFFIX) for name in names)


def read_npz(archive: Archive) -> Contents:
    """The arrays of a .npz; one that cannot be read is skipped. Pickled objects are never loaded."""
    tensors: dict[str, Tensor] = {}
    skipped = []
    for member in archive.names:
        name = member.removesuffix(_SUFFIX)
        try:
            tensors[name] = _array(name, archive.member(member))
        except ValueError as error:
            skipped.append(Skipped(name, error.reason if isinstance(error, CheckpointError) else str(error)))
    return Contents(tensors, tuple(skipped))


def read_npy(file: ByteRange) -> Contents:
    """The only array of a .npy, under the name ``tensor``."""
    return Contents({"tensor": _array("tensor", file)})


def _array(name: str, file: ByteRange) -> Tensor:
    with wall(file.name, name), file.stream() as stream:
        version = np.lib.format.read_magic(stream)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} of NumPy's format is not read")
        header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, columns_first, dtype = header(stream, max_header_size=_LONGEST_HEADER)
        begin = stream.tell()
    if dtype.str not in _NAMES:
        raise ValueError(f"it holds {dtype}, not real numbers in little-endian order")
    strides = contiguous(shape[::-1])[::-1] if columns_first else None
    data = file.part(begin, file.size - begin)
    return stored_tensor(name, data, STORAGE_TYPES[_NAMES[dtype.str]], shape, strides)
