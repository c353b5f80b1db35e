"""P values of the largest values of many heads among those of flipped signs."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

from presage.checkpoints.flips import own_p, pooled_p
from presage.laws.spectral_law import Floats

Shape = tuple[int, int, int]


def flip_p_values(shapes: Sequence[Shape], top: Sequence[float], flips: Sequence[Sequence[float]]) -> Floats:
    """Pooled over the heads of a shape, its own where a head is the only one of its; nan where none were made.

    Checked: tests/checkpoints/test_flip_p_values.py::test_heads_of_a_shape_are_pooled
    """
    found = np.full(len(shapes), nan)
    together: dict[Shape, list[int]] = {}
    for at, shape in enumerate(shapes):
        if len(flips[at]):
            together.setdefault(shape, []).append(at)
    for places in together.values():
        tops = np.array([flips[at] for at in places])
        largest = np.array([top[at] for at in places])
        found[places] = [own_p(float(largest[0]), tops[0])] if len(places) == 1 else pooled_p(largest, tops)
    return found
