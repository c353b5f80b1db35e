"""The heads of the attention of an ONNX graph."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.cut_heads import CutHeads, Layer
from presage.checkpoints.cutting.onnx_attention import OnnxAttention, Traced, onnx_attention
from presage.checkpoints.cutting.onnx_graph import OnnxGraph
from presage.checkpoints.cutting.unusable_tensor import UnusableTensorError
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.head import Head

Index = NDArray[np.intp]  # heads x outputs of each
_NOTE = "Scales, masks and positions between the product and the softmax are not in M."


def onnx_heads(
    checkpoint: Checkpoint, *, heads: int | None, kv_heads: int | None, head_dim: int | None, only: str | None
) -> CutHeads:
    """The heads of a graph, layers in the order of its nodes. Its Reshapes tell how many, or they are asked for."""
    graph = OnnxGraph(checkpoint)
    found, skipped = onnx_attention(graph)
    kept = [(layer, each) for layer, each in enumerate(found) if only is None or _has(each, only)]
    if found and not kept:
        names = ", ".join(quoted(each.name) for each in found[:5])
        raise CheckpointError(
            checkpoint.name,
            f"have attention with {only!r} in its names",
            f"none has it between dots or slashes; there is attention at {names}",
            "Give an <only=...> that is a part of such a name.",
        )
    readers, count = [], 0
    for layer, attention in kept:
        queries = _index(attention.query, heads, head_dim, "heads", checkpoint.name)
        keys = _index(attention.key, kv_heads, queries.shape[1], "kv_heads", checkpoint.name)
        if len(queries) % len(keys) or queries.shape[1] != keys.shape[1]:
            shapes = (
                f"{queries.shape[0]} query heads of {queries.shape[1]} and {keys.shape[0]} key heads of {keys.shape[1]}"
            )
            raise _contradiction(attention.query, shapes + " do not belong together", checkpoint.name)
        readers.append(partial(_layer, graph, layer, attention, queries, keys))
        count += len(queries)
    return CutHeads(count, skipped, tuple(readers))


def _has(attention: OnnxAttention, only: str) -> bool:
    names = (attention.name, attention.query.weight.tensor.name, attention.key.weight.tensor.name)
    return any(f".{only.strip('.')}." in f".{name.replace('/', '.')}." for name in names)


def _index(traced: Traced, count: int | None, size: int | None, argument: str, file: str) -> Index:
    """Which outputs of a projection are those of each head."""
    index = traced.features.heads()
    outputs = index.size
    if index.ndim == 1:
        number = count or (outputs // size if size else None)
        if number is None:
            raise CheckpointError(
                file,
                "tell the number of query heads",
                f"no Reshape of the graph says how {outputs} outputs of {quoted(traced.weight.tensor.name)} are shared",
                f"Give <{argument}=...>, the number of heads.",
            )
        index = index.reshape(number, -1) if outputs % number == 0 else index
    if index.ndim != 2 or index.shape[0] != (count or index.shape[0]) or index.shape[1] != (size or index.shape[1]):
        shape = " x ".join(str(each) for each in index.shape)
        raise _contradiction(traced, f"the graph shares {outputs} outputs as {shape}", file)
    return index


def _contradiction(traced: Traced, reason: str, file: str) -> CheckpointError:
    return CheckpointError(
        file,
        "have attention of the shape that its numbers of heads ask for",
        f"at {quoted(traced.weight.tensor.name)} of shape {list(traced.weight.tensor.shape)}, {reason}",
        "Leave <heads>, <kv_heads> and <head_dim> out, or give those of the graph.",
    )


def _layer(graph: OnnxGraph, layer: int, attention: OnnxAttention, queries: Index, keys: Index) -> Layer:
    """Read and cut one attention."""
    try:
        W_Q, error_Q = attention.query.weight.read()
        same = attention.key.weight.tensor is attention.query.weight.tensor
        W_K, error_K = (W_Q, error_Q) if same else attention.key.weight.read()
    except UnusableTensorError as bad:
        return Layer([], (bad.skipped,))
    bias = graph.numbers(attention.query.bias) if attention.query.bias else None
    share = len(queries) // len(keys)
    made = []
    for head, outputs in enumerate(queries):
        of_keys = keys[head // share]
        made.append(
            Head(
                layer,
                head,
                "cross" if attention.is_cross else "self",
                np.ascontiguousarray(W_Q[:, outputs]),
                np.ascontiguousarray(W_K[:, of_keys]),
                _size(error_Q[:, outputs]),
                _size(error_K[:, of_keys]),
                dtype=attention.query.weight.tensor.dtype,
                b_Q=None if bias is None else bias.ravel()[outputs],
                notes=(_NOTE,),
            )
        )
    return Layer(made)


def _size(error: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(error**2)))
