"""Weights that serve several layers of a model, reported once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from presage.checkpoints.cutting.attention import Attention


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
        yield replace(attention, layer=layers[0], shared=tuple(f"layer {layer}" for layer in layers[1:]))


def _layers_served(attention: Attention) -> list[int]:
    keys = attention.config.keys
    layers, groups, inner = (keys.get(name) for name in ("num_hidden_layers", "num_hidden_groups", "inner_group_num"))
    if not isinstance(layers, int) or layers < 1:
        return []
    groups, inner = (value if isinstance(value, int) and value > 0 else 1 for value in (groups, inner))
    served = (layer for layer in range(layers) if layer * groups // layers == int(attention.group))
    return [layer * inner + int(attention.number) for layer in served]
