"""Signs and orders of the numbers of a link under which labels do not change, or change their sign."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.links import MatrixLink

PLACES, SPREAD = 256, 2.0  # random places at which both sides are compared, and their standard deviation
SAME = 1e-9  # relative difference that is rounding


class Relabelling(NamedTuple):
    """Numbers of a link in another order and with other signs, ``z'_h = signs_h z_(order_h)``."""

    order: tuple[int, ...]
    signs: tuple[int, ...]

    def __call__(self, z: Floats) -> Floats:
        return np.asarray(z[:, list(self.order)] * np.array(self.signs, dtype=np.float64))


def _changes(link: MatrixLink, relabelled: Relabelling) -> int:
    """1 where labels stay what they are, -1 where they change their sign, 0 where they change otherwise."""
    z = SPREAD * np.random.default_rng(2).standard_normal((PLACES, link.matrices))
    here, there = link(z), link(relabelled(z))
    size = SAME * float(np.abs(here).max())
    if np.abs(here - there).max() <= size:
        return 1
    return -1 if np.abs(here + there).max() <= size else 0


def _signs(matrices: int) -> list[tuple[int, ...]]:
    return list(product((1, -1), repeat=matrices))


@lru_cache(maxsize=64)
def sign_symmetries(link: MatrixLink) -> tuple[tuple[int, ...], ...]:
    """Signs of the numbers that labels of target and learner together do not tell: none changes, or all their sign.

    The noise of a label is as likely as its negative, so that squared differences of labels have the same law.
    """
    same = tuple(range(link.matrices))
    return tuple(signs for signs in _signs(link.matrices) if _changes(link, Relabelling(same, signs)))


@lru_cache(maxsize=64)
def invisible(link: MatrixLink) -> tuple[Relabelling, ...]:
    """Signs and orders that labels of a learner do not tell: its matrices are known up to these."""
    every = (Relabelling(o, s) for o in permutations(range(link.matrices)) for s in _signs(link.matrices))
    return tuple(one for one in every if _changes(link, one) == 1)


def untold_pairs(link: MatrixLink) -> tuple[tuple[int, int], ...]:
    """Pairs of numbers that no sign symmetry tells apart: a mean of a product of the two need not vanish."""
    known = sign_symmetries(link)
    pairs = ((h, k) for k in range(link.matrices) for h in range(k))
    return tuple(pair for pair in pairs if all(signs[pair[0]] == signs[pair[1]] for signs in known))
