"""The identity output: quadratic networks and linear attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel, checked_tokens


@final
@dataclass(frozen=True)
class Linear(Channel):
    """Identity activation: the quadratic network for one token, linear attention for more."""

    n_tokens: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_tokens", checked_tokens(self.n_tokens, 1, "a sample has at least one token"))

    @property
    def n_active(self) -> int:
        return self.n_in

    def target_output(self, z_0: ArrayLike) -> Floats:
        return self.matrix(z_0)

    def output(self, z: ArrayLike) -> Floats:
        return self.matrix(z)

    def prox(self, z_0: ArrayLike, z: ArrayLike, Sigma: float) -> Floats:
        """Weighted mean of ``z`` and ``z_0``: the loss is ``2 |z_0 - h|^2`` in the components."""
        label, centre = np.asarray(z_0, dtype=np.float64), np.asarray(z, dtype=np.float64)
        return np.asarray((centre + 4.0 * Sigma * label) / (1.0 + 4.0 * Sigma))
