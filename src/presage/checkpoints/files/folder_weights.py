"""The weights of a folder, on disk or inside an archive: which of its files they are in."""

from __future__ import annotations

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.folder import Folder
from presage.checkpoints.files.index_file import shards_of
from presage.checkpoints.files.kind import HEAD, kind_by_content, unread
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.weight_file import read_weight_file

INDEX = ".index.json"
_PREFERENCE = (  # a folder often has the same weights in several formats: the first of these is read
    (".safetensors",),
    (".bin", ".pt", ".pth", ".ckpt"),
    (".gguf",),
    (".onnx",),
    (".npz", ".npy"),
)
_SUFFIXES = tuple(suffix for suffixes in _PREFERENCE for suffix in suffixes)
_COMPANIONS = ("training_args.", "optimizer.", "scheduler.", "scaler.", "rng_state")  # of trainers, without weights
_MOST_LISTED = 20


def weight_names(folder: Folder) -> list[str]:
    """Names of the files in a folder that hold weights, and of their indices."""
    names = filter(is_called_weights, folder.names())
    # Files of all sorts are called .bin.
    return [name for name in names if not name.lower().endswith(".bin") or kind_by_content(folder.head(name, HEAD))]


def is_called_weights(name: str) -> bool:
    """Whether a file of this name can be one of weights, or an index of them."""
    return name.lower().endswith((INDEX, *_SUFFIXES)) and not name.startswith(_COMPANIONS)


def read_folder(folder: Folder) -> Contents:
    """The weights of a folder: those of its index, or else of all its files of the preferred kind."""
    names = weight_names(folder)
    if not names:
        raise no_weights(folder, folder.names())
    indices = [name for name in names if name.lower().endswith(INDEX)]
    chosen = [min(indices, key=_preference)] if indices else _preferred(names)
    read = [(name, read_named(folder, name)) for name in chosen]
    tensors = {name: tensor for _, contents in read for name, tensor in contents.tensors.items()}
    graphs = [contents.graph for _, contents in read if contents.graph is not None]
    if len(tensors) < sum(len(contents.tensors) for _, contents in read) or len(graphs) > 1:
        raise several(folder.name, "its files name the same tensors", chosen)
    skipped = [row for _, contents in read for row in contents.skipped]
    shards = [shard for name in indices for shard in _listed(folder, name)] if indices else []
    beside = sorted(set(names) - set(chosen) - set(shards))
    skipped += [Skipped(name, f"not read: the weights were read from {', '.join(chosen[:3])}") for name in beside]
    config = {key: value for _, contents in reversed(read) for key, value in contents.config.items()}
    return Contents(tensors, tuple(skipped), config, graphs[0] if graphs else None)


def read_named(folder: Folder, name: str) -> Contents:
    """The weights of one file of a folder."""
    file = folder.file(name)
    if file is None:
        reason = f"it has no file {quoted(name)}"
        raise CheckpointError(folder.name, "have the file that is asked for", reason, "Check the name.")
    return read_weight_file(file, folder)


def no_weights(folder: Folder, names: list[str]) -> CheckpointError:
    """The error of a folder without weights (returned, so that the caller raises it)."""
    for name in names:
        known = unread(name, b"")
        if known.reason.startswith("files of"):
            return CheckpointError(f"{folder.name}/{name}", known.must, known.reason, known.remedy)
    reason = f"none of its {len(names)} files is one of weights"
    return CheckpointError(folder.name, "hold weights", reason, "Give the path of the file of weights itself.")


def several(file: str, reason: str, names: list[str]) -> CheckpointError:
    """The error where one of several files has to be named (returned, so that the caller raises it)."""
    listed = ", ".join(names[:_MOST_LISTED]) + (", ..." if len(names) > _MOST_LISTED else "")
    remedy = f"Name one of them by <member>: {listed}."
    return CheckpointError(file, "hold one model, or say which", reason, remedy)


def _preference(name: str) -> int:
    stem = name.lower().removesuffix(INDEX)
    return next((rank for rank, suffixes in enumerate(_PREFERENCE) if stem.endswith(suffixes)), len(_PREFERENCE))


def _preferred(names: list[str]) -> list[str]:
    best = min(map(_preference, names))
    return [name for name in names if _preference(name) == best]


def _listed(folder: Folder, index: str) -> list[str]:
    file = folder.file(index)
    return [] if file is None else list(shards_of(file))
