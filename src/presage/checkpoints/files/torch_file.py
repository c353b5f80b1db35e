"""Files of PyTorch (.bin, .pt, .pth): the tensors that their pickle names, at their places in the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.nested import nested
from presage.checkpoints.files.storage_type import STORAGE_TYPES
from presage.checkpoints.files.stored_tensor import stored_tensor
from presage.checkpoints.files.torch_names import RefusedPickleError, TorchStorage, TorchTensor
from presage.checkpoints.tensor import Tensor

_OTHER_SIZES = {None: 1, "C64": 8, "C128": 16}
Place = Callable[[TorchStorage], ByteRange]


def torch_contents(saved: Any, place: Place) -> Contents:
    """The tensors of a saved object, at whatever depth, whose storages `place` finds. Other leaves are no weights."""
    tensors: dict[str, Tensor] = {}
    skipped = []
    for name, leaf in nested(saved):
        if not isinstance(leaf, TorchTensor):
            continue
        try:
            if name in tensors:
                raise ValueError("another tensor has the same name")
            tensors[name] = _tensor(name, leaf, place)
        except ValueError as error:
            skipped.append(Skipped(name, error.reason if isinstance(error, CheckpointError) else str(error)))
    return Contents(tensors, tuple(skipped))


def _tensor(name: str, view: TorchTensor, place: Place) -> Tensor:
    kind = STORAGE_TYPES.get(view.kind)
    if kind is None:
        raise ValueError(f"its type of number {view.kind} is none that weights are read in")
    return stored_tensor(name, place(view.storage), kind, view.shape, view.strides, view.offset)


def number_size(storage: TorchStorage) -> int:
    """Bytes of one of the numbers that a storage counts."""
    return STORAGE_TYPES[storage.kind].size if storage.kind in STORAGE_TYPES else _OTHER_SIZES[storage.kind]


def refused(file: str, error: RefusedPickleError) -> CheckpointError:
    """The error of a file whose pickle is refused (returned, so that the caller raises it)."""
    remedy = "Save the state_dict alone, best by safetensors.torch.save_file; nothing of this file was run."
    return CheckpointError(file, "be a file of tensors and nothing else", str(error), remedy)


def big_endian(file: str) -> CheckpointError:
    """The error of a file that was written with the other order of bytes (returned, so that the caller raises it)."""
    reason = "its numbers are big-endian, and only little-endian files are read"
    return CheckpointError(file, "be little-endian", reason, "Load it in PyTorch and save it again.")
