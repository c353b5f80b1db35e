"""Gains of the norms before an attention are folded into its heads where they are known, and refused where not."""

from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints.head import Head
from tests.checkpoints.cutting.packing import made
from tests.checkpoints.cutting.test_asking import BY_FAMILY, LLAMA, complaint_of, cut


def folded(case, norms: dict[str, np.ndarray], config=None) -> list[Head]:
    return cut(made({**case.arrays("model."), **norms}, case.config | (config or {})), fold_norm=True)


def must_be(case, heads: list[Head], gains: list[np.ndarray], gains_of_keys: list[np.ndarray] | None = None) -> None:
    """Heads times the gain of each layer."""
    plain = cut(case.checkpoint("model."))
    for head, before in zip(heads, plain, strict=True):
        np.testing.assert_array_equal(head.W_Q, np.diag(gains[head.layer]) @ before.W_Q)
        np.testing.assert_array_equal(head.W_K, np.diag((gains_of_keys or gains)[head.layer]) @ before.W_K)
        assert any("gain" in note for note in head.notes)


def gains_of(count: int, width: int) -> list[np.ndarray]:
    return list(np.random.default_rng(9).uniform(0.5, 2.0, (count, width)))


@pytest.mark.parametrize(
    ("name", "norm"),
    [
        ("llama", "layers.{N}.input_layernorm.weight"),
        ("cohere", "layers.{N}.input_layernorm.weight"),
        ("clip", "layers.{N}.layer_norm1.weight"),
        ("esm", "encoder.layer.{N}.attention.LayerNorm.weight"),
        ("vit", "encoder.layer.{N}.layernorm_before.weight"),
        ("vit-projections", "layers.{N}.layernorm_before.weight"),
        ("gptj", "h.{N}.ln_1.weight"),
        ("gpt_neo", "h.{N}.ln_1.weight"),
        ("t5", "encoder.block.{N}.layer.0.layer_norm.weight"),
        ("meta", "layers.{N}.attention_norm.weight"),
        ("gguf", "blk.{N}.attn_norm.weight"),
        ("gpt2", "h.{N}.ln_1.weight"),
        ("gpt_neox", "layers.{N}.input_layernorm.weight"),
        ("bloom", "h.{N}.input_layernorm.weight"),
        ("falcon-40b", "h.{N}.ln_attn.weight"),
        ("mpt", "blocks.{N}.norm_1.weight"),
        ("phi3", "layers.{N}.input_layernorm.weight"),
        ("timm", "blocks.{N}.norm1.weight"),
    ],
)
def test_a_norm_before_the_attention_is_folded_in(name, norm):
    case = BY_FAMILY[name]
    gains = gains_of(2, case.sizes.d)
    norms = {"model." + norm.replace("{N}", str(layer)): gain for layer, gain in enumerate(gains)}
    must_be(case, folded(case, norms), gains)


@pytest.mark.parametrize(
    ("name", "first", "after"),
    [
        ("bert", "embeddings.LayerNorm", "encoder.layer.0.output.LayerNorm"),
        ("distilbert", "embeddings.LayerNorm", "transformer.layer.0.output_layer_norm"),
    ],
)
@pytest.mark.parametrize("end", ["weight", "gamma"])
def test_a_norm_after_the_layer_before_is_folded_in(name, first, after, end):
    case = BY_FAMILY[name]
    gains = gains_of(2, case.sizes.d)
    must_be(case, folded(case, {f"model.{first}.{end}": gains[0], f"model.{after}.{end}": gains[1]}), gains)


def test_gains_of_gemma_are_one_more_than_what_is_stored():
    case = BY_FAMILY["gemma"]
    stored = gains_of(2, case.sizes.d)
    norms = {f"model.layers.{layer}.input_layernorm.weight": gain for layer, gain in enumerate(stored)}
    must_be(case, folded(case, norms), [1.0 + gain for gain in stored])


def test_gains_of_queries_and_keys_of_gemma_3_are_one_more_than_what_is_stored():
    """Gemma3RMSNorm multiplies by 1 + weight, in q_norm and k_norm as before the attention."""
    case, rng = BY_FAMILY["gemma"], np.random.default_rng(2)
    before, of_queries, of_keys = rng.standard_normal(20), rng.standard_normal(6), rng.standard_normal(6)
    norms = {}
    for layer in range(2):
        start = f"model.layers.{layer}."
        norms[start + "input_layernorm.weight"] = before
        norms[start + "self_attn.q_norm.weight"], norms[start + "self_attn.k_norm.weight"] = of_queries, of_keys
    plain, heads = cut(case.checkpoint("model.")), folded(case, norms, {"model_type": "gemma3_text"})
    assert len(heads) == 8
    x, y = rng.standard_normal((2, 20))  # what comes out of the divisions by the norms before
    for head, stored in zip(heads, plain, strict=True):
        queries, keys = ((1 + gain) * (W.T @ ((1 + before) * value)) for gain, W, value in
                         ((of_queries, stored.W_Q, x), (of_keys, stored.W_K, y)))  # fmt: skip
        assert x @ head.W_Q @ head.W_K.T @ y == pytest.approx(queries @ keys)


def test_norms_without_gains_change_nothing():
    case = BY_FAMILY["olmo"]
    must_be(case, folded(case, {}), [np.ones(case.sizes.d)] * 2)


def test_keys_of_cross_attention_see_the_last_norm_of_the_encoder():
    rng = np.random.default_rng(0)
    start = "decoder.block.0.layer.1.EncDecAttention."
    arrays = {start + "q.weight": rng.standard_normal((24, 20)), start + "k.weight": rng.standard_normal((24, 28))}
    of_queries, of_keys = rng.uniform(0.5, 2.0, 20), rng.uniform(0.5, 2.0, 28)
    norms = {"decoder.block.0.layer.1.layer_norm.weight": of_queries, "encoder.final_layer_norm.weight": of_keys}
    heads = cut(made({**arrays, **norms}, {"model_type": "t5"}), heads=4, fold_norm=True)
    np.testing.assert_array_equal(
        np.hstack([head.W_Q for head in heads]), of_queries[:, None] * arrays[start + "q.weight"].T
    )
    np.testing.assert_array_equal(
        np.hstack([head.W_K for head in heads]), of_keys[:, None] * arrays[start + "k.weight"].T
    )


@pytest.mark.parametrize("size", [6, 24])
def test_gains_of_queries_and_keys_are_folded_in(size):
    """q_norm has a gain for each coordinate of a head, or for each output."""
    rng = np.random.default_rng(1)
    own, of_keys = rng.uniform(0.5, 2.0, size), rng.uniform(0.5, 2.0, min(size, 12))
    arrays = LLAMA.arrays("model.")
    for layer in range(2):
        start = f"model.layers.{layer}."
        arrays[start + "input_layernorm.weight"] = np.ones(20)
        arrays[start + "self_attn.q_norm.weight"], arrays[start + "self_attn.k_norm.weight"] = own, of_keys
    plain, heads = cut(made(arrays, LLAMA.config)), cut(made(arrays, LLAMA.config), fold_norm=True)
    for head, before in zip(heads, plain, strict=True):
        gain, key_gain = (g.reshape(-1, 6) for g in (own, of_keys))
        np.testing.assert_array_equal(head.W_Q, before.W_Q * gain[head.head % len(gain)])
        np.testing.assert_array_equal(head.W_K, before.W_K * key_gain[head.head // 2 % len(key_gain)])


@pytest.mark.parametrize(
    ("name", "norms", "reason"),
    [
        ("llama", {}, "there is no 'layers.0.input_layernorm' beside it"),
        ("llama", {"model.layers.0.input_layernorm.weight": np.ones(7)}, "shape [7] where the attention sees 20"),
        ("albert", {}, "is not known here"),
        ("torch", {}, "is not known here"),
        ("opt", {}, "only where do_layer_norm_before is True"),
    ],
)
def test_a_norm_that_is_not_known_is_not_guessed(name, norms, reason):
    case = BY_FAMILY[name]
    text = complaint_of(made({**case.arrays("model."), **norms}, case.config), fold_norm=True)
    assert reason in text
    assert "fold_norm" in text


def test_families_whose_norms_differ_are_asked_for_before_folding():
    arrays = {**LLAMA.arrays(), **{f"layers.{layer}.input_layernorm.weight": np.ones(20) for layer in range(2)}}
    assert len(cut(made(arrays), heads=4)) == 8
    assert "family=" in complaint_of(made(arrays), heads=4, fold_norm=True)
    assert len(cut(made(arrays), heads=4, fold_norm=True, family="llama")) == 8
