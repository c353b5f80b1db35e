"""The identity output with a loss that forgives outliers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.declaration import N_TOKENS_FROM_ONE, THRESHOLD
from presage.protocol.fields import declared


@final
@dataclass(frozen=True)
class Huber(Channel):
    """Identity output with a loss that forgives: square up to `threshold`, linear beyond it, entry by entry.

    A residual r costs ``r^2`` as in `Linear`, and ``2 threshold |r| - threshold^2`` where ``|r| > threshold``.
    """

    n_tokens: int = field(default=N_TOKENS_FROM_ONE.default, metadata=declared(N_TOKENS_FROM_ONE))
    threshold: float = field(default=THRESHOLD.default, metadata=declared(THRESHOLD))

    def output(self, z: ArrayLike) -> Floats:
        return self.matrix(z)

    def loss(self, label: Floats, output: Floats) -> Floats:
        size = np.abs(label - output)
        near = np.minimum(size, self.threshold)
        return np.asarray(np.sum(near * (2.0 * size - near), axis=(-2, -1)))

    def _weights(self) -> tuple[Floats, Floats]:
        """Factor from a component to its entry of R, and how many entries of R it is."""
        rows, columns = np.triu_indices(self.n_tokens)
        diagonal = rows == columns
        return np.where(diagonal, np.sqrt(2.0), 1.0), np.where(diagonal, 1.0, 2.0)

    def _residual(self, label: Floats, z: Floats) -> Floats:
        """Output less label, for the entries on and above the diagonal."""
        rows, columns = np.triu_indices(self.n_tokens)
        return np.asarray(self._weights()[0] * z - label[..., rows, columns])

    def slope(self, label: Floats, z: Floats) -> Floats:
        factor, count = self._weights()
        return np.asarray(2.0 * count * factor * np.clip(self._residual(label, z), -self.threshold, self.threshold))

    def curvature(self, label: Floats, z: Floats) -> Floats:
        factor, count = self._weights()
        square = 2.0 * count * factor**2 * (np.abs(self._residual(label, z)) < self.threshold)
        return np.asarray(square[..., None] * np.eye(self.n_in))
