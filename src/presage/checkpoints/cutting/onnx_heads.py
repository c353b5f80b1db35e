"""The heads of the attention of an ONNX graph."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.cut_heads import CutHeads, Layer, walled
from presage.checkpoints.cutting.head_counts import MOST_HEADS
from presage.checkpoints.cutting.onnx_attention import OnnxAttention, Traced, onnx_attention
from presage.checkpoints.cutting.onnx_graph import OnnxGraph
from presage.checkpoints.cutting.unusable_tensor import UnusableTensorError, finite
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
    cuts: dict[tuple[Any, ...], _Cut] = {}  # the same weights are reported once, and the later layers as aliases
    for layer, attention in kept:
        queries = _index(attention.query, heads, head_dim, "heads", checkpoint.name)
        keys = _index(attention.key, kv_heads, queries.shape[1], "kv_heads", checkpoint.name)
        if len(queries) % len(keys) or queries.shape[1] != keys.shape[1]:
            shapes = (
                f"{queries.shape[0]} query heads of {queries.shape[1]} and {keys.shape[0]} key heads of {keys.shape[1]}"
            )
            raise _contradiction(attention.query, shapes + " do not belong together", checkpoint.name)
        if len(queries) > MOST_HEADS:
            raise _contradiction(attention.query, f"there are more than {MOST_HEADS} heads", checkpoint.name)
        cut = cuts.setdefault(_identity(attention, queries, keys), _Cut(layer, attention, queries, keys, []))
        if cut.layer != layer:
            cut.shared.append(f"layer {layer}")
    readers = (walled(checkpoint.name, cut.attention.name, partial(_layer, graph, cut)) for cut in cuts.values())
    return CutHeads(sum(len(cut.queries) for cut in cuts.values()), skipped, tuple(readers))


class _Cut(NamedTuple):
    """An attention and the outputs of its heads."""

    layer: int
    attention: OnnxAttention
    queries: Index
    keys: Index
    shared: list[str]  # later layers of the same weights


def _identity(attention: OnnxAttention, queries: Index, keys: Index) -> tuple[Any, ...]:
    """What attentions of the same weights have in common."""
    indices = (part for index in (queries, keys) for part in (index.shape, index.tobytes()))
    sides = (attention.query.weight.identity, attention.key.weight.identity)
    return *sides, attention.query.bias, attention.is_cross, *indices


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


def _layer(graph: OnnxGraph, cut: _Cut) -> Layer:
    """Read and cut one attention."""
    attention, queries, keys = cut.attention, cut.queries, cut.keys
    try:
        W_Q, error_Q = attention.query.weight.read()
        same = attention.key.weight.identity == attention.query.weight.identity
        W_K, error_K = (W_Q, error_Q) if same else attention.key.weight.read()
        bias = _bias(graph, attention.query)
    except UnusableTensorError as bad:
        return Layer([], (bad.skipped,))
    share = len(queries) // len(keys)
    made = []
    for head, outputs in enumerate(queries):
        of_keys = keys[head // share]
        made.append(
            Head(
                cut.layer,
                head,
                "cross" if attention.is_cross else "self",
                np.ascontiguousarray(W_Q[:, outputs]),
                np.ascontiguousarray(W_K[:, of_keys]),
                _size(error_Q[:, outputs]),
                _size(error_K[:, of_keys]),
                dtype=attention.query.weight.tensor.dtype,
                b_Q=None if bias is None else bias[outputs],
                shared=tuple(cut.shared),
                notes=(_NOTE,),
            )
        )
    return Layer(made)


def _bias(graph: OnnxGraph, traced: Traced) -> NDArray[np.float64] | None:
    """What is added to all outputs of a projection, where something is."""
    numbers = graph.numbers(traced.bias) if traced.bias else None
    if numbers is None:
        return None
    outputs = traced.weight.shape[1]
    if numbers.size not in (1, outputs):
        raise UnusableTensorError(traced.bias, f"it has {numbers.size} numbers where {outputs} are needed")
    return np.broadcast_to(finite(traced.bias, numbers).astype(np.float64).ravel(), outputs)


def _size(error: NDArray[np.float64]) -> float:
    return float(np.sqrt(np.mean(error**2)))
