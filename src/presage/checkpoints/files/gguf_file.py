"""GGUF files, quantised or not; the package gguf knows how blocks of small integers are decoded."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.file_tensor import file_tensor
from presage.checkpoints.files.gguf_header import GgufTensor, read_gguf_header
from presage.checkpoints.files.gguf_steps import block_rounding
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.storage_type import STORAGE_TYPES
from presage.checkpoints.files.stored_tensor import stored_tensor
from presage.checkpoints.tensor import Numbers, Tensor
from presage.protocol import extras

_CHUNK = 2**20  # numbers that are decoded at a time
_CONFIG = {  # keys of Hugging Face's config.json, and of the fields that say the same
    "num_attention_heads": "attention.head_count",
    "num_key_value_heads": "attention.head_count_kv",
    "head_dim": "attention.key_length",
    "hidden_size": "embedding_length",
    "num_hidden_layers": "block_count",
    "rotary_dim": "rope.dimension_count",
}
_A_LAYER = ("num_attention_heads", "num_key_value_heads", "head_dim")  # which may be one number for each layer


def read_gguf(file: ByteRange) -> Contents:
    """The tensors of a GGUF file with shapes (out, in), and its fields under the names of config.json."""
    extras.must_be_installed("file", file.name, "gguf", "checkpoints", "GGUF is decoded by the package gguf")
    header = read_gguf_header(file)
    tensors: dict[str, Tensor] = {}
    config, skipped = _config(header.fields)
    for entry in header.tensors:
        try:
            if entry.name in tensors:
                raise ValueError("another tensor has the same name")
            tensors[entry.name] = _tensor(entry, header.data)
        except (ValueError, NotImplementedError) as error:
            reason = error.reason if isinstance(error, CheckpointError) else str(error)
            skipped.append(Skipped(entry.name, reason))
    return Contents(tensors, tuple(skipped), config)


def _config(fields: dict[str, Any]) -> tuple[dict[str, Any], list[Skipped]]:
    architecture = fields.get("general.architecture")
    if not isinstance(architecture, str):
        return {}, [Skipped("general.architecture", "the file does not say which model it is")]
    config: dict[str, Any] = {"model_type": architecture}
    skipped = []
    for key, field in _CONFIG.items():
        value = fields.get(f"{architecture}.{field}")
        if isinstance(value, list) and value and all(one == value[0] for one in value):
            value = value[0]  # one number a layer, the same in each
        if type(value) is int or (key in _A_LAYER and _is_counts(value)):
            config[key] = value
        elif value is not None:
            skipped.append(Skipped(f"{architecture}.{field}", f"{quoted(value)} is not one number for all layers"))
    return config, skipped


def _is_counts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(type(one) is int for one in value)


def _tensor(entry: GgufTensor, data: ByteRange) -> Tensor:
    from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

    kind = GGMLQuantizationType(entry.kind)
    if kind not in GGML_QUANT_SIZES:
        raise ValueError(f"the size of its type {kind.name} is not known")
    block, size = GGML_QUANT_SIZES[kind]
    count = math.prod(entry.shape)
    width = entry.shape[-1] if entry.shape else 1
    if width % block:
        raise ValueError(f"its rows of {width} numbers are not made of blocks of {block}")
    storage = data.part(entry.offset, count // block * size)
    if kind.name in STORAGE_TYPES:
        return stored_tensor(entry.name, storage, STORAGE_TYPES[kind.name], entry.shape)
    return _quantised(entry, storage, kind, block, size)


def _quantised(entry: GgufTensor, storage: ByteRange, kind: Any, block: int, size: int) -> Tensor:
    from gguf.quants import dequantize

    shape = entry.shape
    # The rows of a vector are single numbers, and blocks go across them: its blocks are read as rows.
    rows, width = (shape[0], math.prod(shape[1:])) if len(shape) > 1 else (math.prod(shape) // block, block)
    row_size = width // block * size

    def decode(content: NDArray[np.uint8]) -> NDArray[np.float32]:
        with np.errstate(all="ignore"):  # a damaged block has any scale
            return np.asarray(dequantize(content, kind))

    def read_rows(first: int, last: int) -> Numbers:
        values, error = np.empty((last - first, width), np.float32), np.empty(last - first)
        step = max(1, _CHUNK // max(1, width))
        for begin in range(first, last, step):
            end = min(begin + step, last)
            content = storage.read(begin * row_size, (end - begin) * row_size)
            coded = np.frombuffer(content, np.uint8).reshape(end - begin, row_size)
            part = slice(begin - first, end - first)
            values[part] = decode(coded)
            error[part] = block_rounding(coded, values[part], kind.name, size, decode)
        return Numbers(values, error)

    def read(first: int, last: int) -> Numbers:
        if math.prod(shape) == 0:
            return Numbers(np.zeros((last - first, *shape[1:]), np.float32), np.zeros(last - first))
        if len(shape) > 1:
            values, error = read_rows(first, last)
            return Numbers(values.reshape(last - first, *shape[1:]), error)
        values, error = read_rows(0, rows)
        return Numbers(values.reshape(shape)[first:last], np.repeat(error, block)[first:last])

    decode(np.zeros((1, size), np.uint8))  # a type that cannot be decoded is told now
    return file_tensor(storage.name, entry.name, shape, kind.name, read)
