"""Queries and keys that were packed as a family stores them come back from it, bit for bit, and from no other cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.families import FAMILIES, supported
from presage.checkpoints.cutting.finding import find_attention
from presage.checkpoints.cutting.heads_of import heads_of
from presage.checkpoints.head import Head
from tests.checkpoints.cutting.packing import (
    CASES,
    Case,
    Sizes,
    blocks,
    blocks_turned,
    gives_back,
    made,
    per_head,
)

PREFIXES = ("", "model.", "module._orig_mod.transformer.")
BY_FAMILY = {case.family: case for case in reversed(CASES)}


def name_of(case: Case) -> str:
    return f"{case.family}-{case.kind}"


def cut(case: Case, prefix: str = "") -> list[list[Head]]:
    found = heads_of(case.checkpoint(prefix), **case.arguments)
    assert found.skipped == ()
    layers = list(found.layers)
    assert all(layer.skipped == () for layer in layers)
    assert found.count == sum(len(layer.heads) for layer in layers)
    return [layer.heads for layer in layers]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_heads_come_back_as_they_were_packed(case, prefix):
    heads = cut(case, prefix)
    assert gives_back(heads, case.layers())
    assert {head.kind for layer in heads for head in layer} == {case.kind}
    assert {head.W_K.shape for layer in heads for head in layer} == {(case.sizes.d_k, case.sizes.h)}


def test_every_family_has_a_case():
    assert {case.family for case in CASES} == {family.name for family in FAMILIES}
    assert [row.family for row in supported()] == [family.name for family in FAMILIES]
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)


@pytest.mark.parametrize(
    ("family", "model_type"),
    [(family, model_type) for family in FAMILIES for model_type in family.model_types],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_every_model_type_leads_to_its_family(family, model_type):
    case = BY_FAMILY[family.name]
    found = find_attention(case.checkpoint(model_type=model_type))
    assert {attention.family.name for attention in found.attentions} == {family.name}


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_family_that_is_asked_for_needs_no_configuration(case):
    sizes = case.sizes
    bare = made(case.arrays())
    numbers = {"heads": sizes.H, "kv_heads": sizes.G, "head_dim": sizes.h}
    layers = [layer.heads for layer in heads_of(bare, family=case.family, **numbers).layers]
    assert gives_back(layers, case.layers())


@pytest.mark.parametrize("name", ["llama", "gemma", "gguf", "meta", "phi3", "gguf-fused", "falcon-40b"])
def test_nine_query_heads_on_three_key_heads(name):
    case = BY_FAMILY[name]
    numbers = {key: {4: 9, 2: 3}[value] for key, value in case.config.items() if value in (4, 2) and value is not True}
    case = replace(case, sizes=Sizes(9, 3, 6, 54, 54), config={**case.config, **numbers})
    heads = cut(case)
    assert gives_back(heads, case.layers())
    assert not gives_back(heads, case.layers(), key=lambda head, H, G: head % G)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_keys_taken_in_turn_are_others(case):
    in_turn = gives_back(cut(case), case.layers(), key=lambda head, H, G: head % G)
    assert in_turn == (case.sizes.G in (1, case.sizes.H))


def test_a_head_as_large_as_its_q_norm():
    case = BY_FAMILY["llama"]
    arrays = case.arrays() | {f"layers.{N}.self_attn.{s}_norm.weight": np.ones(6) for N in range(2) for s in "qk"}
    heads = [layer.heads for layer in heads_of(made(arrays)).layers]
    assert gives_back(heads, case.layers())
    assert any("q_norm" in note for note in heads[0][0].notes)


def test_a_conv1d_that_is_not_turned_is_refused():
    case = BY_FAMILY["gpt2"]
    with pytest.raises(CheckpointError, match="24 outputs are not"):
        heads_of(made(case.arrays(), {"n_head": 4}), family="nanogpt")
    untransposed = replace(case, pack=lambda layer: [blocks(layer)[0].reshape(24, 72)])
    assert not gives_back(cut(untransposed), case.layers())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("gpt_neox", blocks), ("bloom", blocks), ("falcon-rw", blocks), ("mpt", per_head), ("falcon-40b", blocks)],
)
def test_a_fused_matrix_in_another_order_gives_other_heads(name, wrong):
    case = BY_FAMILY[name]
    assert gives_back(cut(case), case.layers())
    assert not gives_back(cut(replace(case, pack=wrong)), case.layers())


def test_names_that_serve_both_orders_are_told_by_the_configuration_alone():
    """The same tensors are cut in two ways, so that one must be wrong."""
    case = BY_FAMILY["gpt_bigcode-multi-head"]
    as_blocks = heads_of(case.checkpoint(), family="nanogpt")
    assert gives_back(cut(case), case.layers())
    assert not gives_back([layer.heads for layer in as_blocks.layers], case.layers())


@pytest.mark.parametrize("name", ["llama", "bert", "gpt2", "gpt_neox", "phi3", "falcon-40b", "torch", "torch-separate"])
def test_biases_are_those_of_the_queries(name):
    case = BY_FAMILY[name]
    arrays, rng, biases = case.arrays(), np.random.default_rng(3), []
    for number in range(2):
        layer = case.layers()[number]
        queries, rest = rng.standard_normal((case.sizes.H, case.sizes.h)), np.zeros((case.sizes.G, case.sizes.h))
        biases.append(queries)
        packed = case.pack(layer._replace(queries=queries[:, None], keys=rest[:, None], values=rest[:, None]))
        weight = case.names[0].replace("{N}", str(number))
        bias = packed[0].ravel()
        if name == "torch-separate":  # PyTorch keeps the three biases together, even where it parts the matrices
            weight, bias = weight.replace("q_proj_weight", "in_proj_weight"), np.concatenate([bias, np.zeros(2 * 24)])
        arrays[weight.removesuffix("weight") + "bias"] = bias
    layers = heads_of(made(arrays, case.config), **case.arguments).layers
    for cut_layer, expected in zip(layers, biases, strict=True):
        np.testing.assert_array_equal([head.b_Q for head in cut_layer.heads], expected)


def test_a_model_with_two_towers_and_cross_attention():
    rng = np.random.default_rng(0)
    q, k, cross = (rng.standard_normal((24, width)) for width in (24, 24, 30))
    arrays = {"model.encoder.layers.0.self_attn.q_proj.weight": q, "model.encoder.layers.0.self_attn.k_proj.weight": k}
    for kind, keys in (("encoder_attn", cross), ("self_attn", k)):
        arrays[f"model.decoder.layers.0.{kind}.q_proj.weight"] = q
        arrays[f"model.decoder.layers.0.{kind}.k_proj.weight"] = keys
    config = {"model_type": "bart", "encoder_attention_heads": 4, "decoder_attention_heads": 2}
    layers = [layer.heads for layer in heads_of(made(arrays, config)).layers]
    assert [(len(heads), heads[0].part, heads[0].kind) for heads in layers] == [
        (4, "encoder", "self"),
        (2, "decoder", "self"),
        (2, "decoder", "cross"),
    ]
    np.testing.assert_array_equal(layers[2][1].W_K, cross[12:].T)
    np.testing.assert_array_equal(layers[2][1].W_Q, q[12:].T)


def test_weights_that_serve_several_layers_are_cut_once():
    case = replace(BY_FAMILY["albert"], config={**BY_FAMILY["albert"].config, "num_hidden_layers": 6})
    layers = [layer.heads for layer in heads_of(case.checkpoint()).layers]
    assert [heads[0].layer for heads in layers] == [0, 3]
    assert layers[0][0].shared == ("layer 1", "layer 2")
    assert layers[1][0].shared == ("layer 4", "layer 5")


@pytest.mark.parametrize(
    ("name", "config", "rotary"),
    [
        ("llama", {}, "half"),
        ("llama", {"partial_rotary_factor": 0.5}, ""),
        ("cohere", {}, "interleaved"),
        ("gptj", {"rotary_dim": 6}, "interleaved"),
        ("gpt_neox", {"rotary_pct": 0.25}, ""),
        ("bert", {}, ""),
        ("gguf-llama", {}, "interleaved"),
        ("gguf", {}, "half"),
    ],
)
def test_rotary_positions_where_they_turn_a_whole_head(name, config, rotary):
    layers = heads_of(BY_FAMILY[name].checkpoint(**config)).layers
    assert {head.rotary for layer in layers for head in layer.heads} == {rotary}


def test_a_conv1d_and_a_linear_layer_of_the_same_numbers_are_cut_alike():
    case = BY_FAMILY["nanogpt"]
    turned = replace(BY_FAMILY["gpt2"], pack=blocks_turned)
    for one, other in zip(cut(case), cut(turned), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a.W_Q @ a.W_K.T, b.W_Q @ b.W_K.T)
