"""Which of two tokens is preferred: a channel with random labels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self, final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel, temperatures
from presage.models.attention.declaration import BETA, BETA_0
from presage.protocol.fields import declared

DECIDES = "it is how sharply a difference of scores decides"
SHARPNESS, TARGET_SHARPNESS = replace(BETA, reason=DECIDES), replace(BETA_0, reason=DECIDES)


@final
@dataclass(frozen=True)
class PairComparison(Channel):
    """Which of two tokens is preferred: a logistic label, and a learner trained with the logistic loss.

    Each token has the score ``x' S x``; the first is preferred (label +1, else -1) with probability
    ``sigmoid(beta_0 (R_11 - R_22))``, and the learner's output is its logit ``beta (R_11 - R_22)``.
    """

    beta: float = field(default=SHARPNESS.default, metadata=declared(SHARPNESS))
    beta_0: float | None = field(default=None, metadata=declared(TARGET_SHARPNESS))  # the learner's where left out

    n_tokens = 2
    labels = (-1.0, 1.0)

    def check_together(self) -> None:
        object.__setattr__(self, "beta_0", self.beta if self.beta_0 is None else self.beta_0)

    def replaced(self, **changes: Any) -> Self:
        """A copy with some numbers changed; equal sharpnesses stay equal."""
        return replace(self, **temperatures(self, changes))

    def _difference(self, z: ArrayLike) -> Floats:
        """``R_11 - R_22``."""
        components = np.asarray(z, dtype=np.float64)
        return np.asarray(np.sqrt(2.0) * (components[..., 0] - components[..., 2]))

    def output(self, z: ArrayLike) -> Floats:
        return self.beta * self._difference(z)

    def target_output(self, z_0: ArrayLike) -> Floats:
        """The logit of the target: the label is drawn from it."""
        assert self.beta_0 is not None
        return self.beta_0 * self._difference(z_0)

    def likelihood(self, label: Floats, z_0: Floats) -> Floats:
        return np.asarray(scipy.special.expit(label * self.target_output(z_0)))

    def loss(self, label: Floats, output: Floats) -> Floats:
        """``log(1 + exp(-label logit))``, without overflow."""
        return np.asarray(np.logaddexp(0.0, -label * output))
