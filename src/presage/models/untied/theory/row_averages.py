"""What one kind of rows gives, averaged over its scores: the names, and where two minima of a proximal map can be."""

from __future__ import annotations

from typing import NamedTuple

LEAST_CURVATURE = (
    -0.48081762
)  # of |softmax(z) - y|^2 in z, over all z, y and numbers of keys: at two keys and y = (1, 0)


class RowAverages(NamedTuple):
    """Averages over the scores r of a row and r_0 of its label; p is the proximal map, lam = -grad l(p)."""

    response_0: float  # E tr dlam/dr_0
    response: float  # E tr dlam/dr
    pull: float  # E |lam|^2
    test: float  # E l(r)
    train: float  # E l(p)
    along: float  # E <sigma(p), sigma_0>, outputs without their gains
    square: float  # E |sigma(p)|^2
    stein_0: float  # E tr dlam/dr_0 and
    stein: float  # E tr dlam/dr by Stein's identity, nan where the scores have no density
