"""The files that PyTorch wrote before 1.6, and writes on request: five pickles, then the storages."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.torch_file import big_endian, number_size, refused, torch_contents
from presage.checkpoints.files.torch_names import RefusedPickleError, TorchStorage
from presage.checkpoints.files.torch_pickle import read_pickle

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
LARGEST_PICKLE = 100_000_000  # all five together
LONGEST_LINE = 1_000_000
_COUNT = 8  # bytes of the count before each storage


def read_torch_legacy(file: ByteRange) -> Contents:
    """The tensors of a file of the old format: its pickles are read, and the places of its storages counted."""
    storages: list[TorchStorage] = []
    with _PickleBytes(file) as stream:
        try:
            if read_pickle(stream) != MAGIC:
                raise RefusedPickleError("it is a pickle of something else than tensors of PyTorch")
            if read_pickle(stream) != PROTOCOL:
                raise RefusedPickleError(f"it is not of version {PROTOCOL} of PyTorch's format")
            system = read_pickle(stream)
            if isinstance(system, dict) and system.get("little_endian") is False:
                raise big_endian(file.name)
            saved = read_pickle(stream, storages)
            keys = read_pickle(stream)
        except RefusedPickleError as error:
            raise refused(file.name, error) from error
        begin = stream.tell()
    if not isinstance(keys, list):
        raise CheckpointError(file.name, "name its storages", "it has no list of them", "It is damaged: get it again.")
    places = _places(file, begin, keys, {storage.key: storage for storage in storages})

    def place(storage: TorchStorage) -> ByteRange:
        if storage.key not in places:
            raise ValueError(f"the file ends before its storage {quoted(storage.key)}")
        return places[storage.key]

    return torch_contents(saved, place)


def _places(
    file: ByteRange, begin: int, keys: Iterable[Any], storages: dict[str, TorchStorage]
) -> dict[str, ByteRange]:
    """Where the storages are, up to the first one that the file does not hold whole."""
    places: dict[str, ByteRange] = {}
    for named in keys:
        key = str(named) if isinstance(named, str | int) else ""  # to spell anything else can take for ever
        storage = storages.get(key)
        if storage is None or begin + _COUNT > file.size:
            break
        count = int.from_bytes(file.read(begin, _COUNT), "little")
        size = count * number_size(storage)
        if count != storage.count or begin + _COUNT + size > file.size:
            break
        places[key] = file.part(begin + _COUNT, size)
        begin += _COUNT + size
    return places


class _PickleBytes(io.BufferedReader):
    """A stream that hands out no more than the pickles of a model have, and refuses before there is room made."""

    def __init__(self, file: ByteRange) -> None:
        super().__init__(file.stream().detach())
        self._left = LARGEST_PICKLE

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or not 0 <= size <= self._left:
            raise RefusedPickleError(f"its pickles have more than {LARGEST_PICKLE} bytes")
        self._left -= size
        return super().read(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        content = super().readline(min(LONGEST_LINE, self._left))  # without its end it is complained about
        self._left -= len(content)
        return content
