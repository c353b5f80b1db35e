"""The identity output: quadratic networks and linear attention."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.declaration import N_TOKENS_FROM_ONE
from presage.protocol.fields import declared


@final
@dataclass(frozen=True)
class Linear(Channel):
    """Identity activation: the quadratic network for one token, linear attention for more."""

    n_tokens: int = field(default=N_TOKENS_FROM_ONE.default, metadata=declared(N_TOKENS_FROM_ONE))

    linear = True
    compiled = True
    label_fixes_target = True

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
