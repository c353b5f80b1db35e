"""Families that store the queries and the keys of a layer in two tensors."""

from __future__ import annotations

from presage.checkpoints.cutting.family import Family, Naming, Norm

_LAYERS = "layers.{N}.self_attn."
_INPUT = Norm(("layers.{N}.input_layernorm",))
_FIRST_OF_H = Norm(("h.{N}.ln_1",))
_BEFORE_SELF = Norm(("layers.{N}.self_attn_layer_norm",))
_AFTER_ENCODER = Norm(("layers.{N}.encoder_attn_layer_norm",), key=("encoder:layer_norm",))
_CAPPED = "Soft-capping of the logits, where the model has it, acts after M."
_RELATIVE = "A bias that depends on the distance is added to the logits."


def _projections(norm: Norm, cross: Norm | None = None) -> tuple[Naming, ...]:
    """The names of `layers.N.self_attn.q_proj`, and of a decoder's attention to an encoder where there is one."""
    normed = {"query_norm": _LAYERS + "q_norm.weight", "key_norm": _LAYERS + "k_norm.weight"}
    own = Naming(_LAYERS + "q_proj.weight", _LAYERS + "k_proj.weight", norm=norm, **normed)
    return (own,) if cross is None else (own, _named("layers.{N}.encoder_attn.", "q_proj", "k_proj", cross, "cross"))


def _named(start: str, query: str, key: str, norm: Norm | None = None, kind: str = "self") -> Naming:
    return Naming(f"{start}{query}.weight", f"{start}{key}.weight", kind=kind, norm=norm)


def _gguf() -> tuple[Naming, ...]:
    norm = Norm(("blk.{N}.attn_norm",))
    normed = {"query_norm": "blk.{N}.attn_q_norm.weight", "key_norm": "blk.{N}.attn_k_norm.weight"}
    own = Naming("blk.{N}.attn_q.weight", "blk.{N}.attn_k.weight", norm=norm, **normed)
    return own, _named("blk.{N}.", "cross_attn_q", "cross_attn_k", kind="cross")


_BERT = "layer.{N}.attention.self."
_BERT_CROSS = "layer.{N}.crossattention.self."
_AFTER_BERT = Norm(("layer.{P}.output.LayerNorm",), first=("embeddings.LayerNorm",))

SEPARATE: tuple[Family, ...] = (
    Family(
        "llama",
        ("Llama", "Mistral", "Mixtral", "Qwen2", "Qwen3", "StableLM", "StarCoder2", "Granite"),
        "separate",
        _projections(_INPUT),
        (
            "llama",
            "mistral",
            "mixtral",
            "qwen2",
            "qwen2_moe",
            "qwen3",
            "qwen3_moe",
            "stablelm",
            "starcoder2",
            "granite",
        ),
        beside=(_LAYERS + "o_proj.weight",),
        rotary="half",
        partly_rotary=True,
    ),
    Family(
        "gemma",
        ("Gemma", "Gemma 2", "Gemma 3"),
        "separate",
        _projections(Norm(("layers.{N}.input_layernorm",), plus_one=True)),
        ("gemma", "gemma2", "gemma3", "gemma3_text"),
        beside=(_LAYERS + "o_proj.weight",),
        rotary="half",
        scale="1/sqrt(query_pre_attn_scalar), or 1/sqrt(h) where the configuration has none",
        notes=(_CAPPED,),
    ),
    Family(
        "cohere",
        ("Command R", "GLM-4"),
        "separate",
        _projections(_INPUT),
        ("cohere", "cohere2", "glm", "glm4"),
        beside=(_LAYERS + "o_proj.weight",),
        rotary="interleaved",
        partly_rotary=True,
    ),
    Family(
        "olmo",
        ("OLMo", "OLMo 2"),
        "separate",
        _projections(Norm()),
        ("olmo", "olmo2"),
        beside=(_LAYERS + "o_proj.weight",),
        rotary="half",
    ),
    Family(
        "phi",
        ("Phi-1", "Phi-2"),
        "separate",
        _projections(_INPUT),
        ("phi",),
        beside=(_LAYERS + "dense.weight",),
        rotary="half",
        partly_rotary=True,
    ),
    Family(
        "opt",
        ("OPT",),
        "separate",
        _projections(Norm(_BEFORE_SELF.query, only_if=("do_layer_norm_before", True))),
        ("opt",),
        beside=(_LAYERS + "out_proj.weight",),
    ),
    Family(
        "bart",
        ("BART",),
        "separate",
        _projections(
            Norm(("layers.{P}.final_layer_norm",), first=("layernorm_embedding",)),
            Norm(("layers.{N}.self_attn_layer_norm",), key=("encoder:layers.{L}.final_layer_norm",)),
        ),
        ("bart",),
        beside=(_LAYERS + "out_proj.weight",),
    ),
    Family(
        "whisper",
        ("Whisper", "mBART", "Pegasus", "M2M-100", "NLLB"),
        "separate",
        _projections(_BEFORE_SELF, _AFTER_ENCODER),
        ("whisper", "mbart", "pegasus", "m2m_100", "speech_to_text"),
        beside=(_LAYERS + "out_proj.weight",),
    ),
    Family(
        "clip",
        ("CLIP", "SigLIP"),
        "separate",
        _projections(Norm(("layers.{N}.layer_norm1",))),
        ("clip", "clip_text_model", "clip_vision_model", "siglip", "siglip_text_model", "siglip_vision_model"),
        beside=("layers.{N}.layer_norm1.weight",),
    ),
    Family(
        "wav2vec2",
        ("Wav2Vec2", "HuBERT", "WavLM"),
        "separate",
        (_named("layers.{N}.attention.", "q_proj", "k_proj"),),
        ("wav2vec2", "hubert", "wavlm", "unispeech", "unispeech-sat", "data2vec-audio"),
        beside=("layers.{N}.attention.out_proj.weight",),
        notes=("WavLM adds a gated bias that depends on the distance to the logits.",),
    ),
    Family(
        "gptj",
        ("GPT-J",),
        "separate",
        (_named("h.{N}.attn.", "q_proj", "k_proj", _FIRST_OF_H),),
        ("gptj",),
        rotary="interleaved",
        partly_rotary=True,
    ),
    Family(
        "gpt_neo",
        ("GPT-Neo",),
        "separate",
        (_named("h.{N}.attn.attention.", "q_proj", "k_proj", _FIRST_OF_H),),
        ("gpt_neo",),
        scale="1",
    ),
    Family(
        "bert",
        ("BERT", "RoBERTa", "XLM-RoBERTa", "ELECTRA", "CamemBERT"),
        "separate",
        (
            _named(_BERT, "query", "key", _AFTER_BERT),
            _named(_BERT_CROSS, "query", "key", kind="cross"),
        ),
        ("bert", "roberta", "xlm-roberta", "electra", "camembert", "bert-generation", "data2vec-text"),
        beside=("layer.{N}.attention.output.LayerNorm.weight", "layer.{N}.attention.output.LayerNorm.gamma"),
    ),
    Family(
        "esm",
        ("ESM-2",),
        "separate",
        (_named(_BERT, "query", "key", Norm(("layer.{N}.attention.LayerNorm",))),),
        ("esm",),
        beside=("layer.{N}.attention.LayerNorm.weight", "layer.{N}.attention.LayerNorm.gamma"),
        rotary="half",
    ),
    Family(
        "albert",
        ("ALBERT",),
        "separate",
        (_named("albert_layer_groups.{G}.albert_layers.{N}.attention.", "query", "key"),),
        ("albert",),
    ),
    Family(
        "vit",
        ("ViT", "DeiT", "BEiT", "DINOv2", "AST"),
        "separate",
        (
            _named(
                "layer.{N}.attention.attention.",
                "query",
                "key",
                Norm(("layer.{N}.layernorm_before", "layer.{N}.norm1")),
            ),
        ),
        ("vit", "deit", "beit", "dinov2", "audio-spectrogram-transformer", "vit_mae", "vit_msn"),
        notes=("BEiT adds a bias that depends on the distance to the logits.",),
    ),
    Family(
        "vit-projections",
        ("ViT as newer code names it",),
        "separate",
        (_named("layers.{N}.attention.", "q_proj", "k_proj", Norm(("layers.{N}.layernorm_before",))),),
        ("vit", "deit", "dinov2", "audio-spectrogram-transformer", "vit_mae", "vit_msn"),
        beside=("layers.{N}.attention.o_proj.weight",),
    ),
    Family(
        "distilbert",
        ("DistilBERT",),
        "separate",
        (
            _named(
                "layer.{N}.attention.",
                "q_lin",
                "k_lin",
                Norm(("layer.{P}.output_layer_norm",), first=("embeddings.LayerNorm",)),
            ),
        ),
        ("distilbert",),
    ),
    Family(
        "t5",
        ("T5", "Flan-T5", "mT5"),
        "separate",
        (
            _named("block.{N}.layer.0.SelfAttention.", "q", "k", Norm(("block.{N}.layer.0.layer_norm",))),
            _named(
                "block.{N}.layer.1.EncDecAttention.",
                "q",
                "k",
                Norm(("block.{N}.layer.1.layer_norm",), key=("encoder:final_layer_norm",)),
                kind="cross",
            ),
        ),
        ("t5", "mt5", "umt5", "longt5"),
        scale="1",
        notes=(_RELATIVE,),
    ),
    Family(
        "meta",
        ("Llama as Meta releases it",),
        "separate",
        (_named("layers.{N}.attention.", "wq", "wk", Norm(("layers.{N}.attention_norm",))),),
        rotary="interleaved",
    ),
    Family(
        "gguf-llama",
        ("GGUF of Llama, Mistral, SmolLM2, OLMo, Command R",),
        "separate",
        _gguf(),
        ("llama", "llama4", "baichuan", "internlm2", "minicpm", "command-r", "cohere2", "olmo", "deepseek", "granite"),
        rotary="interleaved",
        partly_rotary=True,
    ),
    Family(
        "gguf",
        ("GGUF of Qwen, Gemma, Phi-2, StarCoder2, OLMo 2",),
        "separate",
        _gguf(),
        (
            "qwen2",
            "qwen2moe",
            "qwen3",
            "qwen3moe",
            "gemma",
            "gemma2",
            "gemma3",
            "phi2",
            "starcoder2",
            "olmo2",
            "stablelm",
        ),
        rotary="half",
        partly_rotary=True,
        notes=(_CAPPED,),
    ),
    Family(
        "gguf-unturned",
        ("GGUF of BERT and T5",),
        "separate",
        _gguf(),
        ("bert", "t5", "t5encoder"),
        notes=("T5 adds a bias that depends on the distance to the logits, and its scale is 1.",),
    ),
    Family(
        "torch-separate",
        ("torch.nn.MultiheadAttention with kdim or vdim",),
        "separate",
        (
            Naming("self_attn.q_proj_weight", "self_attn.k_proj_weight"),
            Naming("multihead_attn.q_proj_weight", "multihead_attn.k_proj_weight", kind="cross"),
            Naming("q_proj_weight", "k_proj_weight", kind="cross"),
        ),
        keys="all",
    ),
)
