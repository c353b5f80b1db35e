"""Weights are opened here, whatever they are in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files import dict_of_arrays
from presage.checkpoints.files.archive import Archive
from presage.checkpoints.files.archive_weights import not_taken, read_archive
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.config_file import read_config
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.folder import DiskFolder, Folder
from presage.checkpoints.files.folder_weights import read_folder, read_named
from presage.checkpoints.files.kind import HEAD, Kind, kind_of
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.wall import wall
from presage.checkpoints.files.weight_file import is_plain_archive, read_weight_file

Source = str | os.PathLike[str] | Mapping[str, Any]


def open_checkpoint(source: Source, *, member: str | None = None) -> Checkpoint:
    """Open weights: a file, a folder, an index of shards, a wheel or zip with weights inside, or a dict of arrays.

    Only headers are read, and nothing of the file is run. `member` names the file or folder inside a folder or an
    archive that holds several. Every failure is a `CheckpointError`; what of a readable file could not be used is in
    `Checkpoint.skipped`.
    """
    name = _name(source)
    with wall(name):
        if isinstance(source, Mapping):
            if member is not None:
                raise not_taken(name, member)
            return _checkpoint(name, dict_of_arrays.read_dict(source), None)
        if not _is_path(source):
            must, reason = "be a path or a dict of arrays", f"a {type(source).__name__} is neither"
            raise CheckpointError(name, must, reason, "Give the path of a file or folder of weights.")
        path = Path(source).expanduser()
        if path.is_dir():
            return _open_folder(name, path, member)
        return _open_file(name, path, member)


def _name(source: object) -> str:
    """What sentences call it."""
    if isinstance(source, Mapping):
        return dict_of_arrays.NAME
    return os.fspath(source) if isinstance(source, str | os.PathLike) and _is_path(source) else quoted(source)


def _is_path(source: object) -> bool:
    return isinstance(source, str | os.PathLike) and isinstance(os.fspath(source), str)


def _open_folder(name: str, path: Path, member: str | None) -> Checkpoint:
    folder = DiskFolder(path)
    if member is None:
        return _checkpoint(name, read_folder(folder), folder)
    inside = path / member
    if inside.is_dir():
        if not inside.resolve().is_relative_to(path.resolve()):
            raise folder.outside(member)
        return _open_folder(f"{name}/{member}", inside, None)
    contents = read_named(folder, member)  # a name that leads out of the folder is refused here
    return _checkpoint(f"{name}/{member}", contents, DiskFolder(inside.parent))


def _open_file(name: str, path: Path, member: str | None) -> Checkpoint:
    if path.exists() and not path.is_file():
        reason = "a device or pipe cannot be read from anywhere"
        raise CheckpointError(name, "be a file or a folder", reason, "Save the weights in a file.")
    file = ByteRange.of_file(path, name)
    folder = DiskFolder(path.parent)
    if kind_of(file.head(HEAD), path.name) is Kind.ZIP:
        archive = Archive(file)
        if is_plain_archive(archive):
            inside, contents, place = read_archive(archive, member)
            return _checkpoint(f"{name}/{inside}".rstrip("/"), contents, place)
    if member is not None:
        raise not_taken(name, member)
    return _checkpoint(name, read_weight_file(file, folder), folder)


def _checkpoint(name: str, contents: Contents, folder: Folder | None) -> Checkpoint:
    if not contents.tensors:
        why = "".join(f"; {quoted(row.name)}: {row.reason}" for row in contents.skipped[:3])
        raise CheckpointError(name, "hold tensors", f"there is none in it that can be read{why}", "Give another file.")
    config = {**contents.config, **({} if folder is None else read_config(folder))}
    return Checkpoint(name, contents.tensors, config, contents.skipped, contents.graph)
