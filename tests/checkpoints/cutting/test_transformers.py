"""The attention of small random models, computed by the models themselves, is that of the heads that were cut."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from presage.checkpoints.cutting.finding import find_attention
from presage.checkpoints.cutting.heads_of import heads_of
from presage.checkpoints.head import Head
from tests.checkpoints.cutting.packing import made

torch = pytest.importorskip("torch")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # warnings of models are not ours
TOKENS = 7
H, D = 4, 32
NEAR = 1e-4  # of logits of order one: most models take their softmax in single precision
FAR = 0.5  # the least by which those of another head differ


@dataclass(frozen=True)
class Model:
    """A model of transformers, and how its logits follow from M."""

    name: str  # of the class, with Model instead of Config
    config: dict[str, Any]
    family: str
    scale: float | None = None  # of the logits; None: 1/sqrt(h)
    normed: bool = False  # queries and keys are divided by their norms
    alibi: bool = False  # a line in the distance is added
    inputs: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # shapes of inputs that are not tokens
    decoder: bool = False  # takes tokens of a decoder too
    layers: int = 2


LLAMA = {
    "hidden_size": D,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": H,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "vocab_size": 50,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EQUAL = {key: value for key, value in LLAMA.items() if key not in ("num_key_value_heads", "head_dim")}
BERT = {**EQUAL, "max_position_embeddings": 20}
GPT2 = {"n_embd": D, "n_head": H, "n_layer": 2, "vocab_size": 50, "bos_token_id": 1, "eos_token_id": 2}
SIDES = {
    "d_model": D,
    **{
        f"{side}_{what}": number for side in ("encoder", "decoder") for what, number in (("layers", 2), ("ffn_dim", 40))
    },
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "vocab_size": 50,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
IMAGE = {"image_size": 8, "patch_size": 4, **{key: EQUAL[key] for key in list(EQUAL)[:4]}}
PIXELS = {"pixel_values": (1, 3, 8, 8)}
MODELS = (
    Model("Llama", LLAMA, "llama"),
    Model("Mistral", LLAMA, "llama"),
    Model("Qwen2", {**EQUAL, "num_key_value_heads": 2}, "llama"),
    Model("Qwen3", LLAMA, "llama", normed=True),
    Model("StableLm", {**EQUAL, "num_key_value_heads": 2}, "llama"),
    Model("Starcoder2", {**EQUAL, "num_key_value_heads": 2}, "llama"),
    Model("Granite", {**EQUAL, "num_key_value_heads": 2, "attention_multiplier": 0.3}, "llama", scale=0.3),
    Model("Gemma", LLAMA, "gemma"),
    Model("Gemma2", {**LLAMA, "query_pre_attn_scalar": 9, "attn_logit_softcapping": None}, "gemma", scale=1 / 3),
    Model("Cohere", {**EQUAL, "num_key_value_heads": 2}, "cohere"),
    Model("Olmo", {**EQUAL, "num_key_value_heads": 2}, "olmo"),
    Model("Phi", {**EQUAL, "num_key_value_heads": 2}, "phi"),
    Model("Phi3", {**EQUAL, "num_key_value_heads": 2}, "phi3"),
    Model("GPTNeoX", EQUAL, "gpt_neox"),
    Model("GPT2", GPT2, "gpt2"),
    Model("GPTBigCode", {**GPT2, "multi_query": True}, "gpt_bigcode"),
    Model("GPTBigCode", {**GPT2, "multi_query": False}, "gpt_bigcode-multi-head"),
    Model("GPTJ", {**GPT2, "rotary_dim": 4}, "gptj"),
    Model(
        "GPTNeo", {**EQUAL, "num_layers": 2, "num_heads": H, "attention_types": [[["global"], 2]]}, "gpt_neo", scale=1.0
    ),
    Model("Bloom", {"hidden_size": D, "n_head": H, "n_layer": 2, "vocab_size": 50}, "bloom", alibi=True),
    Model("Falcon", {**EQUAL, "multi_query": True, "alibi": False}, "falcon-7b"),
    Model("Falcon", {**EQUAL, "multi_query": False, "alibi": False}, "falcon-rw"),
    Model("Falcon", {**EQUAL, "new_decoder_architecture": True, "num_kv_heads": 2, "alibi": False}, "falcon-40b"),
    Model("Mpt", {"d_model": D, "n_heads": H, "n_layers": 2, "vocab_size": 50, "max_seq_len": 20}, "mpt", alibi=True),
    Model("OPT", {**EQUAL, "ffn_dim": 40, "word_embed_proj_dim": D, "max_position_embeddings": 20}, "opt"),
    Model("Bert", BERT, "bert"),
    Model("Roberta", BERT, "bert"),
    Model("Electra", {**BERT, "embedding_size": D}, "bert"),
    Model("Esm", {**BERT, "mask_token_id": 3, "position_embedding_type": "rotary"}, "esm"),
    Model("Albert", {**BERT, "embedding_size": 16, "num_hidden_layers": 4, "num_hidden_groups": 2}, "albert"),
    Model("DistilBert", {"dim": D, "n_heads": H, "n_layers": 2, "hidden_dim": 40, "vocab_size": 50}, "distilbert"),
    Model("ModernBert", {**BERT, "cls_token_id": 1, "sep_token_id": 2}, "modernbert"),
    Model("ViT", IMAGE, "vit-projections", inputs=PIXELS),
    Model("CLIPVision", IMAGE, "clip", inputs=PIXELS),
    Model("CLIPText", BERT, "clip"),
    Model("Bart", {**SIDES, "max_position_embeddings": 20}, "bart", decoder=True, layers=6),
    Model("MBart", {**SIDES, "max_position_embeddings": 20}, "whisper", decoder=True, layers=6),
    Model(
        "Whisper",
        {**SIDES, "num_mel_bins": 8, "max_source_positions": 6, "max_target_positions": 20},
        "whisper",
        inputs={"input_features": (1, 8, 12)},
        decoder=True,
        layers=6,
    ),
    Model(
        "T5",
        {"d_model": D, "d_kv": 6, "num_heads": H, "num_layers": 2, "d_ff": 40, "vocab_size": 50, "pad_token_id": 0},
        "t5",
        scale=1.0,
        decoder=True,
        layers=6,
    ),
)


def random_model(case: Model) -> Any:
    """With weights that make logits of order one, and without what depends on positions."""
    transformers = pytest.importorskip("transformers")
    kind = getattr(transformers, f"{case.name}Model", None)
    if kind is None:
        pytest.skip(f"transformers {transformers.__version__} has no {case.name}Model")
    config = kind.config_class(**case.config)
    torch.manual_seed(0)
    model = kind._from_config(config, attn_implementation="eager").double().eval()
    with torch.no_grad():
        for name, value in model.named_parameters():
            if "relative_attention_bias" in name:
                value.zero_()
            elif value.ndim >= 2 or name.endswith("bias"):
                value.normal_(0.0, 0.3)
    for name, value in model.named_buffers():
        if name.endswith("inv_freq"):
            value.zero_()
    if case.name == "GPTJ":  # has a table of sines, then cosines
        for block in model.h:
            table = block.attn.embed_positions
            table[:, : table.shape[1] // 2], table[:, table.shape[1] // 2 :] = 0.0, 1.0
    return model


def run(model: Any, case: Model) -> tuple[Any, dict[str, list[np.ndarray]]]:
    """What a model puts out, and what each of its modules was given, call by call."""
    seen: dict[str, list[np.ndarray]] = {}
    for name, module in model.named_modules():
        if name and not list(module.children()) and getattr(module, "weight", None) is not None:
            module.register_forward_pre_hook(
                lambda _, values, name=name: seen.setdefault(name, []).append(values[0].detach().numpy())
            )
    tokens = torch.arange(3, 3 + TOKENS)[None]
    generator = torch.Generator().manual_seed(1)
    inputs = {key: torch.randn(shape, generator=generator).double() for key, shape in case.inputs.items()}
    inputs = inputs or {"input_ids": tokens}
    if case.decoder:
        inputs["decoder_input_ids"] = tokens + 10
    with torch.no_grad():
        return model(**inputs, output_attentions=True), seen


def attention_of(out: Any, head: Head, place: int) -> np.ndarray:
    """The attention that the model puts out for a head."""
    if head.kind == "cross":
        layers = out.cross_attentions
    else:
        layers = getattr(out, f"{head.part}_attentions") if head.part else out.attentions
    return layers[place][0, head.head].numpy().astype(np.float64)


def logits_of(head: Head, queries: np.ndarray, keys: np.ndarray, normed: bool) -> np.ndarray:
    q = queries.reshape(-1, head.W_Q.shape[0]) @ head.W_Q + (0.0 if head.b_Q is None else head.b_Q)
    k = keys.reshape(-1, head.W_K.shape[0]) @ head.W_K
    if normed:
        q, k = (value / np.sqrt(np.mean(value**2, axis=1, keepdims=True)) for value in (q, k))
    return q @ k.T


def distance(attention: np.ndarray, logits: np.ndarray, alibi: bool) -> float:
    """How far the logarithms of an attention are from logits, up to a number a row (and a line of the distance)."""
    seen = attention > 1e-25
    with np.errstate(divide="ignore"):
        rest = np.where(seen, np.log(attention) - logits, np.nan)
    rest = rest - np.nanmean(rest, axis=1, keepdims=True)
    if alibi:
        line = np.where(seen, np.arange(rest.shape[1])[None, :], np.nan)
        line = line - np.nanmean(line, axis=1, keepdims=True)
        rest = rest - line * (np.nansum(line * rest) / np.nansum(line**2))
    return float(np.nanmax(np.abs(rest)))


@pytest.mark.parametrize("case", MODELS, ids=lambda case: f"{case.name}-{case.family}")
def test_the_attention_of_a_model_is_that_of_its_heads(case):
    model = random_model(case)
    out, seen = run(model, case)
    config = model.config.to_dict()
    checkpoint = made({name: value.numpy() for name, value in model.state_dict().items()}, config)
    attentions, cut = find_attention(checkpoint).attentions, heads_of(checkpoint)
    assert {attention.family.name for attention in attentions} == {case.family}
    assert len(attentions) == case.layers
    assert cut.skipped == ()
    for attention, layer in zip(attentions, cut.layers, strict=True):
        assert len(layer.heads) >= 2
        names = [(attention.key or attention.query).name, attention.query.name]
        keys, queries = (seen[name.removesuffix(".weight")][0] for name in names)
        found = [attention_of(out, head, head.layer) for head in layer.heads]
        scale = case.scale or layer.heads[0].W_Q.shape[1] ** -0.5
        logits = [scale * logits_of(head, queries, keys, case.normed) for head in layer.heads]
        assert max(distance(*pair, case.alibi) for pair in zip(found, logits, strict=True)) < NEAR
        others = zip(found, logits[1:] + logits[:1], strict=True)
        assert min(distance(*pair, case.alibi) for pair in others) > FAR


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("width", [None, 20])
def test_the_attention_of_pytorch_itself(width, bias):
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(D, H, bias=bias, kdim=width, vdim=width, batch_first=True).double()
    if bias:
        torch.nn.init.normal_(module.in_proj_bias)
    x, y = torch.randn(1, 6, D).double(), torch.randn(1, 5, width or D).double()
    with torch.no_grad():
        _, found = module(x, y, y, average_attn_weights=False)
    (layer,) = heads_of(made({name: value.numpy() for name, value in module.state_dict().items()}), heads=H).layers
    for head in layer.heads:
        logits = logits_of(head, x.numpy(), y.numpy(), False) / np.sqrt(D / H)
        assert distance(found[0, head.head].numpy(), logits, False) < 1e-10
