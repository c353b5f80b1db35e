"""The families of models whose attention can be cut into heads, one row a way of storing it."""

from __future__ import annotations

from typing import NamedTuple

from presage.checkpoints.cutting.family import LAYOUTS, Family
from presage.checkpoints.cutting.fused_families import FUSED
from presage.checkpoints.cutting.separate_families import SEPARATE

FAMILIES: tuple[Family, ...] = SEPARATE + FUSED


class Supported(NamedTuple):
    """A row of the table of families, in words."""

    family: str  # for `family=`
    models: str
    layout: str
    names: str
    cut: str


def supported() -> tuple[Supported, ...]:
    """The families whose heads can be cut, for a table of the documentation."""
    return tuple(
        Supported(
            family.name,
            ", ".join(family.serves),
            family.layout + (", stored (in, out)" if family.transposed else ""),
            ", ".join(name for naming in family.namings for name in (naming.query, naming.key) if name),
            LAYOUTS[family.layout],
        )
        for family in FAMILIES
    )
