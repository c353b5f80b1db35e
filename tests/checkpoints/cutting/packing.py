"""Known queries and keys packed as each family stores them, written from how models reshape what they project.

Nothing here is taken from the tables of the package: names, layouts and configurations are written out once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from presage.checkpoints.checkpoint import Checkpoint
from presage.checkpoints.files.open_checkpoint import open_checkpoint
from presage.checkpoints.head import Head

Array = NDArray[np.float64]
LAYERS = 2


class Sizes(NamedTuple):
    """H query heads, G key heads of size h, and the widths of what queries and keys see."""

    H: int
    G: int
    h: int
    d: int
    d_k: int


class Known(NamedTuple):
    """Of one layer: queries (H, d, h), keys and values (G, d_k, h)."""

    queries: Array
    keys: Array
    values: Array


def known(sizes: Sizes, seed: int) -> Known:
    rng = np.random.default_rng(seed)
    shapes = ((sizes.H, sizes.d, sizes.h), (sizes.G, sizes.d_k, sizes.h), (sizes.G, sizes.d_k, sizes.h))
    return Known(*(rng.standard_normal(shape) for shape in shapes))


def stacked(heads: Array) -> Array:
    """The matrix (out, in) of a projection whose outputs are viewed as (heads, size)."""
    return np.concatenate([head.T for head in heads])


def separate(layer: Known) -> list[Array]:
    return [stacked(layer.queries), stacked(layer.keys)]


def blocks(layer: Known) -> list[Array]:
    """Outputs are split into all queries, all keys, all values."""
    return [np.concatenate([stacked(part) for part in layer])]


def blocks_turned(layer: Known) -> list[Array]:
    """The same by a Conv1D, which holds (in, out)."""
    return [np.ascontiguousarray(blocks(layer)[0].T)]


def per_head(layer: Known) -> list[Array]:
    """Outputs are viewed as (heads, 3, size)."""
    return [np.concatenate([part[head].T for head in range(len(layer.queries)) for part in layer])]


def per_group(layer: Known) -> list[Array]:
    """Outputs are viewed as (key heads, queries of each + 2, size)."""
    H, G = len(layer.queries), len(layer.keys)
    groups = layer.queries.reshape(G, H // G, *layer.queries.shape[1:])
    rows = [[*groups[g], layer.keys[g], layer.values[g]] for g in range(G)]
    return [np.concatenate([matrix.T for group in rows for matrix in group])]


@dataclass(frozen=True)
class Case:
    """A family, and a model of it."""

    family: str
    pack: Callable[[Known], list[Array]]
    names: tuple[str, ...]  # of what is packed, {N} the layer
    config: Mapping[str, Any]
    sizes: Sizes
    kind: str = "self"
    beside: tuple[str, ...] = ()  # other tensors of a layer
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def layers(self) -> list[Known]:
        return [known(self.sizes, 100 + layer) for layer in range(LAYERS)]

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        arrays = {}
        for number, layer in enumerate(self.layers()):
            for name, matrix in zip(self.names, self.pack(layer), strict=True):
                arrays[prefix + name.replace("{N}", str(number))] = matrix
            for name in self.beside:
                arrays[prefix + name.replace("{N}", str(number))] = np.ones(3)
        return arrays

    def checkpoint(self, prefix: str = "", **config: Any) -> Checkpoint:
        return made(self.arrays(prefix), {**self.config, **config})


def made(arrays: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> Checkpoint:
    """An opened dict of arrays with a configuration."""
    return replace(open_checkpoint(arrays), config=dict(config or {}))


def key_of(head: int, H: int, G: int) -> int:
    """Queries are shared out among the keys in order."""
    return head // (H // G)


def gives_back(found: list[list[Head]], layers: list[Known], key: Callable[[int, int, int], int] = key_of) -> bool:
    """Whether cut heads, layer by layer, are those that were packed, to the last bit."""
    if [len(heads) for heads in found] != [len(layer.queries) for layer in layers]:
        return False
    return all(
        (head.layer, head.head) == (number, place)
        and np.array_equal(head.W_Q, layer.queries[place])
        and np.array_equal(head.W_K, layer.keys[key(place, len(layer.queries), len(layer.keys))])
        for number, (heads, layer) in enumerate(zip(found, layers, strict=True))
        for place, head in enumerate(heads)
    )


GROUPED = Sizes(4, 2, 6, 20, 20)  # head_dim is not d/H
EQUAL = Sizes(4, 4, 6, 24, 24)
ONE = Sizes(4, 1, 6, 24, 24)
FILLED = Sizes(4, 2, 6, 24, 24)
CROSS = Sizes(4, 4, 6, 24, 30)
_OF_GROUPED = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 6}
_OF_EQUAL = {"num_attention_heads": 4}
_PROJECTIONS = ("layers.{N}.self_attn.q_proj.weight", "layers.{N}.self_attn.k_proj.weight")
_CROSS = ("layers.{N}.encoder_attn.q_proj.weight", "layers.{N}.encoder_attn.k_proj.weight")
_GGUF = ("blk.{N}.attn_q.weight", "blk.{N}.attn_k.weight")
_OF_BERT = ("encoder.layer.{N}.attention.self.query.weight", "encoder.layer.{N}.attention.self.key.weight")
_FALCON = ("h.{N}.self_attention.query_key_value.weight",)
_C_ATTN = ("h.{N}.attn.c_attn.weight",)
_ALBERT = "encoder.albert_layer_groups.{N}.albert_layers.0.attention."
_O = ("layers.{N}.self_attn.o_proj.weight",)
_OUT = ("layers.{N}.self_attn.out_proj.weight",)


def _in_rows(family: str, model_type: str, beside: tuple[str, ...]) -> Case:
    return Case(family, separate, _PROJECTIONS, {"model_type": model_type, **_OF_GROUPED}, GROUPED, beside=beside)


def _in_two(family: str, start: str, query: str, key: str, model_type: str = "", kind: str = "self") -> Case:
    said = {"model_type": model_type} if model_type else {}
    names = (f"{start}{query}.weight", f"{start}{key}.weight")
    return Case(family, separate, names, {**said, **_OF_EQUAL}, CROSS if kind == "cross" else EQUAL, kind)


def _of_gguf(family: str, model_type: str) -> Case:
    return Case(family, separate, _GGUF, {"model_type": model_type, **_OF_GROUPED}, GROUPED)


CASES = (
    _in_rows("llama", "llama", _O),
    _in_rows("gemma", "gemma2", _O),
    _in_rows("cohere", "cohere", _O),
    _in_rows("olmo", "olmo2", _O),
    _in_rows("phi", "phi", ("layers.{N}.self_attn.dense.weight",)),
    Case("opt", separate, _PROJECTIONS, {"model_type": "opt", **_OF_EQUAL}, EQUAL, beside=_OUT),
    Case("bart", separate, _CROSS, {"model_type": "bart", **_OF_EQUAL}, CROSS, "cross", beside=_OUT),
    Case("whisper", separate, _CROSS, {"model_type": "whisper", **_OF_EQUAL}, CROSS, "cross", beside=_OUT),
    Case("clip", separate, _PROJECTIONS, {"model_type": "clip_text_model", **_OF_EQUAL}, EQUAL),
    _in_two("wav2vec2", "encoder.layers.{N}.attention.", "q_proj", "k_proj", "wav2vec2"),
    _in_two("gptj", "h.{N}.attn.", "q_proj", "k_proj", "gptj"),
    _in_two("gpt_neo", "h.{N}.attn.attention.", "q_proj", "k_proj", "gpt_neo"),
    Case("bert", separate, _OF_BERT, {"model_type": "bert", **_OF_EQUAL}, EQUAL),
    _in_two("bert", "layer.{N}.crossattention.self.", "query", "key", "bert", "cross"),
    Case("esm", separate, _OF_BERT, {"model_type": "esm", **_OF_EQUAL}, EQUAL),
    Case(
        "albert",
        separate,
        (_ALBERT + "query.weight", _ALBERT + "key.weight"),
        {"model_type": "albert", "num_hidden_layers": 2, "num_hidden_groups": 2, "inner_group_num": 1, **_OF_EQUAL},
        EQUAL,
    ),
    _in_two("vit", "encoder.layer.{N}.attention.attention.", "query", "key", "vit"),
    _in_two("vit-projections", "layers.{N}.attention.", "q_proj", "k_proj", "vit"),
    _in_two("distilbert", "transformer.layer.{N}.attention.", "q_lin", "k_lin", "distilbert"),
    Case(
        "t5",
        separate,
        ("encoder.block.{N}.layer.0.SelfAttention.q.weight", "encoder.block.{N}.layer.0.SelfAttention.k.weight"),
        {"model_type": "t5", "num_heads": 4, "d_kv": 6},
        Sizes(4, 4, 6, 20, 20),
    ),
    _in_two("t5", "decoder.block.{N}.layer.1.EncDecAttention.", "q", "k", "t5", "cross"),
    Case(
        "meta",
        separate,
        ("layers.{N}.attention.wq.weight", "layers.{N}.attention.wk.weight"),
        {"n_heads": 4, "n_kv_heads": 2},
        FILLED,
    ),
    _of_gguf("gguf-llama", "llama"),
    _of_gguf("gguf", "qwen3"),
    _of_gguf("gguf-unturned", "t5"),
    Case(
        "torch-separate",
        separate,
        ("layers.{N}.multihead_attn.q_proj_weight", "layers.{N}.multihead_attn.k_proj_weight"),
        {"nhead": 4},
        CROSS,
        "cross",
    ),
    Case("gguf-fused", blocks, ("blk.{N}.attn_qkv.weight",), _OF_GROUPED, GROUPED),
    Case("gpt2", blocks_turned, _C_ATTN, {"model_type": "gpt2", "n_head": 4}, EQUAL),
    Case("nanogpt", blocks, _C_ATTN, {"n_head": 4}, EQUAL, arguments={"family": "nanogpt"}),
    Case("gpt_bigcode", blocks, _C_ATTN, {"model_type": "gpt_bigcode", "n_head": 4, "multi_query": True}, ONE),
    Case(
        "gpt_bigcode-multi-head",
        per_head,
        _C_ATTN,
        {"model_type": "gpt_bigcode", "n_head": 4, "multi_query": False},
        EQUAL,
    ),
    Case("falcon-7b", blocks, _FALCON, {"model_type": "falcon", **_OF_EQUAL}, ONE),
    Case("falcon-rw", per_head, _FALCON, {"model_type": "falcon", "multi_query": False, **_OF_EQUAL}, EQUAL),
    Case(
        "falcon-40b",
        per_group,
        _FALCON,
        {"model_type": "falcon", "new_decoder_architecture": True, "num_kv_heads": 2, **_OF_EQUAL},
        FILLED,
    ),
    Case("bloom", per_head, _FALCON, {"model_type": "bloom", "n_head": 4}, EQUAL),
    Case(
        "gpt_neox",
        per_head,
        ("layers.{N}.attention.query_key_value.weight",),
        {"model_type": "gpt_neox", **_OF_EQUAL},
        EQUAL,
    ),
    Case("mpt", blocks, ("blocks.{N}.attn.Wqkv.weight",), {"model_type": "mpt", "n_heads": 4}, EQUAL),
    Case("modernbert", blocks, ("layers.{N}.attn.Wqkv.weight",), {"model_type": "modernbert", **_OF_EQUAL}, EQUAL),
    Case("phi3", blocks, ("layers.{N}.self_attn.qkv_proj.weight",), {"model_type": "phi3", **_OF_GROUPED}, GROUPED),
    Case("torch", blocks, ("encoder.layers.{N}.self_attn.in_proj_weight",), {"nhead": 4}, EQUAL),
    Case("torch", blocks, ("resblocks.{N}.attn.in_proj_weight",), {"nhead": 4}, EQUAL),
    Case("timm", blocks, ("blocks.{N}.attn.qkv.weight",), {"num_heads": 4}, EQUAL),
)
