"""One file of weights, whatever its kind."""

from __future__ import annotations

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.archive import Archive
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.folder import Folder
from presage.checkpoints.files.gguf_file import read_gguf
from presage.checkpoints.files.index_file import read_index
from presage.checkpoints.files.kind import HEAD, Kind, kind_of, unread
from presage.checkpoints.files.npz_file import is_npz, read_npy, read_npz
from presage.checkpoints.files.onnx_file import read_onnx
from presage.checkpoints.files.safetensors_file import read_safetensors
from presage.checkpoints.files.torch_legacy import read_torch_legacy
from presage.checkpoints.files.torch_zip import read_torch_zip, torch_folder


def read_weight_file(file: ByteRange, folder: Folder) -> Contents:
    """What a file or an index of shards holds; `folder` is where the other files of it lie."""
    if kind_of(file.head(HEAD), file.name) is Kind.INDEX:
        return read_index(file, folder, lambda shard: _read_single(shard, folder))
    return _read_single(file, folder)


def is_plain_archive(archive: Archive) -> bool:
    """Whether an archive is neither one that PyTorch wrote nor one of NumPy's."""
    return torch_folder(archive.names) is None and not is_npz(archive.names)


def _read_single(file: ByteRange, folder: Folder) -> Contents:
    head = file.head(HEAD)
    match kind_of(head, file.name):
        case Kind.SAFETENSORS:
            return read_safetensors(file)
        case Kind.LEGACY:
            return read_torch_legacy(file)
        case Kind.GGUF:
            return read_gguf(file)
        case Kind.ONNX:
            return read_onnx(file, folder)
        case Kind.NPY:
            return read_npy(file)
        case Kind.ZIP:
            return _read_zip(Archive(file))
        case _:
            raise unread(file.name, head)


def _read_zip(archive: Archive) -> Contents:
    if torch_folder(archive.names) is not None:
        return read_torch_zip(archive)
    if is_npz(archive.names):
        return read_npz(archive)
    reason = "it is an archive inside of an archive, or among the shards of a model"
    raise CheckpointError(archive.file.name, "be a file of weights", reason, "Unpack it, and give what is in it.")
