"""Reading one attention and cutting it into heads."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.cutting.attention import Attention
from presage.checkpoints.cutting.cut_heads import Layer
from presage.checkpoints.cutting.head_counts import HeadCounts
from presage.checkpoints.cutting.head_notes import head_notes, head_rotary
from presage.checkpoints.cutting.norm_gain import NormGain
from presage.checkpoints.cutting.rows_of_heads import key_rows, query_rows
from presage.checkpoints.cutting.unusable_tensor import UnusableTensorError, finite, read_numbers
from presage.checkpoints.head import Head
from presage.checkpoints.tensor import Numbers, Tensor

Gain = NDArray[np.float64] | None


class _Factor(NamedTuple):
    """One of the two factors of a head."""

    matrix: NDArray[Any]
    error: float


def cut_attention(attention: Attention, counts: HeadCounts, gain: NormGain | None) -> Layer:
    """The heads of one attention, with the gains of its norms folded in where they are given."""
    try:
        return Layer(_heads(attention, counts, gain))
    except UnusableTensorError as bad:
        return Layer([], (bad.skipped,))


def _heads(attention: Attention, counts: HeadCounts, gain: NormGain | None) -> list[Head]:
    layout, share = attention.family.layout, counts.heads // counts.kv_heads
    before = (None, None) if gain is None else gain.read()
    queries, keys = _matrices(attention, counts)
    rows = [query_rows(layout, head, counts) for head in range(counts.heads)]
    gains = _own_gains(attention, counts.heads, attention.naming.query_norm, counts.head_dim, gain)
    W_Q = [_factor(queries, rows[head], before[0], gains[head]) for head in range(counts.heads)]
    key_gains = _own_gains(attention, counts.kv_heads, attention.naming.key_norm, counts.head_dim, gain)
    of_keys = [key_rows(layout, group * share, counts) for group in range(counts.kv_heads)]
    W_K = [_factor(keys, of_keys[group], before[1], key_gains[group]) for group in range(counts.kv_heads)]
    for tensor, factors in ((attention.query, W_Q), (attention.key or attention.query, W_K)):
        for factor in factors:
            finite(tensor.name, factor.matrix)
    biases = _biases(attention, rows, gains)
    notes, rotary = head_notes(attention, counts, folded=gain is not None), head_rotary(attention, counts)
    return [
        Head(
            attention.layer,
            head,
            attention.naming.kind,
            W_Q[head].matrix,
            W_K[head // share].matrix,
            W_Q[head].error,
            W_K[head // share].error,
            part=attention.part,
            dtype=attention.query.dtype,
            b_Q=biases[head],
            rotary=rotary,
            shared=attention.shared,
            notes=notes,
        )
        for head in range(counts.heads)
    ]


def _matrices(attention: Attention, counts: HeadCounts) -> tuple[Numbers, Numbers]:
    """The matrices of queries and keys as (out, in); of [Q; K; V] the values are not read."""
    transposed = attention.family.transposed
    if attention.key is not None:
        return _matrix(attention.query, transposed), _matrix(attention.key, transposed)
    wanted = slice(0, (counts.heads + counts.kv_heads) * counts.head_dim)
    fused = _matrix(attention.query, transposed, wanted if attention.family.layout == "blocks" else None)
    return fused, fused


def _matrix(tensor: Tensor, transposed: bool, rows: slice | None = None) -> Numbers:
    """A matrix as (out, in). One that is stored the other way round is read whole, since its outputs are columns."""
    if not transposed:
        return read_numbers(tensor, rows)
    values, error = read_numbers(tensor)
    return Numbers(values.T, np.full(values.shape[1], np.sqrt(np.mean(error**2))))


def _factor(numbers: Numbers, rows: slice, before: Gain, own: Gain) -> _Factor:
    """A factor of a head: its stored rows, transposed, times the gains before (rows) and of its norm (columns)."""
    # A view in the precision of the file: all heads of a layer are in memory, and each is measured in double precision.
    matrix: NDArray[Any] = numbers.values[rows].T
    error = np.asarray(numbers.error[rows], dtype=np.float64)
    if own is not None:
        matrix, error = matrix * own, error * own
    size = float(np.sqrt(np.mean(error**2)))
    if before is None:
        return _Factor(matrix, size)
    return _Factor(matrix * before[:, None], size * float(np.sqrt(np.mean(before**2))))


def _biases(attention: Attention, rows: list[slice], gains: list[Gain]) -> list[Gain]:
    if attention.bias is None:
        return [None] * len(rows)
    outputs, shape = rows[-1].stop, attention.bias.shape
    if len(shape) != 1 or shape[0] < outputs:
        raise UnusableTensorError(attention.bias.name, f"its shape is {list(shape)} where {outputs} numbers are needed")
    values = finite(attention.bias.name, read_numbers(attention.bias).values).astype(np.float64)
    return [values[own] if gain is None else values[own] * gain for own, gain in zip(rows, gains, strict=True)]


def _own_gains(attention: Attention, count: int, norm: str, head_dim: int, gain: NormGain | None) -> list[Gain]:
    """The gains of q_norm or k_norm, an array a head, where they are folded in."""
    tensor = attention.beside(norm)
    if gain is None or tensor is None:
        return [None] * count
    values = finite(tensor.name, read_numbers(tensor).values).astype(np.float64) + (1.0 if gain.plus_one else 0.0)
    if values.size not in (head_dim, count * head_dim):
        raise UnusableTensorError(tensor.name, f"its {values.size} gains are not those of {count} heads of {head_dim}")
    own = values.reshape(-1, head_dim)
    return [own[head % len(own)] for head in range(count)]
