"""The index of weights that are cut into shards: which tensor is in which file."""

from __future__ import annotations

from collections.abc import Callable

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.folder import Folder
from presage.checkpoints.files.json_file import json_object
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.wall import wall
from presage.checkpoints.tensor import Tensor


def read_index(index: ByteRange, folder: Folder, read: Callable[[ByteRange], Contents]) -> Contents:
    """The tensors of all shards, each opened by `read`; those of a shard that is not there or damaged are skipped."""
    tensors: dict[str, Tensor] = {}
    skipped: list[Skipped] = []
    for shard, names in shards_of(index).items():
        file = folder.file(shard)
        try:
            contents = _shard(folder, shard, file, read)
        except CheckpointError as error:
            skipped += [Skipped(name, error.reason) for name in names]
            continue
        reasons = dict(contents.skipped)
        for name in names:
            if name in contents.tensors:
                tensors[name] = contents.tensors[name]
            else:
                skipped.append(Skipped(name, reasons.get(name, f"its shard {quoted(shard)} does not hold it")))
        unlisted = (set(contents.tensors) | set(reasons)) - set(names)
        skipped += [Skipped(name, f"in shard {quoted(shard)}, and not in the index") for name in sorted(unlisted)]
    return Contents(tensors, tuple(skipped))


def _shard(folder: Folder, shard: str, file: ByteRange | None, read: Callable[[ByteRange], Contents]) -> Contents:
    if file is None:
        reason = f"its shard {quoted(shard)} is not in the folder"
        raise CheckpointError(folder.name, "have all its shards", reason, "Get that file too.")
    with wall(file.name):
        return read(file)


def shards_of(index: ByteRange) -> dict[str, list[str]]:
    """The names of the tensors of each shard."""
    found = json_object(index).get("weight_map")
    if not isinstance(found, dict) or not found or not all(isinstance(shard, str) for shard in found.values()):
        reason = "it has no weight_map that gives each tensor a file"
        raise CheckpointError(index.name, "be an index of shards", reason, "It is damaged: get it again.")
    shards: dict[str, list[str]] = {}
    for name, shard in found.items():
        shards.setdefault(shard, []).append(name)
    return shards
