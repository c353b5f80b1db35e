"""Which values of a trained spectrum are not zero."""

from __future__ import annotations

import numpy as np

from presage.protocol.ensemble import Floats


def largest_by_rank(values: Floats, rank: float) -> Floats:
    """The values largest by size, as many as the `rank` says, a fraction of all; from small to large by size.

    Training leaves small numbers where the minimum has zeros, so which are zero is said by the rank.
    """
    order = np.argsort(np.abs(values))
    return np.asarray(values[order[len(values) - round(rank * len(values)) :]])
