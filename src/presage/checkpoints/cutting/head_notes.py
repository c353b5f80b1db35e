"""What of an attention is not in the product of its two factors, in sentences."""

from __future__ import annotations

from presage.checkpoints.cutting.attention import Attention
from presage.checkpoints.cutting.head_counts import HeadCounts

_TURNED = "Rotary positions turn queries and keys: M is the case of equal positions."


def head_rotary(attention: Attention, counts: HeadCounts) -> str:
    """Which coordinates of a head rotary positions turn together, where they turn all of them."""
    turned = attention.config.rotary_size(counts.head_dim) if attention.family.partly_rotary else counts.head_dim
    is_whole = turned == counts.head_dim or (turned is None and not _often_partial(attention))
    return attention.family.rotary if is_whole else ""


def head_notes(attention: Attention, counts: HeadCounts, *, folded: bool) -> tuple[str, ...]:
    """Caveats of the heads of an attention."""
    notes = [f"The logits are M times {_scale(attention)}."]
    if attention.family.rotary:
        notes.append(_turning(attention, counts))
    notes.extend(attention.family.notes)
    if attention.beside(attention.naming.query_norm) is not None:
        gains = "in M" if folded else "not in M"
        notes.append(f"Queries and keys are normed (q_norm, k_norm): the gains are {gains}, the division is not.")
    if folded:
        notes.append("The gain of the norm before is in M; its bias and the division are not.")
    if attention.key is not None and attention.key.dtype != attention.query.dtype:
        notes.append(f"The keys are stored as {attention.key.dtype}.")
    return tuple(notes)


def _turning(attention: Attention, counts: HeadCounts) -> str:
    turned = attention.config.rotary_size(counts.head_dim) if attention.family.partly_rotary else None
    if turned is not None and turned < counts.head_dim:
        return f"{_TURNED} Only {turned} of {counts.head_dim} coordinates are turned."
    if turned is None and _often_partial(attention):
        return f"{_TURNED} How many of {counts.head_dim} coordinates are turned is not known without a configuration."
    return _TURNED


def _often_partial(attention: Attention) -> bool:
    """Without a configuration, whether a family turns all coordinates cannot be told."""
    return attention.family.partly_rotary and not attention.config.model_type


def _scale(attention: Attention) -> str:
    keys = attention.config.keys
    if isinstance(keys.get("attention_multiplier"), int | float):
        return f"{keys['attention_multiplier']:g}"
    if isinstance(keys.get("query_pre_attn_scalar"), int | float):
        return f"1/sqrt({keys['query_pre_attn_scalar']:g})"
    return attention.family.scale
