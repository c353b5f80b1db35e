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
