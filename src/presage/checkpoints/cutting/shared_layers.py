"""Weights that serve several layers of a model, reported once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from presage.checkpoints.cutting.attention import Attention

MOST_LAYERS = 1000  # beyond this a configuration is none of a model
_COUNTS = ("num_hidden_layers", "num_hidden_groups", "inner_group_num")


def shared_layers(attentions: Iterable[Attention]) -> Iterator[Attention]:
    """Attention as it is, but that of layer groups (ALBERT) with the first layer it serves, and the others as aliases.

    Layer ``i`` of ``num_hidden_layers`` runs the ``inner_group_num`` attentions of its group, the groups taking equal
    shares of the layers in turn. Without a configuration the attentions are counted, and the aliases are not known.
    """
    for count, attention in enumerate(attentions):
        if not attention.group:
            yield attention
            continue
        layers = _layers_served(attention)
        if not layers:
            yield replace(attention, layer=count, shared=(f"other layers of group {attention.group}",))
            continue
        yield replace(attention, layer=layers[0], shared=_aliases(layers[1:]))


def _layers_served(attention: Attention) -> range:
    """The layers at which an attention serves; none where a configuration does not tell, or tells more than can be."""
    layers, groups, inner = (_count(attention, name) for name in _COUNTS)
    group, number = int(attention.group), int(attention.number)
    if not layers or layers * (inner or 1) > MOST_LAYERS or group >= (groups or 1) or number >= (inner or 1):
        return range(0)
    first, end = (-(-place * layers // (groups or 1)) for place in (group, group + 1))
    return range(first * (inner or 1) + number, end * (inner or 1), inner or 1)


def _count(attention: Attention, name: str) -> int:
    """A number of the configuration, 0 where it has none."""
    found = attention.config.keys.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


@lru_cache(maxsize=16)
def _aliases(layers: range) -> tuple[str, ...]:
    return tuple(f"layer {layer}" for layer in layers)
