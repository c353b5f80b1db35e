"""The kinds of files of weights, told by their first bytes, and by the suffix only where these say nothing."""

from __future__ import annotations

from enum import Enum

from presage.checkpoints.checkpoint_error import CheckpointError

HEAD = 16  # bytes that are looked at


class Kind(Enum):
    """A kind of file; the order is that of preference where a folder has the same weights in several."""

    SAFETENSORS = "safetensors"
    LEGACY = "PyTorch"
    ZIP = "zip"  # of PyTorch, of NumPy, or an archive with any of these inside
    GGUF = "GGUF"
    ONNX = "ONNX"
    NPY = "NumPy"
    INDEX = "index"


SUFFIXES = {
    ".index.json": Kind.INDEX,
    ".safetensors": Kind.SAFETENSORS,
    ".bin": Kind.LEGACY,
    ".pt": Kind.LEGACY,
    ".pth": Kind.LEGACY,
    ".ckpt": Kind.LEGACY,
    ".pkl": Kind.LEGACY,
    ".gguf": Kind.GGUF,
    ".onnx": Kind.ONNX,
    ".npz": Kind.ZIP,
    ".npy": Kind.NPY,
    ".zip": Kind.ZIP,
    ".whl": Kind.ZIP,
}
_ELSE = {  # what to do with kinds that are not read
    ".h5": "Keras: load it there and save its weights by numpy.savez or safetensors.numpy.save_file.",
    ".keras": "Keras: load it there and save its weights by numpy.savez or safetensors.numpy.save_file.",
    ".msgpack": "Flax: load it by flax.serialization.msgpack_restore and save it by safetensors.flax.save_file.",
    ".pb": "TensorFlow: export it by tf2onnx, or save its variables by numpy.savez.",
    ".tflite": "TensorFlow Lite: export it by tf2onnx.",
    "model.json": "TensorFlow.js: convert it by tensorflowjs_converter, then save its variables by numpy.savez.",
}
_HDF5 = b"\x89HDF\r\n\x1a\n"


def kind_of(head: bytes, name: str) -> Kind | None:
    """The kind of a file with these first bytes and this name, None where it is none."""
    suffix = next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), None)
    kind = kind_by_content(head)
    return SUFFIXES[suffix] if kind is None and suffix is not None and head[:8] != _HDF5 else kind


def kind_by_content(head: bytes) -> Kind | None:
    """The kind that the first bytes of a file alone tell; ONNX has none that would."""
    if head[:4] == b"GGUF":
        return Kind.GGUF
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return Kind.ZIP
    if head[:6] == b"\x93NUMPY":
        return Kind.NPY
    if head[4:9] == b"\0\0\0\0{":
        return Kind.SAFETENSORS
    if head[:1] == b"\x80" and head[1:2] in (b"\1", b"\2", b"\3", b"\4", b"\5"):
        return Kind.LEGACY
    return None


def unread(file: str, head: bytes) -> CheckpointError:
    """The error of a file that is of no kind, with what to do where it is a known one (returned, to be raised)."""
    name = ".h5" if head[:8] == _HDF5 else file.lower()
    must = "be safetensors, a PyTorch file, GGUF, ONNX, npz, an index of shards, or a wheel or zip with one of them"
    for suffix, advice in _ELSE.items():
        if name.endswith(suffix):
            owner, _, remedy = advice.partition(": ")
            return CheckpointError(file, must, f"files of {owner} are not read", remedy[0].upper() + remedy[1:])
    return CheckpointError(file, must, "neither its first bytes nor its name say which", "Convert it to safetensors.")
