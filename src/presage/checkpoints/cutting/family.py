"""How one family of models stores its attention: the names of the tensors, and where in them a head lies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import final

LAYOUTS = {  # where the rows of a head lie, with H query heads and G key heads of size h
    "separate": "query rows i*h:(i+1)*h of one tensor, key rows g*h:(g+1)*h of another, g = i // (H/G)",
    "blocks": "one tensor [Q; K; V]: query rows from i*h, key rows from H*h + g*h, g = i // (H/G)",
    "per-head": "one tensor, [q; k; v] for each head: query rows from 3*i*h, key rows from 3*i*h + h",
    "per-group": "one tensor, [q...q; k; v] for each group g from o = g*(H/G + 2)*h: queries o + r*h, key o + (H/G)*h",
}
NUMBER = r"\d{1,6}"  # of a layer: longer ones are none, and to read thousands of digits takes long
_PREFIX = r"(?P<prefix>(?:.*\.)?)"


@final
@dataclass(frozen=True)
class Norm:
    """The norms whose gains multiply what a layer's queries and keys see. ``{N}`` is the layer, ``{P}`` the one before.

    A name that begins with ``encoder:`` is looked up in the encoder beside this decoder, ``{L}`` being its last layer.
    """

    query: tuple[str, ...] = ()  # names, of which the first that is there counts; none at all: the norm has no gain
    key: tuple[str, ...] | None = None  # None: as the query's
    first: tuple[str, ...] | None = None  # of layer 0, where that is another
    plus_one: bool = False  # the gain is one more than what is stored
    only_if: tuple[str, bool] | None = None  # a flag of the configuration without which it is not known


@final
@dataclass(frozen=True)
class Naming:
    """Names of the tensors of one attention, without what stands before them. ``{N}`` is the number of the layer."""

    query: str  # or the fused tensor
    key: str = ""  # empty where the tensor is fused
    kind: str = "self"
    norm: Norm | None = None  # None: not known
    query_norm: str = ""  # of q_norm, where a model may have one
    key_norm: str = ""

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What the name of the query's (or the fused) weight matches, whatever stands before."""
        return compiled(self.query)


@final
@dataclass(frozen=True)
class Family:
    """One way to store attention, and the models that use it."""

    name: str  # for `family=`
    serves: tuple[str, ...]  # names of models, for people
    layout: str  # a key of LAYOUTS
    namings: tuple[Naming, ...]
    model_types: tuple[str, ...] = ()  # of config.json
    when: tuple[tuple[str, bool], ...] = ()  # flags of config.json that tell it from others of its model_type
    beside: tuple[str, ...] = ()  # names one of which must be there, where names of queries and keys serve several
    transposed: bool = False  # stored (in, out)
    keys: str = "grouped"  # "grouped": as many key heads as the file says, "all": as many as query heads, "one"
    fills: bool = False  # the heads together are as wide as the input: H*h = d
    rotary: str = ""  # "half" or "interleaved"
    partly_rotary: bool = False  # only some coordinates may be turned: the configuration says how many
    scale: str = "1/sqrt(h)"  # what the logits are multiplied by
    notes: tuple[str, ...] = ()  # what acts on the logits after M


def compiled(name: str) -> re.Pattern[str]:
    """A name with ``{N}`` and ``{G}`` as a regular expression, with anything before it that ends in a dot."""
    body = re.escape(name).replace(r"\{N\}", rf"(?P<layer>{NUMBER})").replace(r"\{G\}", rf"(?P<group>{NUMBER})")
    return re.compile(_PREFIX + body + r"\Z")
