"""The files of PyTorch that are zip archives: a pickle, and each storage as a member."""

from __future__ import annotations

import re
from collections.abc import Iterable

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.archive import Archive
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.torch_file import big_endian, number_size, refused, torch_contents
from presage.checkpoints.files.torch_names import RefusedPickleError, TorchStorage
from presage.checkpoints.files.torch_pickle import read_pickle

LARGEST_PICKLE = 100_000_000


def torch_folder(names: Iterable[str]) -> str | None:
    """The folder inside an archive that PyTorch wrote, which holds all of it; None for any other archive."""
    found = [name for name in names if re.fullmatch(r"[^/]+/data\.pkl", name)]
    if len(found) != 1:
        return None
    folder = found[0].removesuffix("data.pkl")
    return folder if all(name.startswith(folder) for name in names) else None


def read_torch_zip(archive: Archive) -> Contents:
    """The tensors of an archive that PyTorch wrote, of which the pickle is read."""
    names = set(archive.names)
    folder = torch_folder(names)
    file = archive.file.name
    if f"{folder}byteorder" in names and archive.member(f"{folder}byteorder").head(6) != b"little":
        raise big_endian(file)
    pickle = archive.member(f"{folder}data.pkl")
    if pickle.size > LARGEST_PICKLE:
        reason = f"its pickle has {pickle.size} bytes, more than {LARGEST_PICKLE}"
        raise CheckpointError(file, "be a file of tensors", reason, "Save the state_dict alone.")

    def place(storage: TorchStorage) -> ByteRange:
        name = f"{folder}data/{storage.key}"
        if name not in names:
            raise ValueError(f"the file has no storage {quoted(storage.key)}")
        content = archive.member(name)
        size = storage.count * number_size(storage)
        if size > content.size:
            raise ValueError(f"its storage should have {size} bytes, and has {content.size}")
        return ByteRange(file, content.start, size, content.opened)

    with pickle.stream() as stream:
        try:
            return torch_contents(read_pickle(stream), place)
        except RefusedPickleError as error:
            raise refused(file, error) from error
