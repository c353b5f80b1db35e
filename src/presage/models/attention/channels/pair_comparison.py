"""Two channels written on the public interface alone, as a user's own channel is: comparisons and robust regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.protocol import checks


@final
@dataclass(frozen=True)
class PairComparison(Channel):
    """Which of two tokens is preferred: a logistic label, and a learner trained with the logistic loss.

    Each token has the score ``x' S x``; the first is preferred (label +1, else -1) with probability
    ``sigmoid(beta_0 (R_11 - R_22))``, and the learner's output is its logit ``beta (R_11 - R_22)``.
    """

    beta: float = 1.0
    beta_0: float | None = None

    n_tokens = 2
    labels = (-1.0, 1.0)

    def __post_init__(self) -> None:
        given = {"beta": self.beta, "beta_0": self.beta if self.beta_0 is None else self.beta_0}
        for name, value in given.items():
            number = checks.real(
                name,
                value,
                above=0.0,
                at_most=1e3,
                reason="it is how sharply a difference of scores decides",
                remedy="Use for example beta=1.0; leave beta_0 out to give the target the learner's beta.",
            )
            object.__setattr__(self, name, number)

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
