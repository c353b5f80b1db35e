"""Layers of infinite width: directions in the space of a kernel of the inputs, by dual coefficients."""

from __future__ import annotations

from functools import cached_property
from math import pi
from typing import final

import numpy as np

from presage.models.lofi.experiment.lifts import Activation, root_mean_square
from presage.models.lofi.experiment.signal_matrix import Pick, Selected, by_sides, edges_of, leading
from presage.protocol.ensemble import Floats

CLIPPED = 1e-6  # least eigenvalue of a Gram matrix, over its mean one, that is divided by
TINY = 1e-300


def relu_kernel(q: Floats, own: Floats, other: Floats) -> Floats:
    """Mean of ``relu(u) relu(v)`` over Gaussian u and v of covariance q and variances `own` and `other`.

    K = r (sin t + (pi - t) cos t)/(2 pi),   r = sqrt(own other),   cos t = q/r
    """
    r = np.sqrt(np.multiply.outer(own, other))
    cos = np.clip(q / np.maximum(r, TINY), -1.0, 1.0)
    t = np.arccos(cos)
    return np.asarray(r * (np.sin(t) + (pi - t) * cos) / (2.0 * pi))


@final
class Kernel:
    """The kernel of a random lift of infinite width, of the samples that it is fitted to and of others with them.

    Without its constant and linear part the activation is no longer homogeneous, so that inputs have norm one then.
    """

    def __init__(self, h: Floats, activation: Activation, *, normalise: bool, centre: bool) -> None:
        self.activation, self.normalise, self.centre = activation, normalise or activation != "relu", centre
        self.scale = root_mean_square(h)
        self.h = self._inputs(h)
        gram = self._plain(self.h, self.h)
        self.means, self.mean = gram.mean(axis=0), float(gram.mean())
        self.gram = self._centred(gram)

    def rows(self, h: Floats) -> Floats:
        """The kernel of these inputs with the samples."""
        return self._centred(self._plain(self._inputs(h), self.h))

    def selected(self, y: Floats, count: int, pick: Pick, rng: np.random.Generator) -> Selected:
        """Eigenvalues of ``M = G^1/2 diag(y) G^1/2/n``, those of the signal matrix, and dual coefficients.

        ``A = G^-1/2 B`` with the eigenvectors B of M: features are ``G A`` on the samples and ``K(x, X) A`` elsewhere.
        """
        values, vectors = self._diagonalised
        least = CLIPPED * max(float(np.mean(values)), TINY)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        M = root @ (y[:, None] * root) / len(y)
        if pick == "size":
            found = leading(M, count, rng)
        else:
            shuffled = root @ (rng.permutation(y)[:, None] * root) / len(y)
            found = by_sides(M, edges_of(shuffled, rng), count, rng)
        inverse = np.where(values > least, 1.0 / np.sqrt(np.maximum(values, least)), 0.0)
        return Selected(found.values, vectors @ (inverse[:, None] * (vectors.T @ found.vectors)))

    @cached_property
    def _diagonalised(self) -> tuple[Floats, Floats]:
        values, vectors = np.linalg.eigh(self.gram)
        return values, vectors

    def _inputs(self, h: Floats) -> Floats:
        if not self.normalise:
            return np.asarray(h / self.scale)
        return np.asarray(h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), TINY))

    def _plain(self, h: Floats, other: Floats) -> Floats:
        q = h @ other.T
        K = relu_kernel(q, np.einsum("ij,ij->i", h, h), np.einsum("ij,ij->i", other, other))
        return K if self.activation == "relu" else K - 1.0 / (2.0 * pi) - 0.25 * q

    def _centred(self, K: Floats) -> Floats:
        if not self.centre:
            return K
        return np.asarray(K - K.mean(axis=1, keepdims=True) - self.means + self.mean)
