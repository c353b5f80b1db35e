"""Families that store the queries, keys and values of a layer in one tensor."""

from __future__ import annotations

from presage.checkpoints.cutting.family import Family, Naming, Norm

_INPUT = Norm(("layers.{N}.input_layernorm",))
_FIRST_OF_H = Norm(("h.{N}.ln_1",))
_INPUT_OF_H = Norm(("h.{N}.input_layernorm",))
_ALIBI = "ALiBi, where the model has it, adds a line in the distance to the logits."

FUSED: tuple[Family, ...] = (
    Family(
        "gguf-fused",
        ("GGUF of GPT-2, BLOOM, Falcon, GPT-NeoX, MPT, Phi-3",),
        "blocks",
        (Naming("blk.{N}.attn_qkv.weight", norm=Norm(("blk.{N}.attn_norm",))),),
        notes=("Rotary positions or ALiBi act after M in some of these models.",),
    ),
    Family(
        "gpt2",
        ("GPT-2", "DistilGPT-2", "ImageGPT"),
        "blocks",
        (Naming("h.{N}.attn.c_attn.weight", norm=_FIRST_OF_H),),
        ("gpt2", "imagegpt", "decision_transformer"),
        transposed=True,
        keys="all",
        fills=True,
    ),
    Family(
        "nanogpt",
        ("nanoGPT",),
        "blocks",
        (Naming("h.{N}.attn.c_attn.weight", norm=_FIRST_OF_H),),
        keys="all",
        fills=True,
    ),
    Family(
        "gpt_bigcode",
        ("StarCoder", "SantaCoder"),
        "blocks",
        (Naming("h.{N}.attn.c_attn.weight", norm=_FIRST_OF_H),),
        ("gpt_bigcode",),
        when=(("multi_query", True),),
        keys="one",
        fills=True,
    ),
    Family(
        "gpt_bigcode-multi-head",
        ("GPT-BigCode with multi_query=False",),
        "per-head",
        (Naming("h.{N}.attn.c_attn.weight", norm=_FIRST_OF_H),),
        ("gpt_bigcode",),
        when=(("multi_query", False),),
        keys="all",
        fills=True,
    ),
    Family(
        "falcon-7b",
        ("Falcon-7B",),
        "blocks",
        (Naming("h.{N}.self_attention.query_key_value.weight", norm=_INPUT_OF_H),),
        ("falcon", "RefinedWebModel"),
        when=(("new_decoder_architecture", False), ("multi_query", True)),
        keys="one",
        fills=True,
        rotary="half",
    ),
    Family(
        "falcon-rw",
        ("Falcon-RW",),
        "per-head",
        (Naming("h.{N}.self_attention.query_key_value.weight", norm=_INPUT_OF_H),),
        ("falcon", "RefinedWebModel"),
        when=(("new_decoder_architecture", False), ("multi_query", False)),
        keys="all",
        fills=True,
        notes=(_ALIBI,),
    ),
    Family(
        "falcon-40b",
        ("Falcon-40B", "Falcon-180B", "Falcon-11B"),
        "per-group",
        (
            Naming(
                "h.{N}.self_attention.query_key_value.weight",
                norm=Norm(("h.{N}.ln_attn", "h.{N}.input_layernorm")),
            ),
        ),
        ("falcon", "RefinedWeb"),
        when=(("new_decoder_architecture", True),),
        fills=True,
        rotary="half",
    ),
    Family(
        "bloom",
        ("BLOOM", "BLOOMZ"),
        "per-head",
        (Naming("h.{N}.self_attention.query_key_value.weight", norm=_INPUT_OF_H),),
        ("bloom",),
        keys="all",
        fills=True,
        notes=(_ALIBI,),
    ),
    Family(
        "gpt_neox",
        ("GPT-NeoX", "Pythia"),
        "per-head",
        (Naming("layers.{N}.attention.query_key_value.weight", norm=_INPUT),),
        ("gpt_neox",),
        keys="all",
        fills=True,
        rotary="half",
        partly_rotary=True,
    ),
    Family(
        "mpt",
        ("MPT",),
        "blocks",
        (Naming("blocks.{N}.attn.Wqkv.weight", norm=Norm(("blocks.{N}.norm_1",))),),
        ("mpt",),
        keys="all",
        fills=True,
        notes=(_ALIBI,),
    ),
    Family(
        "modernbert",
        ("ModernBERT",),
        "blocks",
        (
            Naming(
                "layers.{N}.attn.Wqkv.weight",
                norm=Norm(("layers.{N}.attn_norm",), first=("embeddings.norm",)),
            ),
        ),
        ("modernbert", "modernbert-decoder"),
        keys="all",
        fills=True,
        rotary="half",
    ),
    Family(
        "phi3",
        ("Phi-3", "Phi-4"),
        "blocks",
        (Naming("layers.{N}.self_attn.qkv_proj.weight", norm=_INPUT),),
        ("phi3",),
        rotary="half",
        partly_rotary=True,
    ),
    Family(
        "torch",
        ("torch.nn.MultiheadAttention", "torch.nn.Transformer", "OpenCLIP"),
        "blocks",
        (
            Naming("self_attn.in_proj_weight"),
            Naming("multihead_attn.in_proj_weight", kind="cross"),
            Naming("in_proj_weight"),
        ),
        keys="all",
        fills=True,
    ),
    Family(
        "timm",
        ("timm's ViT", "DINO", "vision towers of Qwen2-VL"),
        "blocks",
        (
            Naming(
                "blocks.{N}.attn.qkv.weight",
                norm=Norm(("blocks.{N}.norm1",)),
                query_norm="blocks.{N}.attn.q_norm.weight",
                key_norm="blocks.{N}.attn.k_norm.weight",
            ),
        ),
        keys="all",
        notes=("Rotary positions, where the model has them, act after M.",),
    ),
)
