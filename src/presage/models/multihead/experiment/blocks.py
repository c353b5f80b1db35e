"""What a pass over the samples does with a block of them: scores of all heads, and what slopes in scores pull at."""

from __future__ import annotations

from math import sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.half_product import HalfProduct


@final
class Heads:
    """Symmetric matrices, ready to meet tokens; a pass over them uses scratch that it makes by itself."""

    def __init__(self, matrices: Floats, n_tokens: int) -> None:
        self.matrices, self.T, self.d = matrices, n_tokens, matrices.shape[1]
        self.halves = [HalfProduct(matrix, np.float64) for matrix in matrices]
        self.shifts = [np.eye(n_tokens) * (np.trace(matrix) / sqrt(self.d)) for matrix in matrices]

    def scores(self, x: Floats, left: Floats) -> Floats:
        """``R_h = (x S_h x' - Tr S_h 1)/sqrt(d)`` of the samples with tokens x; `left` is scratch of their shape."""
        R = np.empty((len(self.halves), len(x) // self.T, self.T, self.T))
        for half, shift, scores in zip(self.halves, self.shifts, R, strict=True):
            half.scores(x, shift, left, scores)
        return R

    def pull(self, G: Floats, x: Floats, left: Floats, gradient: Floats) -> None:
        """Add ``sum_mu,ab G_h,ab (x_a x_b' - delta_ab 1)`` to the gradient of every head, for symmetric slopes G."""
        weight = np.empty((self.T, self.T))
        for h, slopes in enumerate(G):
            weight[:] = 0.0
            top, end = kernels.signed_squares(slopes, x, left, weight)
            gradient[h] += left[:top].T @ left[:top]
            gradient[h] -= left[end:].T @ left[end:]
            gradient[h] -= np.trace(weight) * np.eye(self.d)

    def whole(self, gradients: Floats) -> Floats:
        """The gradient in symmetric matrices, of the sum over the samples."""
        return np.asarray(0.5 / sqrt(self.d) * (gradients + gradients.transpose(0, 2, 1)))
