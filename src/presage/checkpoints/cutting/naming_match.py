"""The name of a tensor, as the families that know it read it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from presage.checkpoints.cutting.families import FAMILIES
from presage.checkpoints.cutting.family import NUMBER, Family, Naming

_ENDS = tuple({naming.query.rsplit("}", 1)[-1] for family in FAMILIES for naming in family.namings})
_LAST_NUMBER = re.compile(rf"(?P<before>(?:.*\.)?)(?P<layer>{NUMBER})\.(?P<after>.*)")


class NamingMatch(NamedTuple):
    """A family that knows the name of a query (or fused) tensor, and what the name says."""

    family: Family
    naming: Naming
    prefix: str  # what stands before the names of the layer
    stack: str  # what all layers of a tower share
    layer: int
    number: str  # of the layer, as it is written; empty where the family's names have none
    group: str  # of a layer group of ALBERT

    def filled(self, name: str) -> str:
        """Another name of the same layer, whole."""
        return self.prefix + name.replace("{N}", self.number).replace("{G}", self.group)


def naming_matches(name: str) -> Iterator[NamingMatch]:
    """All families that know a name, each once."""
    if not name.endswith(_ENDS):  # most names: no need to look at any pattern
        return
    for family in FAMILIES:
        for naming in family.namings:
            found = naming.pattern.match(name)
            if found:
                yield _read(family, naming, found)
                break


def _read(family: Family, naming: Naming, found: re.Match[str]) -> NamingMatch:
    prefix, groups = found["prefix"], found.groupdict()
    if "layer" in groups:
        return NamingMatch(
            family, naming, prefix, prefix, int(found["layer"]), found["layer"], groups.get("group") or ""
        )
    number = _LAST_NUMBER.fullmatch(prefix)  # names of PyTorch's own module say nothing of layers: what is before may
    if number is None:
        return NamingMatch(family, naming, prefix, prefix, 0, "", "")
    return NamingMatch(family, naming, prefix, number["before"] + number["after"], int(number["layer"]), "", "")
