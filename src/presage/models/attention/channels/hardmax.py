"""Hard attention: each token attends to one token only, the one with the largest score."""

from __future__ import annotations

from dataclasses import dataclass
from math import asin, pi, sqrt
from typing import final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.protocol import checks

SMALLEST = 1e-300  # a probability below it counts as this
CANCELLED = 18.0  # e-folds below its terms, at which a difference of them is the error of their quadrature


@final
@dataclass(frozen=True)
class Hardmax(Channel):
    """The limit of a softmax at infinite beta, for two tokens: a label is the sign of ``R_aa - R_ab`` in each row.

    There is no slope to learn by, so it has no empirical risk minimum to predict; it has a Bayes-optimal error.
    """

    n_tokens: int = 2

    label_fixes_target = False

    def __post_init__(self) -> None:
        checks.integer(
            "n_tokens",
            self.n_tokens,
            at_least=2,
            at_most=2,
            reason="the posterior of a hard maximum is in closed form for two tokens only",
            remedy="Use <n_tokens=2>, or Softmax(n_tokens, beta) with a large beta.",
        )

    @property
    def n_active(self) -> int:
        return 2

    def signs(self, z: ArrayLike) -> Floats:
        """Sign of ``R_aa - R_ab = sqrt(2) z_aa - z_ab`` for each of the two rows."""
        z = np.asarray(z, dtype=np.float64)
        rows = np.stack([sqrt(2.0) * z[..., 0] - z[..., 1], sqrt(2.0) * z[..., 2] - z[..., 1]], axis=-1)
        return np.where(rows >= 0.0, 1.0, -1.0)

    def output(self, z: ArrayLike) -> Floats:
        own = 0.5 * (1.0 + self.signs(z))
        first, second = own[..., 0], own[..., 1]
        return np.stack([np.stack([first, 1.0 - first], -1), np.stack([1.0 - second, second], -1)], axis=-2)

    def target_output(self, z_0: ArrayLike) -> Floats:
        return self.output(z_0)

    def prox(self, z_0: ArrayLike, z: ArrayLike, Sigma: float) -> Floats:
        raise checks.complaint(
            "channel",
            "have a loss with a slope",
            "a hard maximum is flat almost everywhere, and no learner can follow it",
            self,
            "Use Softmax(2, beta) with a large beta; <bayes_optimal()> works for Hardmax itself.",
        )


def signs_posterior(k_1: Floats, k_2: Floats, r: Floats) -> tuple[Floats, Floats, Floats]:
    """Probability Z of two positive signs of a Gaussian pair with means ``k`` and correlation r; ``d log Z/dk``.

    ``Z = Phi_2(k_1, k_2; r)``, ``d_1 = phi(k_1) Phi((k_2 - r k_1)/sqrt(1 - r^2))/Z``, d_2 alike.
    """
    Z = normal_pair_cdf(k_1, k_2, r)
    below = (r * r * (k_1**2 + k_2**2) - 2.0 * r * k_1 * k_2) / (2.0 * (1.0 - r * r))  # log of Phi(k_1) Phi(k_2)/Z
    lost = (r < 0.0) & (k_1 < 0.0) & (k_2 < 0.0) & (below > CANCELLED)
    Z = np.maximum(Z, SMALLEST)
    across = np.sqrt(1.0 - r * r)
    d_1 = np.asarray(np.exp(-0.5 * k_1**2) / sqrt(2.0 * pi) * scipy.special.ndtr((k_2 - r * k_1) / across) / Z)
    d_2 = np.asarray(np.exp(-0.5 * k_2**2) / sqrt(2.0 * pi) * scipy.special.ndtr((k_1 - r * k_2) / across) / Z)
    if lost.any():
        Z[lost], d_1[lost], d_2[lost] = _improbable(k_1[lost], k_2[lost], r[lost])
    return Z, d_1, d_2


def _improbable(k_1: Floats, k_2: Floats, r: Floats) -> tuple[Floats, Floats, Floats]:
    """The same far in the corner of two negative means, where Z is the small difference of two large terms.

    There ``log Z`` is that of the density at the corner over its two slopes, to a relative error of a few per cent.
    """
    free = 1.0 - r * r
    slope_1, slope_2 = (r * k_2 - k_1) / free, (r * k_1 - k_2) / free
    log_Z = -0.5 * (k_1**2 - 2.0 * r * k_1 * k_2 + k_2**2) / free - np.log(2.0 * pi * np.sqrt(free) * slope_1 * slope_2)
    return np.maximum(np.exp(log_Z), SMALLEST), slope_1, slope_2


_ANGLES, _WEIGHTS = np.polynomial.legendre.leggauss(14)
_THIRD = asin(1.0 / 3.0)


def normal_pair_cdf(k_1: Floats, k_2: Floats, r: Floats) -> Floats:
    """``Phi_2(k_1, k_2; r)`` for a correlation ``r = 1/3`` or ``-1/3``, by Plackett's integral over the correlation."""
    angles = 0.5 * _THIRD * (1.0 + _ANGLES)
    sines, cosines = np.sin(angles), np.cos(angles)
    sign = np.sign(r)[..., None]
    product, squares = (k_1 * k_2)[..., None], (k_1**2 + k_2**2)[..., None]
    exponent = -(squares - 2.0 * sign * sines * product) / (2.0 * cosines**2)
    integral = 0.5 * _THIRD * np.exp(exponent) @ _WEIGHTS
    return np.asarray(scipy.special.ndtr(k_1) * scipy.special.ndtr(k_2) + np.sign(r) * integral / (2.0 * pi))
