"""What the other atoms of a law are to each of its atoms: how far the next one is, and the field of all of them."""

from __future__ import annotations

from typing import final

import numpy as np

from presage.laws.cauchy_sums import AtomTree, Floats, sums_of_others


@final
class Neighbours:
    """Gaps between atoms, and the field that the others make at an atom: nothing of it depends on any noise.

    Fields are computed from the largest atom down, as far as somebody has asked, and kept.
    """

    def __init__(self, tree: AtomTree) -> None:
        self._tree = tree
        roots = np.cbrt(tree.masses)
        # Two atoms alone close their gap at this delta.
        closes = np.diff(tree.positions) / (roots[1:] + roots[:-1]) ** 1.5
        self._least_above = np.minimum.accumulate(closes[::-1])[::-1]
        self._known_from = tree.positions.size
        self._force = np.empty(0)
        self._slope = np.empty(0)

    def clear_from(self, delta: float) -> int:
        """Index of the lowest atom such that from it on no gap is closed by its own two atoms at this delta."""
        return int(np.searchsorted(self._least_above, delta, side="right")) + 1 if len(self._least_above) else 0

    def fields(self, first: int) -> tuple[Floats, Floats]:
        """``sum_j w_j/(s_i - s_j)`` and ``-sum_j w_j/(s_i - s_j)^2`` over the others, for the atoms from `first`."""
        if first < self._known_from:
            force, slope = sums_of_others(self._tree, first, self._known_from)
            self._force, self._slope = np.concatenate([force, self._force]), np.concatenate([slope, self._slope])
            self._known_from = first
        return self._force[first - self._known_from :], self._slope[first - self._known_from :]
