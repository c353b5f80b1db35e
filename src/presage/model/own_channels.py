"""Two channels written on the public interface alone, as a user's own channel is: comparisons and robust regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from presage import _check
from presage.model.channels import MOST_TOKENS, Channel
from presage.model.laws import Floats


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
            number = _check.real(
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


@final
@dataclass(frozen=True)
class Huber(Channel):
    """Identity output with a loss that forgives: square up to `threshold`, linear beyond it, entry by entry.

    A residual r costs ``r^2`` as in `Linear`, and ``2 threshold |r| - threshold^2`` where ``|r| > threshold``.
    """

    n_tokens: int = 1
    threshold: float = 1.0

    def __post_init__(self) -> None:
        tokens = _check.integer(
            "n_tokens",
            self.n_tokens,
            at_least=1,
            at_most=MOST_TOKENS,
            reason="a sample has at least one token",
            remedy="Use for example n_tokens=1.",
        )
        threshold = _check.real(
            "threshold",
            self.threshold,
            above=0.0,
            reason="it is the residual beyond which the loss grows linearly",
            remedy="Use for example threshold=1.0.",
        )
        object.__setattr__(self, "n_tokens", tokens)
        object.__setattr__(self, "threshold", threshold)

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
