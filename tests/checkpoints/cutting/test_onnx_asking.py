"""ONNX graphs: what they do not tell is asked for, what contradicts them is refused, what is not followed is said."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("onnx")

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.heads_of import heads_of
from tests.checkpoints.cutting.graphs import Graph
from tests.checkpoints.cutting.test_onnx import OUT, SIZE, W_K, W_Q, W_V, H, cut, must_be, plain


def of_run_time(graph: Graph, W: np.ndarray) -> str:
    """Heads whose number the graph computes when it runs."""
    value = graph.node("Reshape", graph.node("MatMul", "x", graph.constant(W)), "mask")
    return graph.node("Transpose", value, perm=[0, 2, 1, 3])


def test_a_number_of_heads_that_the_graph_does_not_tell_is_asked_for(tmp_path):
    graph = Graph()
    graph.attention(of_run_time(graph, W_Q), of_run_time(graph, W_K))
    checkpoint = graph.opened(tmp_path)
    with pytest.raises(CheckpointError, match="Give heads="):
        heads_of(checkpoint)
    must_be(cut(checkpoint, heads=H), W_Q, W_K)
    must_be(cut(checkpoint, head_dim=SIZE), W_Q, W_K)


@pytest.mark.parametrize("numbers", [{"heads": 5}, {"head_dim": 4}, {"kv_heads": 2}])
def test_numbers_that_contradict_the_graph_are_refused(tmp_path, numbers):
    graph = Graph()
    graph.attention(plain(graph, W_Q), plain(graph, W_K))
    with pytest.raises(CheckpointError, match="20 outputs as 4 x 5"):
        heads_of(graph.opened(tmp_path), **numbers)


@pytest.mark.parametrize("argument", [{"family": "bert"}, {"fold_norm": True}])
def test_what_needs_names_is_refused(tmp_path, argument):
    graph = Graph()
    graph.attention(plain(graph, W_Q), plain(graph, W_K))
    with pytest.raises(CheckpointError, match=f"Leave {next(iter(argument))} out"):
        heads_of(graph.opened(tmp_path), **argument)


def test_attention_that_is_not_followed_is_said(tmp_path):
    graph = Graph()
    graph.attention(plain(graph, W_Q), "other", name="of_inputs")
    graph.node("MultiHeadAttention", "x", "x", "x", name="whole", domain="com.microsoft", num_heads=4)
    found = heads_of(graph.opened(tmp_path))
    assert found.count == 0
    reasons = {row.name: row.reason for row in found.skipped}
    assert "its keys are not the product of a value with a constant matrix" in reasons["of_inputs"]
    assert "one node (MultiHeadAttention)" in reasons["whole"]


def test_a_norm_of_another_layer_is_not_passed(tmp_path):
    """Queries that are a norm of projected values have no matrix of their own."""
    graph = Graph()
    value = graph.node("MatMul", "x", graph.constant(W_Q))
    normed = graph.node("LayerNormalization", value, graph.constant(np.ones(OUT, np.float32)))
    graph.attention(graph.heads(normed, H, SIZE), plain(graph, W_K))
    assert len(heads_of(graph.opened(tmp_path)).skipped) == 1


def test_numbers_that_are_none_leave_their_layer_out(tmp_path):
    graph, bad = Graph(), W_K.copy()
    bad[1, 1] = np.nan
    graph.attention(plain(graph, W_Q), plain(graph, bad))
    graph.attention(plain(graph, W_Q), plain(graph, W_V))
    first, second = heads_of(graph.opened(tmp_path)).layers
    assert first.heads == []
    assert "1 of its numbers are NaN" in first.skipped[0].reason
    must_be(second.heads, W_Q, W_V)


@pytest.mark.parametrize("kind", ["Identity", "Add", "Reshape", "Transpose", "Concat", "Cast", "DequantizeLinear"])
@pytest.mark.parametrize("where", ["scores", "queries", "weight", "shape"])
def test_nodes_that_feed_themselves_do_not_stop_the_rest(tmp_path, kind, where):
    graph = Graph()
    queries = graph.node("MatMul", "x", "round" if where == "weight" else graph.constant(W_Q))
    if where == "queries":
        queries = "round"
    shape = "round" if where == "shape" else graph.constant(np.array([0, 0, H, SIZE]))
    turned = graph.node("Transpose", graph.node("Reshape", queries, shape), perm=[0, 2, 1, 3])
    scores = graph.node("MatMul", turned, graph.node("Transpose", plain(graph, W_K), perm=[0, 1, 3, 2]))
    graph.node("Softmax", "round" if where == "scores" else scores, name="bad")
    graph.attention(plain(graph, W_Q), plain(graph, W_V), name="good")
    graph.node(kind, "back", "back", name="round")
    graph.node("Identity", "round", name="back")
    found = heads_of(graph.opened(tmp_path), heads=H)  # the sizes of a Reshape that feeds itself are not told
    must_be(list(found.layers)[-1].heads, W_Q, W_V)
    assert [row.name for row in found.skipped] == (["bad"] if where in ("queries", "weight") else [])


def test_shapes_that_hold_one_another_are_not_spelled_out(tmp_path):
    """Forty Concats, each of the one before twice, would be 2^40 sizes."""
    graph = Graph()
    shape = graph.constant(np.array([1]))
    for _ in range(40):
        shape = graph.node("Concat", shape, shape, axis=0)
    value = graph.node("Reshape", graph.node("MatMul", "x", graph.constant(W_Q)), shape)
    graph.attention(value, plain(graph, W_K), name="bad")
    graph.attention(plain(graph, W_Q), plain(graph, W_V), name="good")
    found = heads_of(graph.opened(tmp_path))
    assert found.count == H
    assert [row.name for row in found.skipped] == ["bad"]
    assert "the shape of a Reshape has more than 1000 parts" in found.skipped[0].reason


def without_inputs(graph: Graph, kind: str, value: str) -> str:
    name = graph.node(kind, value)
    del graph.nodes[-1].input[:]
    return name


@pytest.mark.parametrize("kind", ["MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "Reshape", "Gather", "Transpose"])
def test_nodes_without_inputs_do_not_stop_the_rest(tmp_path, kind):
    graph = Graph()
    graph.attention(without_inputs(graph, kind, "x"), plain(graph, W_K), name="bad")
    graph.node("Softmax", "x", name="nothing")
    del graph.nodes[-1].input[:]
    graph.attention(plain(graph, W_Q), plain(graph, W_V), name="good")
    found = heads_of(graph.opened(tmp_path))
    must_be([head for layer in found.layers for head in layer.heads], W_Q, W_V)
    assert [row.name for row in found.skipped] == ["bad", "nothing"]


@pytest.mark.parametrize("size", [3, 2 * OUT])
def test_a_bias_of_another_length_leaves_its_layer_out(tmp_path, size):
    graph = Graph()
    bias = graph.constant(np.ones(size, np.float32), name="bias")
    queries = graph.heads(graph.node("Gemm", "x", graph.constant(W_Q), bias), H, SIZE)
    graph.attention(queries, plain(graph, W_K))
    graph.attention(plain(graph, W_Q), plain(graph, W_V))
    first, second = heads_of(graph.opened(tmp_path)).layers
    assert [row.name for row in first.skipped] == ["bias"]
    assert f"it has {size} numbers where {OUT} are needed" in first.skipped[0].reason
    must_be(second.heads, W_Q, W_V)


def test_outputs_of_which_none_are_left_are_said(tmp_path):
    graph = Graph()
    limits = (graph.constant(np.array([place])) for place in (5, 5, 2))
    part = graph.node("Slice", graph.node("MatMul", "x", graph.constant(W_Q)), *limits)
    graph.attention(part, plain(graph, W_K), name="bad")
    assert "none of the outputs" in heads_of(graph.opened(tmp_path)).skipped[0].reason


def test_an_empty_matrix_is_none(tmp_path):
    graph = Graph()
    value = graph.node("MatMul", "x", graph.constant(np.ones((0, OUT), np.float32)))
    graph.attention(graph.heads(value, H, SIZE), plain(graph, W_K), name="bad")
    assert [row.name for row in heads_of(graph.opened(tmp_path)).skipped] == ["bad"]
