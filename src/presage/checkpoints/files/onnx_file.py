"""ONNX files: the constant tensors of the graph, and the graph itself; the package onnx parses them."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from typing import Any

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.array_tensor import array_tensor
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.file_tensor import file_tensor
from presage.checkpoints.files.folder import Folder
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.storage_type import STORAGE_TYPES
from presage.checkpoints.files.stored_tensor import stored_tensor
from presage.checkpoints.tensor import Numbers, Tensor
from presage.protocol import extras

LARGEST = 2**31  # bytes of a message of protobuf
_NAMES = {
    "FLOAT": "F32",
    "DOUBLE": "F64",
    "FLOAT16": "F16",
    "BFLOAT16": "BF16",
    "FLOAT8E4M3FN": "F8_E4M3",
    "FLOAT8E5M2": "F8_E5M2",
    "FLOAT8E8M0": "F8_E8M0",
    "INT4": "I4",
    "UINT4": "U4",
    "INT8": "I8",
    "UINT8": "U8",
    "INT16": "I16",
    "UINT16": "U16",
    "INT32": "I32",
    "UINT32": "U32",
    "INT64": "I64",
    "UINT64": "U64",
    "BOOL": "BOOL",
}
_CONFIG = ("num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size", "num_hidden_layers")


def read_onnx(file: ByteRange, folder: Folder) -> Contents:
    """The initialisers and constants of an ONNX model as stored (integers are not scaled), and its graph.

    Numbers that are kept outside of the model are read from a file of a plain name in its own folder, and no other.
    """
    extras.must_be_installed("file", file.name, "onnx", "checkpoints", "ONNX is parsed by the package onnx")
    import onnx

    if file.size >= LARGEST:
        reason = f"it has {file.size} bytes, more than a message of protobuf can have"
        raise CheckpointError(file.name, "be an ONNX file", reason, "Save it with external data.")
    model = onnx.load_model_from_string(file.read(0, file.size))
    tensors: dict[str, Tensor] = {}
    skipped = _not_looked_at(model)
    for name, proto in _constants(model.graph):
        try:
            if not isinstance(name, str) or not name or name in tensors:  # protobuf gives what is no text as bytes
                raise ValueError("it has no name, or that of another tensor")
            tensors[name] = _tensor(file, folder, name, proto)
        except (ValueError, TypeError) as error:
            skipped.append(Skipped(str(name), error.reason if isinstance(error, CheckpointError) else str(error)))
    return Contents(tensors, tuple(skipped), _config(model), model.graph)


def _constants(graph: Any) -> Iterator[tuple[str, Any]]:
    for proto in graph.initializer:
        yield proto.name, proto
    for node in graph.node:
        if node.op_type == "Constant" and node.output:
            for attribute in node.attribute:
                if attribute.name == "value":
                    yield node.output[0], attribute.t


def _not_looked_at(model: Any) -> list[Skipped]:
    skipped = [Skipped(sparse.values.name, "a sparse tensor") for sparse in model.graph.sparse_initializer]
    for node in model.graph.node:
        if any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute):
            name = node.name or ", ".join(node.output)
            skipped.append(Skipped(name, f"the graphs inside of a node {quoted(node.op_type)} are not looked at"))
    return skipped + [Skipped(function.name, "a function of the model's own") for function in model.functions]


def _config(model: Any) -> dict[str, Any]:
    said = {entry.key: entry.value for entry in model.metadata_props}
    config: dict[str, Any] = {key: int(said[key]) for key in _CONFIG if said.get(key, "").isdecimal()}
    return {**config, **({"model_type": said["model_type"]} if "model_type" in said else {})}


def _tensor(file: ByteRange, folder: Folder, name: str, proto: Any) -> Tensor:
    import onnx

    known = {number: _NAMES.get(word) for word, number in onnx.TensorProto.DataType.items()}
    dtype = known.get(proto.data_type)
    if dtype is None:
        raise ValueError(f"its type of number {proto.data_type} is none that weights are read in")
    external = proto.data_location == onnx.TensorProto.EXTERNAL
    if dtype not in STORAGE_TYPES or not (external or proto.HasField("raw_data")):
        if external:
            raise ValueError(f"numbers of {dtype} outside of the model are not read")
        return _listed(file, name, proto, dtype)
    kind = STORAGE_TYPES[dtype]
    shape = tuple(proto.dims)
    storage = _external(folder, proto) if external else _inside(file, proto)
    if any(length < 0 for length in shape) or math.prod(shape) * kind.size != storage.size:
        raise ValueError(f"shape {shape} of {dtype} does not fill its {storage.size} bytes")
    return stored_tensor(name, storage, kind, shape)


def _inside(file: ByteRange, proto: Any) -> ByteRange:
    return ByteRange(file.name, 0, len(proto.raw_data), lambda: io.BytesIO(proto.raw_data))


def _external(folder: Folder, proto: Any) -> ByteRange:
    entry = {pair.key: pair.value for pair in proto.external_data}
    location = entry.get("location", "")
    if "/" in location:
        raise ValueError(f"its numbers are in {quoted(location)}, which is no plain name of a file beside the model")
    file = folder.file(location)
    if file is None:
        raise ValueError(f"its numbers are in {quoted(location)}, which is not beside the model")
    begin = int(entry.get("offset", 0))
    return file.part(begin, int(entry.get("length", file.size - begin)))


def _listed(file: ByteRange, name: str, proto: Any, dtype: str) -> Tensor:
    """A tensor whose numbers the message lists one by one, or packs two in a byte."""
    from onnx import numpy_helper

    shape = tuple(proto.dims)
    if any(length < 0 for length in shape):
        raise ValueError(f"its shape is {shape}")

    def read(first: int, last: int) -> Numbers:
        whole = array_tensor(file.name, name, numpy_helper.to_array(proto))
        return whole.read(slice(first, last) if shape else None)

    return file_tensor(file.name, name, shape, dtype, read)
