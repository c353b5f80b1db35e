"""The row-wise softmax of attention."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel, checked_tokens
from presage.protocol import checks


@final
@dataclass(frozen=True)
class Softmax(Channel):
    """Row-wise softmax: ``softmax(beta_0 R)`` for the target, ``softmax(beta R)`` for the learner."""

    n_tokens: int = 2
    beta: float = 1.0
    beta_0: float | None = None

    def __post_init__(self) -> None:
        tokens = checked_tokens(
            self.n_tokens,
            2,
            "the softmax of a single entry is 1 whatever the weights, nothing can be learned",
        )
        object.__setattr__(self, "n_tokens", tokens)
        given = {"beta": self.beta, "beta_0": self.beta if self.beta_0 is None else self.beta_0}
        for name, value in given.items():
            number = checks.real(
                name,
                value,
                above=0.0,
                at_most=1e3,
                reason="it is the inverse temperature of a softmax",
                remedy="Use for example beta=1.0; leave beta_0 out to give the target the learner's beta.",
            )
            object.__setattr__(self, name, number)

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
