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


def activation_kernel(h: Floats, other: Floats, activation: Activation) -> Floats:
    """Mean of the product of random features of two inputs, of norms a and b and scalar product q.

    That of ReLU; without its constant and linear part ``K - q/4 - (a + b - 1)/(2 pi)``, since ``relu(u) - u/2 = |u|/2``
    has the mean ``a/sqrt(2 pi)``.
    """
    q = h @ other.T
    own, others = np.einsum("ij,ij->i", h, h), np.einsum("ij,ij->i", other, other)
    K = relu_kernel(q, own, others)
    if activation == "relu":
        return K
    return np.asarray(K - 0.25 * q - (np.add.outer(np.sqrt(own), np.sqrt(others)) - 1.0) / (2.0 * pi))


def row_sizes(h: Floats, activation: Activation) -> Floats:
    """Norm of the random features of each input: root of the kernel of it with itself."""
    square = np.einsum("ij,ij->i", h, h)
    own = 0.5 * square if activation == "relu" else 0.25 * square - np.sqrt(square) / pi + 0.5 / pi
    return np.asarray(np.sqrt(np.maximum(own, TINY)))


@final
class Kernel:
    """The kernel of a random lift of infinite width, of the samples that it is fitted to and of others with them.

    Directions are looked for as in a random lift: in rows of norm one if so wished, and centred after that. Features
    are those of the rows as they are.
    """

    def __init__(self, h: Floats, activation: Activation, *, normalise: bool, centre: bool) -> None:
        self.activation, self.centre = activation, centre
        self.scale = root_mean_square(h)
        self.h = np.asarray(h / self.scale)
        self.sizes = row_sizes(self.h, activation) if normalise else np.ones(len(h))
        gram = activation_kernel(self.h, self.h, activation) / np.multiply.outer(self.sizes, self.sizes)
        means = gram.mean(axis=0) if centre else np.zeros(len(h))
        self.shift = means - means.mean()
        self.gram = gram - self.shift - means[:, None]

    def features(self, h: Floats, dual: Floats) -> Floats:
        """Features of these inputs in directions that are given by their dual coefficients."""
        rows = activation_kernel(h / self.scale, self.h, self.activation) / self.sizes
        if self.centre:
            rows -= rows.mean(axis=1, keepdims=True)
        return np.asarray(rows @ dual)

    def fitted(self, dual: Floats) -> Floats:
        """The same of the samples."""
        return np.asarray(self.sizes[:, None] * (self.gram @ dual + self.shift @ dual))

    def selected(self, y: Floats, count: int, pick: Pick, rng: np.random.Generator) -> Selected:
        """Eigenvalues of ``M = G^1/2 diag(y) G^1/2/n``, those of the signal matrix, and dual coefficients.

        ``A = G^-1/2 B`` with the eigenvectors B of M: features are ``G A`` on the samples, whose rows
        are of norm one if so wished, and `features` elsewhere.
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
