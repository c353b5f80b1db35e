"""Which family a stack of layers belongs to, where the names of its tensors serve several."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.family import Family
from presage.checkpoints.cutting.model_config import ModelConfig
from presage.checkpoints.files.quoted import quoted


def choose(
    candidates: Sequence[Family],
    wanted: str | None,
    config: ModelConfig,
    names: Collection[str],
    example: str,
    file: str,
) -> Family:
    """The family of a stack: the one that is asked for, that of the model_type, or the one whose tensors are there.

    `example` is the full name of a query (or fused) tensor of the stack. Where several remain that cut alike, they are
    taken together, and what they do not share counts as not known. Where they cut differently, `family` is asked for.
    """
    asked = [family for family in candidates if family.name == wanted]
    if asked:
        return asked[0]
    left = _of_model_type(candidates, config) or _with_their_tensors(candidates, names, example)
    if len({(family.layout, family.transposed, family.keys, family.fills) for family in left}) > 1:
        raise _ambiguous(left, config, example, file)
    return left[0] if len(left) == 1 else _together(left)


def _of_model_type(candidates: Sequence[Family], config: ModelConfig) -> list[Family]:
    return [
        family
        for family in candidates
        if config.model_type in family.model_types and all(config.flag(name) is value for name, value in family.when)
    ]


def _with_their_tensors(candidates: Sequence[Family], names: Collection[str], example: str) -> list[Family]:
    """Those beside whose queries stand the tensors that tell them from others, or all where none can be told."""
    told = []
    for family in candidates:
        found = next(match for naming in family.namings if (match := naming.pattern.match(example)))
        start, number = found["prefix"], found.groupdict().get("layer") or ""
        if any(start + name.replace("{N}", number) in names for name in family.beside):
            told.append(family)
    return told or list(candidates)


def _together(families: Sequence[Family]) -> Family:
    """Several families that cut alike as one, which knows only what all of them share."""
    first, names = families[0], " or ".join(family.name for family in families)
    notes = tuple(note for note in first.notes if all(note in family.notes for family in families))
    namings = tuple(
        naming if all(naming in family.namings for family in families) else replace(naming, norm=None)
        for naming in max((family.namings for family in families), key=len)
    )
    if len({family.rotary for family in families}) > 1 or len({family.partly_rotary for family in families}) > 1:
        notes += (f"Whether and how rotary positions turn queries and keys depends on the family ({names}).",)
    return replace(
        first,
        name=names,
        namings=namings,
        rotary=first.rotary if len({family.rotary for family in families}) == 1 else "",
        partly_rotary=any(family.partly_rotary for family in families),
        scale=first.scale if len({family.scale for family in families}) == 1 else "a factor of the family",
        notes=notes,
    )


def _ambiguous(left: Sequence[Family], config: ModelConfig, example: str, file: str) -> CheckpointError:
    said = f"the model_type {quoted(config.model_type)} of its configuration does not tell" if config.model_type else ""
    names = [family.name for family in left]
    return CheckpointError(
        file,
        "tell how its attention is stored",
        f"{quoted(example)} is stored in different ways by {', '.join(names)}, "
        f"and {said or 'there is no model_type of a configuration to tell'}",
        f"Give <family=...>, one of {', '.join(names)}.",
    )
