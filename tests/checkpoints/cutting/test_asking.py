"""What a file does not tell is asked for by name, what contradicts it is refused, and what is not cut is said."""

from __future__ import annotations

import re

import numpy as np
import pytest

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.heads_of import heads_of
from presage.checkpoints.head import Head
from presage.protocol.errors import InputError
from tests.checkpoints.cutting.packing import CASES, gives_back, made

BY_FAMILY = {case.family: case for case in reversed(CASES)}
LLAMA = BY_FAMILY["llama"]


def complaint_of(*args, **kwargs) -> str:
    with pytest.raises(CheckpointError) as caught:
        heads_of(*args, **kwargs)
    return str(caught.value)


def cut(checkpoint, **arguments) -> list[Head]:
    return [head for layer in heads_of(checkpoint, **arguments).layers for head in layer.heads]


@pytest.mark.parametrize(
    ("name", "config", "asked"),
    [
        ("llama", {}, "heads="),
        ("bert", {}, "heads="),
        ("gguf-fused", {}, "heads="),
        ("gguf-fused", {"num_attention_heads": 4}, "kv_heads="),
        ("phi3", {"model_type": "phi3", "num_attention_heads": 4}, "kv_heads="),
        ("gpt2", {"model_type": "gpt2"}, "heads="),
        ("gpt2", {"n_head": 4}, "family="),
        ("falcon-7b", {"num_attention_heads": 4}, "family="),
        ("falcon-7b", {"num_attention_heads": 4, "model_type": "other"}, "family="),
    ],
)
def test_what_cannot_be_told_is_asked_for(name, config, asked):
    text = complaint_of(made(BY_FAMILY[name].arrays(), config))
    assert asked in text.rpartition("Got")[2]
    assert repr(BY_FAMILY[name].names[0].replace("{N}", "0")) in text


def test_families_to_choose_from_are_named():
    text = complaint_of(made(BY_FAMILY["gpt2"].arrays(), {"n_head": 4}))
    for name in ("gpt2", "nanogpt", "gpt_bigcode", "gpt_bigcode-multi-head"):
        assert re.search(rf"\b{name}\b", text)
    assert "there is no model_type" in text
    text = complaint_of(made(BY_FAMILY["gpt2"].arrays(), {"n_head": 4, "model_type": "unheard"}))
    assert "'unheard'" in text


@pytest.mark.parametrize(
    "numbers",
    [{"heads": 4}, {"heads": 4, "kv_heads": 2}, {"head_dim": 6}, {"kv_heads": 2}, {"kv_heads": 2, "head_dim": 6}],
)
def test_two_matrices_need_one_number(numbers):
    layers = heads_of(made(LLAMA.arrays()), **numbers).layers
    assert gives_back([layer.heads for layer in layers], LLAMA.layers())


@pytest.mark.parametrize(
    ("name", "numbers", "reason"),
    [
        ("llama", {"heads": 5}, "24 query rows are not heads * head_dim"),
        ("llama", {"kv_heads": 3}, "12 key rows are not kv_heads * head_dim"),
        ("llama", {"head_dim": 5}, "24 query rows are not heads * head_dim"),
        ("llama", {"heads": 3, "kv_heads": 2, "head_dim": 8}, "12 key rows"),
        ("bert", {"heads": 3, "kv_heads": 2, "head_dim": 12}, "24 query rows"),
        ("gpt2", {"heads": 5}, "72 outputs are not"),
        ("gpt2", {"kv_heads": 2}, "72 outputs are not"),
        ("falcon-7b", {"kv_heads": 2}, "36 outputs are not"),
        ("gpt2", {"head_dim": 12}, "72 outputs are not"),
    ],
)
def test_numbers_that_contradict_the_shapes_are_refused(name, numbers, reason):
    text = complaint_of(BY_FAMILY[name].checkpoint(), **numbers)
    assert reason in text
    assert f"{next(iter(numbers))}=" in text


def test_query_heads_that_key_heads_do_not_share_out_are_refused():
    rng = np.random.default_rng(0)
    start = "layers.0.self_attn."
    arrays = {start + f"{side}_proj.weight": rng.standard_normal((rows, 8)) for side, rows in (("q", 24), ("k", 16))}
    assert "not a multiple" in complaint_of(made(arrays), head_dim=8)


@pytest.mark.parametrize("number", [0, -1, 2.5, "4", True])
@pytest.mark.parametrize("name", ["heads", "kv_heads", "head_dim"])
def test_numbers_are_counted(name, number):
    with pytest.raises(InputError, match=f"`{name}` must"):
        heads_of(LLAMA.checkpoint(), **{name: number})


def test_a_family_that_is_not_that_of_the_file_is_refused():
    text = complaint_of(LLAMA.checkpoint(), family="bert")
    assert "its names are not those of the file" in text
    assert "llama" in text
    assert "not a family that is known" in complaint_of(LLAMA.checkpoint(), family="lama")


def test_a_file_without_attention_names_its_matrices():
    text = complaint_of(made({"fc1.weight": np.ones((4, 4)), "fc1.bias": np.ones(4)}))
    assert "'fc1.weight'" in text
    assert "fc1.bias" not in text


def test_only_keeps_layers_by_whole_words():
    names = {"heads": 4}
    arrays = {name.replace("layers.1.", "layers.10."): array for name, array in LLAMA.arrays("model.").items()}
    assert {head.layer for head in cut(made(arrays), **names)} == {0, 10}
    assert {head.layer for head in cut(made(arrays), only="layers.10", **names)} == {10}
    assert {head.layer for head in cut(made(arrays), only="10", **names)} == {10}
    text = complaint_of(made(arrays), only="layers.1", **names)
    assert "'layers.1'" in text
    assert "'model.layers.0.self_attn.q_proj.weight'" in text


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("side", ["q", "k"])
def test_numbers_that_are_none_leave_their_layer_out(side, bad):
    arrays = LLAMA.arrays()
    name = f"layers.0.self_attn.{side}_proj.weight"
    arrays[name][3, 2] = bad
    first, second = heads_of(made(arrays, LLAMA.config)).layers
    assert first.heads == []
    assert [row.name for row in first.skipped] == [name]
    assert "1 of its numbers are NaN or infinite" in first.skipped[0].reason
    assert (len(second.heads), second.skipped) == (4, ())


def test_values_that_are_none_do_not_matter():
    """Of [Q; K; V] only queries and keys are read."""
    case = BY_FAMILY["phi3"]
    arrays = case.arrays()
    for array in arrays.values():
        array[36:] = np.nan
    layers = heads_of(made(arrays, case.config)).layers
    assert gives_back([layer.heads for layer in layers], case.layers())


def ones(*names: str) -> dict[str, np.ndarray]:
    return {name: np.ones((24, 24)) for name in names}


@pytest.mark.parametrize(
    ("arrays", "name", "reason"),
    [
        (
            ones(*(f"model.layers.0.self_attn.{end}" for end in ("q_proj.weight", "kv_a_proj_with_mqa.weight"))),
            "model.layers.0.self_attn",
            "MLA",
        ),
        (
            ones(*(f"model.layers.0.self_attn.{end}" for end in ("q_a_proj.weight", "kv_a_proj_with_mqa.weight"))),
            "model.layers.0.self_attn",
            "MLA",
        ),
        (ones("blk.0.attn_q.weight", "blk.0.attn_kv_a_mqa.weight"), "blk.0.attn", "MLA"),
        (ones("model.layers.0.linear_attn.in_proj_qkvz.weight"), "model.layers.0.linear_attn", "linear attention"),
        (ones("backbone.layers.0.mixer.A_log"), "backbone.layers.0.mixer", "Mamba"),
        (ones("rwkv.blocks.0.attention.time_decay"), "rwkv.blocks.0.attention", "RWKV"),
        (ones("transformer.h.0.attn.qkv_proj.weight"), "transformer.h.0.attn", "CodeGen"),
        (ones("transformer.layer.0.rel_attn.q"), "transformer.layer.0.rel_attn", "XLNet"),
        (ones("net.3.to_qkv.weight"), "net.3.to_qkv.weight", "no family that is known"),
        (ones("layers.0.self_attn.q_proj.weight"), "layers.0.self_attn.q_proj.weight", "not in the file"),
        (
            {f"layers.0.self_attn.{side}_proj.weight": np.ones((4, 4, 4)) for side in "qk"},
            "layers.0.self_attn.q_proj.weight",
            "its shape is [4, 4, 4]",
        ),
        (
            ones(*(f"layers.0.self_attn.{side}_proj.{end}" for side in "qk" for end in ("weight", "weight_scale"))),
            "layers.0.self_attn.q_proj.weight",
            "packed into few bits",
        ),
    ],
)
def test_attention_that_is_not_cut_is_said(arrays, name, reason):
    found = heads_of(made(arrays), heads=4)
    assert (found.count, list(found.layers)) == (0, [])
    assert [row.name for row in found.skipped] == [name]
    assert reason in found.skipped[0].reason


def test_attention_that_is_not_cut_does_not_stop_the_rest():
    arrays = {**LLAMA.arrays(), **ones("layers.2.linear_attn.in_proj_qkvz.weight")}
    found = heads_of(made(arrays, LLAMA.config))
    assert [row.name for row in found.skipped] == ["layers.2.linear_attn"]
    assert gives_back([layer.heads for layer in found.layers], LLAMA.layers())


def test_a_whole_number_that_is_written_as_a_float_counts():
    layers = heads_of(LLAMA.checkpoint(), heads=4.0, kv_heads=np.int64(2), head_dim=6.0).layers  # type: ignore[arg-type]
    assert gives_back([layer.heads for layer in layers], LLAMA.layers())


def of_shapes(query: tuple[int, ...], key: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {f"layers.0.self_attn.{side}_proj.weight": np.ones(shape) for side, shape in (("q", query), ("k", key))}


@pytest.mark.parametrize("heads", [1, 4, 10**9])
@pytest.mark.parametrize(("query", "key"), [((0, 32), (0, 32)), ((64, 0), (64, 0)), ((64, 32), (0, 32))])
def test_empty_matrices_are_said(query, key, heads):
    found = heads_of(made(of_shapes(query, key), {"num_attention_heads": heads}))
    assert found.readers == ()
    assert "it is empty" in found.skipped[0].reason


@pytest.mark.parametrize("shape", [(0,), (), (4, 0)])
def test_a_q_norm_of_nothing_tells_no_size(shape):
    arrays = LLAMA.arrays()
    arrays["layers.0.self_attn.q_norm.weight"] = np.ones(shape)
    assert "heads=" in complaint_of(made(arrays))
    assert len(cut(made(arrays, LLAMA.config))) == 8


def test_more_heads_than_any_model_has_are_refused():
    text = complaint_of(made(of_shapes((5000, 2), (5000, 2)), {"num_attention_heads": 5000}))
    assert "more than 4096 heads" in text


@pytest.mark.parametrize("size", [(10,), (23,), (), (24, 1), (0,)])
def test_a_bias_of_another_length_leaves_its_layer_out(size):
    arrays = LLAMA.arrays()
    arrays["layers.0.self_attn.q_proj.bias"] = np.ones(size)
    first, second = heads_of(made(arrays, LLAMA.config)).layers
    assert first.heads == []
    assert first.skipped[0].name == "layers.0.self_attn.q_proj.bias"
    assert "where 24 numbers are needed" in first.skipped[0].reason
    assert len(second.heads) == 4


@pytest.mark.parametrize("name", ["layers.{N}.self_attn.q_proj.weight", "layers.{N}.0.self_attn.in_proj_weight"])
def test_a_layer_of_thousands_of_digits_is_none(name):
    arrays = {name.replace("{N}", "1" * 5000): np.ones((72, 24))}
    found = heads_of(made({**arrays, **LLAMA.arrays()}, LLAMA.config), heads=4)
    assert found.count in (8, 12)  # PyTorch's own names need no number of a layer


@pytest.mark.parametrize("layers", [10**9, 10**4000, -1, True, "12"])
def test_more_layers_than_any_model_has_are_not_believed(layers):
    case = BY_FAMILY["albert"]
    heads = cut(made(case.arrays(), {**case.config, "num_hidden_layers": layers}))
    assert {(head.layer, head.shared) for head in heads} == {
        (layer, (f"other layers of group {layer}",)) for layer in (0, 1)
    }


@pytest.mark.parametrize(("scale", "said"), [(1e200, "2.2e+200"), (1e-200, "2.2e-200")])
def test_numbers_whose_squares_are_none_leave_their_layer_out(scale, said):
    arrays = LLAMA.arrays()
    name = "layers.0.self_attn.k_proj.weight"
    arrays[name] *= scale * 2.2 / np.abs(arrays[name]).max()
    first, second = heads_of(made(arrays, LLAMA.config)).layers
    assert first.skipped[0].name == name
    assert f"its largest number is {said}" in first.skipped[0].reason or scale < 1
    assert len(second.heads) == 4


def test_what_goes_wrong_in_a_layer_leaves_it_out_and_names_the_fault(monkeypatch):
    """Whatever a damaged file brings about is a row, with the kind of the fault in it."""

    def broken(self, name):
        raise ZeroDivisionError("of a fault")

    found = heads_of(LLAMA.checkpoint())
    monkeypatch.setattr("presage.checkpoints.cutting.attention.Attention.beside", broken)
    assert [row.reason for layer in found.layers for row in layer.skipped] == [
        f"tensor 'layers.{layer}.self_attn.q_proj.weight' cannot be read (ZeroDivisionError: of a fault)"
        for layer in range(2)
    ]
    with pytest.raises(CheckpointError, match="ZeroDivisionError: of a fault"):
        heads_of(LLAMA.checkpoint())
