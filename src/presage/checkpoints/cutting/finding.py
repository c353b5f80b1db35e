"""Finding the attention of a model by the names of its tensors."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from presage.checkpoints.checkpoint import Checkpoint, Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.attention import Attention
from presage.checkpoints.cutting.choosing import choose
from presage.checkpoints.cutting.families import FAMILIES
from presage.checkpoints.cutting.family import Family
from presage.checkpoints.cutting.kept_tensors import kept_tensors
from presage.checkpoints.cutting.model_config import model_config
from presage.checkpoints.cutting.naming_match import NamingMatch, naming_matches
from presage.checkpoints.cutting.shared_layers import shared_layers
from presage.checkpoints.cutting.uncut import scaled_by, uncut
from presage.checkpoints.tensor import Tensor

Served = dict[str, dict[str, NamingMatch]]  # name of a tensor -> name of a family -> how it reads the name


class Found(NamedTuple):
    """The attention of a file, and what of it is not cut."""

    attentions: tuple[Attention, ...]
    skipped: tuple[Skipped, ...]


def find_attention(checkpoint: Checkpoint, *, family: str | None = None, only: str | None = None) -> Found:
    """All attention of a file whose family is known, tower by tower, in the order of the layers."""
    tensors = kept_tensors(checkpoint, only)
    stacks: dict[str, Served] = {}
    for name in tensors:
        for match in naming_matches(name):
            stacks.setdefault(match.stack, {}).setdefault(name, {})[match.family.name] = match
    _family_must_serve(family, stacks, checkpoint.name)
    attentions: list[Attention] = []
    unusable: list[Skipped] = []
    for stack, served in stacks.items():
        found, bad = _of_stack(stack, served, checkpoint, family)
        attentions += shared_layers(sorted(found, key=_place))
        unusable += bad
    rest = uncut(tensors, {name for served in stacks.values() for name in served})
    modules = tuple(row.name + mark for row in rest for mark in "._")  # GGUF has attn_q beside attn_kv_a_mqa
    unusable = [row for row in unusable if not row.name.startswith(modules)]
    return Found(tuple(_with_parts(attentions)), (*rest, *unusable))


def _of_stack(
    stack: str, served: Served, checkpoint: Checkpoint, wanted: str | None
) -> tuple[list[Attention], list[Skipped]]:
    """The attention of one tower, whose layers may belong to several families."""
    config = model_config(checkpoint.config, stack)
    attentions, unusable, left = [], [], dict(served)
    while left:
        candidates = _serving_most(left)
        names = [name for name in left if candidates[0].name in left[name]]
        chosen = choose(candidates, wanted, config, checkpoint.tensors.keys(), names[0], checkpoint.name)
        for name in names:
            match = left.pop(name)[candidates[0].name]
            naming = next(naming for naming in chosen.namings if naming.query == match.naming.query)
            key = match.filled(naming.key) if naming.key else ""
            reason = _unusable(name, key, checkpoint.tensors)
            if reason is not None:
                unusable.append(reason)
                continue
            place = (match.prefix, match.layer, checkpoint.tensors[name], checkpoint.tensors[key] if key else None)
            attentions.append(
                Attention(
                    chosen,
                    naming,
                    *place,
                    checkpoint.tensors,
                    config,
                    number=match.number,
                    group=match.group,
                    part=stack,
                )
            )
    return attentions, unusable


def _serving_most(served: Served) -> list[Family]:
    """The families that know the most names, all of them the same ones."""
    known: dict[str, frozenset[str]] = {}
    for family in FAMILIES:
        names = frozenset(name for name, matches in served.items() if family.name in matches)
        if names:
            known[family.name] = names
    most = max(known.values(), key=len)
    return [family for family in FAMILIES if known.get(family.name) == most]


def _unusable(name: str, key: str, tensors: Mapping[str, Tensor]) -> Skipped | None:
    """Why an attention that was recognised cannot be cut, where it cannot."""
    if key and key not in tensors:
        return Skipped(name, f"its keys {key!r} are not in the file")
    for each in (name, key) if key else (name,):
        scales = scaled_by(each, tensors.keys())
        if scales is not None:
            return Skipped(each, f"it is packed into few bits, with scales in {scales!r} that are not undone here")
        if len(tensors[each].shape) != 2:
            return Skipped(each, f"a matrix is needed, and its shape is {list(tensors[each].shape)}")
        if 0 in tensors[each].shape:
            return Skipped(each, f"it is empty: its shape is {list(tensors[each].shape)}")
    return None


def _family_must_serve(family: str | None, stacks: Mapping[str, Served], file: str) -> None:
    """Complain about a `family` that is not known, or that knows none of the names."""
    if family is None:
        return
    if family not in {known.name for known in FAMILIES}:
        reason, serving = "it is not a family that is known", {known.name for known in FAMILIES}
    else:
        serving = {name for served in stacks.values() for matches in served.values() for name in matches}
        reason = "its names are not those of the file"
    if serving and family not in serving:
        names = ", ".join(known.name for known in FAMILIES if known.name in serving)
        raise CheckpointError(
            file, f"have attention of <family={family}>", reason, f"Give <family=...>, one of {names}, or leave it out."
        )


def _place(attention: Attention) -> tuple[str, int, bool]:
    return attention.group.zfill(9), attention.layer, attention.naming.kind == "cross"


def _with_parts(attentions: Collection[Attention]) -> Iterable[Attention]:
    """Name the towers by the words in which the beginnings of their names differ, where there are several."""
    stacks = {attention.part: attention.part.strip(".").split(".") for attention in attentions}
    shared = set.intersection(*(set(words) for words in stacks.values())) if stacks else set()
    for attention in attentions:
        words = stacks[attention.part]
        own = ".".join(word for word in words if word not in shared)
        yield replace(attention, part=own if len(stacks) > 1 else "")
