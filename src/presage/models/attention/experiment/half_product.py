"""Scores of a symmetric matrix by half a matrix product."""

from __future__ import annotations

from math import sqrt
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.tokens import Reals

NARROW = 16  # columns of a piece: products this narrow are the quickest for their size
MOST_PIECES = 8  # beyond, there is little left to save


@final
class HalfProduct:
    """``(S + S')/2 = U + U'`` with U upper triangular, so that ``x_a' S x_b = (x_a' U) x_b + (x_b' U) x_a``.

    A piece of the columns of ``x U`` needs only the rows of U down to its own: all pieces together take little more
    than half the work of ``x S``, and no less accuracy.
    Checked: tests/models/attention/experiment/test_objective.py::test_half_a_product_gives_all_scores
    """

    def __init__(self, S: Floats, dtype: Any) -> None:
        d = len(S)
        symmetric = 0.5 * (S + S.T)  # with which tokens are alike on both sides, whatever S is
        U = np.triu(symmetric).astype(dtype)
        np.fill_diagonal(U, 0.5 * np.diag(S))
        width = NARROW * max(1, round(d / (NARROW * MOST_PIECES)))
        ends = [*range(width, d, width), d]
        self.pieces = [
            (start, stop, np.ascontiguousarray(U[:stop, start:stop]))
            for start, stop in zip([0, *ends], ends, strict=False)
        ]
        self.scale = 1.0 / sqrt(d)

    def scores(self, x: Reals, shift: Floats, left: Reals, R: Floats) -> None:
        """Write ``R_ab = x_a' S x_b/sqrt(d) - shift_ab`` of each sample; `left` has the shape of x, for scratch."""
        for start, stop, piece in self.pieces:
            np.matmul(x[:, :stop], piece, out=left[:, start:stop])
        kernels.scores_of_half(left, x, self.scale, shift, R)
