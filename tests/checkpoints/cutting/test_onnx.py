"""Heads of ONNX graphs: the nodes alone tell queries from keys, and heads from each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.heads_of import heads_of
from tests.checkpoints.cutting.graphs import Graph

H, SIZE, WIDTH = 4, 5, 12
OUT = H * SIZE


def matrix(seed: int, columns: int = OUT, rows: int = WIDTH) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(np.float32)


W_Q, W_K, W_V = (matrix(seed) for seed in range(3))
FUSED = np.hstack([W_Q, W_K, W_V])


def cut(checkpoint, **arguments):
    found = heads_of(checkpoint, **arguments)
    heads = [head for layer in found.layers for head in layer.heads]
    assert found.count == len(heads)
    return heads


def must_be(heads, queries, keys, key_heads: int = H) -> None:
    """Heads of (in, out) matrices whose outputs lie head after head."""
    assert len(heads) == H
    for head in heads:
        key = head.head // (H // key_heads)
        np.testing.assert_array_equal(head.W_Q, queries[:, head.head * SIZE : (head.head + 1) * SIZE])
        np.testing.assert_array_equal(head.W_K, keys[:, key * SIZE : (key + 1) * SIZE])


def plain(graph: Graph, W: np.ndarray, source: str = "x") -> str:
    """x W + b as heads."""
    product = graph.node("MatMul", source, graph.constant(W))
    bias = graph.constant(np.arange(W.shape[1], dtype=np.float32))
    return graph.heads(graph.node("Add", bias, product), W.shape[1] // SIZE, SIZE)


def test_queries_and_keys_of_two_matrices(tmp_path):
    graph = Graph()
    graph.attention(plain(graph, W_Q), plain(graph, W_K))
    heads = cut(graph.opened(tmp_path))
    must_be(heads, W_Q, W_K)
    assert {head.kind for head in heads} == {"self"}
    np.testing.assert_array_equal([head.b_Q for head in heads], np.arange(OUT).reshape(H, SIZE))


def test_the_left_factor_is_the_queries(tmp_path):
    graph = Graph()
    keys, queries = plain(graph, W_K), plain(graph, W_Q)
    graph.attention(queries, keys)
    must_be(cut(graph.opened(tmp_path)), W_Q, W_K)


def test_queries_and_keys_of_different_values_are_cross_attention(tmp_path):
    graph, wide = Graph(), matrix(7, OUT, 30)
    graph.attention(plain(graph, W_Q), plain(graph, wide, "other"))
    heads = cut(graph.opened(tmp_path))
    must_be(heads, W_Q, wide)
    assert {head.kind for head in heads} == {"cross"}


def test_queries_that_share_keys(tmp_path):
    graph = Graph()
    keys = plain(graph, W_K[:, : 2 * SIZE])
    repeated = graph.node("Expand", graph.node("Unsqueeze", keys, graph.constant(np.array([2]))), graph.constant([1]))
    graph.attention(plain(graph, W_Q), graph.reshaped(repeated, [0, H, -1, SIZE]))
    must_be(cut(graph.opened(tmp_path)), W_Q, W_K, key_heads=2)


@pytest.mark.parametrize("turned", [0, 1])
def test_a_gemm_whose_matrix_is_turned_or_not(tmp_path, turned):
    graph = Graph()

    def gemm(W: np.ndarray) -> str:
        weight, bias = graph.constant(W.T if turned else W), graph.constant(np.arange(OUT, dtype=np.float32))
        return graph.heads(graph.node("Gemm", "x", weight, bias, transB=turned), H, SIZE)

    graph.attention(gemm(W_Q), gemm(W_K))
    heads = cut(graph.opened(tmp_path))
    must_be(heads, W_Q, W_K)
    np.testing.assert_array_equal([head.b_Q for head in heads], np.arange(OUT).reshape(H, SIZE))


def test_a_matrix_that_the_graph_turns(tmp_path):
    graph = Graph()

    def turned(W: np.ndarray) -> str:
        weight = graph.node("Transpose", graph.constant(W.T), perm=[1, 0])
        return graph.heads(graph.node("MatMul", "x", weight), H, SIZE)

    graph.attention(turned(W_Q), turned(W_K))
    must_be(cut(graph.opened(tmp_path)), W_Q, W_K)


@pytest.mark.parametrize("sizes", [None, [OUT, OUT, OUT]])
def test_one_matrix_that_is_split(tmp_path, sizes):
    graph = Graph()
    fused = graph.node("MatMul", "x", graph.constant(FUSED))
    split = () if sizes is None else (graph.constant(np.array(sizes)),)
    more: dict[str, Any] = {"num_outputs": 3} if sizes is None else {}
    queries, keys, _ = graph.node("Split", fused, *split, outputs=3, axis=-1, **more)
    graph.attention(graph.heads(queries, H, SIZE), graph.heads(keys, H, SIZE))
    must_be(cut(graph.opened(tmp_path)), W_Q, W_K)


def test_one_matrix_that_is_sliced(tmp_path):
    graph = Graph()
    fused = graph.node("MatMul", "x", graph.constant(FUSED))

    def part(start: int) -> str:
        limits = (graph.constant(np.array([place])) for place in (start * OUT, (start + 1) * OUT, 2))
        return graph.heads(graph.node("Slice", fused, *limits), H, SIZE)

    graph.attention(part(0), part(1))
    must_be(cut(graph.opened(tmp_path)), W_Q, W_K)


def test_one_matrix_whose_outputs_are_gathered(tmp_path):
    """As timm writes it: (batch, time, 3, heads, size) turned to (3, batch, heads, time, size)."""
    graph = Graph()
    fused = graph.node("MatMul", "x", graph.constant(FUSED))
    turned = graph.node("Transpose", graph.reshaped(fused, [0, -1, 3, H, SIZE]), perm=[2, 0, 3, 1, 4])
    queries, keys = (graph.node("Gather", turned, graph.constant(np.int64(place)), axis=0) for place in range(2))
    graph.attention(queries, keys)
    must_be(cut(graph.opened(tmp_path)), W_Q, W_K)


def test_one_matrix_with_the_parts_of_each_head_together(tmp_path):
    """As GPT-NeoX writes it: (batch, time, heads, 3 size), of which slices are taken."""
    parts = [W.reshape(WIDTH, H, SIZE) for W in (W_Q, W_K, W_V)]
    graph = Graph()
    fused = graph.node("MatMul", "x", graph.constant(np.concatenate(parts, axis=2).reshape(WIDTH, -1)))
    shared = graph.reshaped(fused, [0, 0, H, 3 * SIZE])

    def part(start: int) -> str:
        limits = (graph.constant(np.array([place])) for place in (start * SIZE, (start + 1) * SIZE, 3))
        return graph.node("Transpose", graph.node("Slice", shared, *limits), perm=[0, 2, 1, 3])

    graph.attention(part(0), part(1))
    must_be(cut(graph.opened(tmp_path)), W_Q, W_K)


def test_rotary_positions_do_not_hide_the_matrices(tmp_path):
    """x cos + (-second half, first half) sin has two ways back."""
    graph = Graph()
    first, second = matrix(3, 4 * 6), matrix(4, 4 * 6)

    def rotated(W: np.ndarray) -> str:
        value = graph.heads(graph.node("MatMul", "x", graph.constant(W)), 4, 6)
        halves = []
        for start, end in ((3, 6), (0, 3)):
            limits = (graph.constant(np.array([place])) for place in (start, end, 3))
            halves.append(graph.node("Slice", value, *limits))
        swapped = graph.node("Concat", graph.node("Neg", halves[0]), halves[1], axis=-1)
        return graph.node("Add", graph.node("Mul", value, "mask"), graph.node("Mul", swapped, "other"))

    graph.attention(rotated(first), rotated(second))
    heads = cut(graph.opened(tmp_path))
    assert len(heads) == 4
    for head in heads:
        np.testing.assert_array_equal(head.W_Q, first[:, head.head * 6 : (head.head + 1) * 6])
        np.testing.assert_array_equal(head.W_K, second[:, head.head * 6 : (head.head + 1) * 6])


def coded(W: np.ndarray, axis: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole numbers of eight bits, scales and zeros: one of each, or one a slice along an axis."""
    high = np.abs(W).max() if axis is None else np.abs(W).max(axis=1 - axis)
    scale = np.asarray(high / 100.0, dtype=np.float32)
    zero = np.full(scale.shape, 7, dtype=np.int8)
    along = scale if axis is None else np.expand_dims(scale, 1 - axis)
    return np.clip(np.round(W / along) + 7, -128, 127).astype(np.int8), scale, zero


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("turned", [False, True])
def test_whole_numbers_are_scaled_back(tmp_path, axis, turned):
    graph, expected, scales = Graph(), [], []

    def quantised(W: np.ndarray) -> str:
        whole, scale, zero = coded(W.T if turned else W, axis)
        along = scale if axis is None else np.expand_dims(scale, 1 - axis)
        back = np.asarray(along, dtype=np.float64) * (whole.astype(np.float64) - 7.0)
        expected.append(back.T if turned else back)
        scales.append(np.broadcast_to(along, whole.shape).T if turned else np.broadcast_to(along, whole.shape))
        more = {} if axis is None else {"axis": axis}
        weight = graph.node("DequantizeLinear", *(graph.constant(part) for part in (whole, scale, zero)), **more)
        weight = graph.node("Transpose", weight, perm=[1, 0]) if turned else weight
        return graph.heads(graph.node("MatMul", "x", weight), H, SIZE)

    graph.attention(quantised(W_Q), quantised(W_K))
    heads = cut(graph.opened(tmp_path))
    must_be(heads, expected[0], expected[1])
    np.testing.assert_allclose(expected[0], W_Q, atol=0.51 * float(np.max(scales[0])))
    for head in heads:
        own = scales[0][:, head.head * SIZE : (head.head + 1) * SIZE].astype(np.float64)
        assert head.error_Q == pytest.approx(np.sqrt(np.mean(own**2) / 12.0), rel=1e-12)
        assert head.dtype == "I8"


def test_a_product_of_whole_numbers(tmp_path):
    """As dynamic quantisation writes it: the scale of the matrix comes after the product."""
    graph, expected = Graph(), []
    small, scale_x, zero_x = graph.node("DynamicQuantizeLinear", "x", outputs=3)

    def product(W: np.ndarray) -> str:
        whole, scale, zero = coded(W, None)
        expected.append(float(scale) * (whole.astype(np.float64) - 7.0))
        value = graph.node("MatMulInteger", small, graph.constant(whole), zero_x, graph.constant(zero))
        both = graph.node("Mul", scale_x, graph.constant(scale))
        return graph.heads(graph.node("Mul", graph.node("Cast", value, to=1), both), H, SIZE)

    graph.attention(product(W_Q), product(W_K))
    heads = cut(graph.opened(tmp_path))
    must_be(heads, expected[0], expected[1])
    assert {head.kind for head in heads} == {"self"}


def test_the_softmax_of_a_classifier_is_not_attention(tmp_path):
    graph = Graph()
    graph.attention(plain(graph, W_Q), plain(graph, W_K), name="attention")
    logits = graph.node("Gemm", "attention", graph.constant(matrix(5, 10, 6)), graph.constant(np.zeros(10, np.float32)))
    graph.node("Softmax", logits, name="classes")
    checkpoint = graph.opened(tmp_path)
    assert len(cut(checkpoint)) == H
    assert heads_of(checkpoint).skipped == ()


def test_a_classifier_alone_has_no_attention(tmp_path):
    graph = Graph()
    graph.node("Softmax", graph.node("MatMul", "x", graph.constant(W_Q)))
    with pytest.raises(CheckpointError, match="no Softmax of its graph follows a product of two values"):
        heads_of(graph.opened(tmp_path))


def test_layers_come_in_the_order_of_the_nodes_and_by_name(tmp_path):
    graph = Graph()
    for layer, (first, second) in enumerate(((W_Q, W_K), (W_K, W_V))):
        graph.attention(plain(graph, first), plain(graph, second), name=f"/model/layers.{layer}/Softmax")
    checkpoint = graph.opened(tmp_path)
    heads = cut(checkpoint)
    assert [head.layer for head in heads] == [0] * H + [1] * H
    second = cut(checkpoint, only="layers.1")
    assert {head.layer for head in second} == {1}
    must_be(second, W_K, W_V)
    with pytest.raises(CheckpointError, match=r"layers\.0/Softmax"):
        heads_of(checkpoint, only="layers.7")


def test_weights_that_serve_several_layers_are_cut_once(tmp_path):
    """Two attentions of the same matrices around another: one is reported, with the other as its alias."""
    graph = Graph()
    names = [graph.constant(W) for W in (W_Q, W_K, W_V)]
    bias = graph.constant(np.arange(OUT, dtype=np.float32))

    def heads_by(weight: str, source: str) -> str:
        product = graph.node("MatMul", source, weight)
        return graph.heads(graph.node("Add", product, bias), H, SIZE)

    for queries, keys, source in ((0, 1, "x"), (0, 2, "x"), (0, 1, "other")):
        graph.attention(heads_by(names[queries], source), heads_by(names[keys], source))
    heads = cut(graph.opened(tmp_path))
    assert [(head.layer, head.shared) for head in heads] == [(0, ("layer 2",))] * H + [(1, ())] * H
    must_be(heads[:H], W_Q, W_K)
    must_be(heads[H:], W_Q, W_V)


def test_other_outputs_of_the_same_matrix_are_other_heads(tmp_path):
    graph = Graph()
    fused = graph.constant(FUSED)
    for first, second in ((0, 1), (1, 2)):
        parts = graph.node("Split", graph.node("MatMul", "x", fused), outputs=3, axis=-1, num_outputs=3)
        graph.attention(graph.heads(parts[first], H, SIZE), graph.heads(parts[second], H, SIZE))
    heads = cut(graph.opened(tmp_path))
    must_be(heads[:H], W_Q, W_K)
    must_be(heads[H:], W_K, W_V)
    assert {head.shared for head in heads} == {()}


def test_a_long_chain_of_nodes_is_followed(tmp_path):
    """Longer than the calls that Python nests."""
    graph = Graph()

    def chained(value: str, kind: str = "Identity") -> str:
        for _ in range(1500):
            value = graph.node(kind, value)
        return value

    weight = chained(graph.constant(W_Q))
    queries = graph.heads(chained(graph.node("MatMul", "x", weight)), H, SIZE)
    scores = graph.node("MatMul", queries, graph.node("Transpose", plain(graph, W_K), perm=[0, 1, 3, 2]))
    graph.node("Softmax", chained(scores), axis=-1)
    must_be(cut(graph.opened(tmp_path)), W_Q, W_K)
