"""Where curves and maps are computed: places along a field, and their order, coarse to fine."""

from __future__ import annotations

from typing import NamedTuple

from presage.page.asked import Asked, FieldError
from presage.page.symbols import in_letters

STRIDES = (8, 4, 2, 1)  # every eighth place first, then those half way between


class Side(NamedTuple):
    """Places along a field."""

    field: str
    places: tuple[float, ...]
    label: str
    logarithmic: bool


def side(asked: Asked, field: str, low: float, high: float, count: int) -> Side:
    """So many places along a field, spaced as it is declared; those of a whole number are whole, and each is once."""
    import numpy as np

    number = asked.number(field)
    if not low < high:
        raise FieldError(field, f"A range of {field} must end above its beginning. Got {low:g} to {high:g}.")
    logarithmic = number.scale == "logarithmic"
    if logarithmic and low <= 0.0:
        raise FieldError(
            field, f"A range of {field} must begin above 0: its places are spaced by their logarithm. Got {low:g}."
        )
    places = np.geomspace(low, high, count) if logarithmic else np.linspace(low, high, count)
    if number.whole:
        places = np.unique(np.round(places))
    label = in_letters(number.axis(field))
    return Side(field, tuple(float(place) for place in places), label, logarithmic)


def coarse_to_fine(count: int) -> list[int]:
    """Every place of a side once: the ends and some between them first."""
    order = [index for stride in STRIDES for index in (*range(0, count, stride), count - 1)]
    return list(dict.fromkeys(order))


def coarse_to_fine_cells(columns: int, rows: int) -> list[tuple[int, int]]:
    """Every cell of a map once, a coarse picture of the whole first."""
    order = [
        (i, j)
        for stride in STRIDES
        for j in dict.fromkeys((*range(0, rows, stride), rows - 1))
        for i in dict.fromkeys((*range(0, columns, stride), columns - 1))
    ]
    return list(dict.fromkeys(order))
