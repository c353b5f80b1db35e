"""The row-wise softmax of attention."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from math import sqrt
from typing import Any, Self, final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel, temperatures
from presage.models.attention.declaration import BETA, BETA_0, N_TOKENS
from presage.protocol.fields import declared


@final
@dataclass(frozen=True)
class Softmax(Channel):
    """Row-wise softmax: ``softmax(beta_0 R)`` for the target, ``softmax(beta R)`` for the learner."""

    n_tokens: int = field(default=N_TOKENS.default, metadata=declared(N_TOKENS))
    beta: float = field(default=BETA.default, metadata=declared(BETA))
    beta_0: float | None = field(default=None, metadata=declared(BETA_0))  # that of the learner where it is left out

    compiled = True
    label_fixes_target = True  # up to the shift that it does not see, at any temperature

    def check_together(self) -> None:
        object.__setattr__(self, "beta_0", self.target_beta)

    def replaced(self, **changes: Any) -> Self:
        """A copy with some numbers changed; equal temperatures stay equal."""
        return replace(self, **temperatures(self, changes))

    @property
    def target_beta(self) -> float:
        """Inverse temperature of the target, as a number."""
        return self.beta if self.beta_0 is None else self.beta_0

    @property
    def beta_ratio(self) -> float:
        """``beta_0/beta``: the loss is zero at ``(beta_0/beta) z_0``."""
        return self.target_beta / self.beta

    @property
    def n_active(self) -> int:
        """Softmax does not see a common shift of all entries of R: one direction less."""
        return self.n_in - 1

    def target_output(self, z_0: ArrayLike) -> Floats:
        return _softmax(self.target_beta * self.matrix(z_0))

    def output(self, z: ArrayLike) -> Floats:
        return _softmax(self.beta * self.matrix(z))

    def prox(self, z_0: ArrayLike, z: ArrayLike, Sigma: float) -> Floats:
        from presage.models.attention.channels.pair_prox import pairs_prox
        from presage.models.attention.channels.prox_report import REPORTED
        from presage.models.attention.channels.tokens_prox import tokens_prox

        label, centre = np.broadcast_arrays(np.asarray(z_0, dtype=np.float64), np.asarray(z, dtype=np.float64))
        shape = centre.shape
        anchor = np.ascontiguousarray(label.reshape(-1, self.n_in)) * self.beta_ratio
        flat = np.ascontiguousarray(centre.reshape(-1, self.n_in))
        f, report = np.empty_like(flat), np.empty((len(flat), REPORTED))
        if self.n_tokens == 2:
            pairs_prox(anchor, flat, float(Sigma), self.beta, f, report)
        else:
            tokens_prox(anchor, flat, float(Sigma), self.beta, self.n_tokens, f, report)
        return np.asarray((flat + Sigma * f).reshape(shape))


@cache
def blind_direction(n_tokens: int) -> Floats:
    """Components of a common shift of all entries of R, which softmax does not see: ``u_ab = 1/sqrt(1 + delta_ab)``."""
    rows, columns = np.triu_indices(n_tokens)
    blind = np.where(rows == columns, 1.0 / sqrt(2.0), 1.0)
    blind.flags.writeable = False
    return blind


def _softmax(logits: Floats) -> Floats:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
