"""Attention that is recognised by its names but not cut into heads, and why."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from presage.checkpoints.checkpoint import Skipped
from presage.checkpoints.tensor import Tensor

_MATRIX = "there is no product of a query and a key matrix"
_REASONS = (  # a name, of which the first group is the module that is skipped
    (
        r"(.*attn)[._]kv_a(?:_proj_with)?_mqa\.weight",
        "latent attention (MLA): a norm stands between the factors of its keys",
    ),
    (r"(.*\blinear_attn)\..*", f"linear attention with a state: {_MATRIX}"),
    (r"(.*)\.(?:A_log|ssm_a|ssm_a\.weight)", f"a state-space layer (Mamba): {_MATRIX}"),
    (r"(.*)\.(?:time_decay|time_mix_w0|time_mix_decay\.weight)", f"a recurrent layer (RWKV): {_MATRIX}"),
    (r"(.*h\.\d+\.attn)\.qkv_proj\.weight", "CodeGen: its rows are ordered by the cores it was trained on"),
    (r"(.*\brel_attn)\.q", "XLNet: keys of positions have weights of their own"),
)
_PATTERNS = tuple((re.compile(pattern), reason) for pattern, reason in _REASONS)
_LIKE_ATTENTION = re.compile(
    r".*(?:^|[._])(?:q|query|wq|q_proj|query_proj|to_q|q_lin|qkv|to_qkv|wqkv|qkv_proj|query_key_value|c_attn|q_attn|attn_q"
    r"|in_proj_qkv|qkv_projection|q_proj_weight)(?:\.weight|\.qweight|\.weight_packed)?",
    re.IGNORECASE,
)
_SCALES = ("weight_scale", "weight_scale_inv", "weight_absmax", "weight.absmax", "SCB", "scales", "weight_packed")


def uncut(tensors: Mapping[str, Tensor], taken: Collection[str]) -> tuple[Skipped, ...]:
    """What of a file is attention, or looks like it, and is not cut; `taken` are the tensors that are."""
    found: dict[str, str] = {}
    for name, tensor in tensors.items():
        for pattern, reason in _PATTERNS:
            match = pattern.fullmatch(name)
            if match:
                found.setdefault(match[1], reason)
        if name not in taken and len(tensor.shape) >= 2 and _LIKE_ATTENTION.fullmatch(name):
            found.setdefault(name, "it looks like attention, but of no family that is known here")
    modules = tuple(module + mark for module in found if module not in tensors for mark in "._")
    return tuple(
        Skipped(name, reason) for name, reason in found.items() if not (name in tensors and name.startswith(modules))
    )


def scaled_by(name: str, tensors: Collection[str]) -> str | None:
    """The tensor that holds the scales of a weight which was packed into few bits, where there is one."""
    module = name.removesuffix("weight")
    return next((module + end for end in _SCALES if module + end in tensors), None) if module != name else None
