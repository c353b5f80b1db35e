"""A target made of features of features: a quadratic form of Hermite features of Gaussian inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from math import comb
from typing import Literal, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.declaration import (
    ALPHA,
    CLIP,
    DECAY,
    DEGREE,
    FEATURES,
    INPUTS,
    LINK,
    MIXING,
    MODEL,
    SIGNS,
)
from presage.models.compositional.links import IdentityLink, OuterLink
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem

ROUNDING = 1e-12  # of an eigenvalue of order one

Mixing = Literal["diagonal", "gaussian"]
Signs = Literal["alternating", "positive"]
Inputs = Literal["surrogate", "hermite"]


@final
@dataclass(frozen=True)
class CompositionalProblem(LearningProblem):
    """Features of the first layer, how the second mixes them, the last function, and the amount of data.

    F are the D = C(d + q - 1, q) Hermite coordinates of degree q of inputs x ~ N(0, 1_d), each of variance one. The
    first layer has features ``h_i = <A_i, F>`` with orthonormal A_i, the second

        h_2 = (h'Bh - Tr B)/sqrt(2),   |B|_F = 1

    and the labels are ``y = link(h_2)``. B has the eigenvalues ``lam_i = Z z_i i^-decay`` on its diagonal, z_i = +-1,
    or is dense with eigenvalues on a semicircle. There are ``n = alpha D`` samples for the first layer, and as many
    fresh ones for the layers above it. With ``inputs="surrogate"`` F is a Gaussian vector instead, for which the theory
    is meant.
    """

    alpha: float = field(metadata=declared(ALPHA))
    features: int = field(metadata=declared(FEATURES))
    decay: float | None = field(default=None, metadata=declared(DECAY))
    mixing: Mixing = field(default=MIXING.default, metadata=declared(MIXING))
    signs: Signs = field(default=SIGNS.default, metadata=declared(SIGNS))
    degree: int = field(default=DEGREE.default, metadata=declared(DEGREE))
    link: OuterLink = field(default=IdentityLink(), metadata=declared(LINK))
    inputs: Inputs = field(default=INPUTS.default, metadata=declared(INPUTS))
    clip: float | None = field(default=None, metadata=declared(CLIP))

    model = MODEL
    parts = ("link",)

    def check_together(self) -> None:
        if self.mixing == "diagonal" and self.decay is None:
            raise checks.complaint(
                "decay",
                "be given",
                "the strengths of a diagonal B are a power of their rank",
                self.decay,
                'Use for example <decay=0.5>, or <mixing="gaussian"> for a dense B.',
            )
        if self.mixing == "gaussian" and self.decay is not None:
            raise checks.complaint(
                "decay",
                "be left out",
                "a dense Gaussian B has eigenvalues on a semicircle, which do not fall as a power",
                self.decay,
                'Leave it out, or use <mixing="diagonal">.',
            )
        if self.mixing == "gaussian" and self.signs != SIGNS.default:
            raise checks.complaint(
                "signs",
                "be left out",
                "the eigenvalues of a dense Gaussian B have both signs",
                self.signs,
                'Leave it out, or use <mixing="diagonal">.',
            )

    def samples_at_one(self, d: int) -> int:
        return coordinates(d, self.degree)

    @property
    def strengths(self) -> Floats:
        """Eigenvalues lam_i of B, of unit sum of squares, the largest size first."""
        if self.mixing == "gaussian":
            values = np.array(_on_semicircle(self.features))
            values = values[np.argsort(-np.abs(values), kind="stable")]
            values = values if np.any(values) else np.ones(1)  # a single eigenvalue has its scale only
        else:
            assert self.decay is not None
            values = np.arange(1, self.features + 1, dtype=np.float64) ** -self.decay
            if self.signs == "alternating":
                values[1::2] *= -1.0
        return np.asarray(values / np.sqrt(np.sum(values**2)))


@cache
def _on_semicircle(count: int) -> tuple[float, ...]:
    """Quantiles of the semicircle of radius two, by bisection; the one in the middle of an odd number is zero."""
    level = (np.arange(count) + 0.5) / count
    low, high = np.full(count, -2.0), np.full(count, 2.0)
    for _ in range(60):
        x = 0.5 * (low + high)
        below = 0.5 + x * np.sqrt(4.0 - x**2) / (4.0 * np.pi) + np.arcsin(0.5 * x) / np.pi
        low, high = np.where(below < level, x, low), np.where(below < level, high, x)
    return tuple(float(x) if abs(x) > ROUNDING else 0.0 for x in 0.5 * (low - low[::-1]))


def coordinates(d: int, degree: int) -> int:
    """Number of Hermite coordinates of a degree of d inputs, ``D = C(d + q - 1, q)``."""
    return comb(d + degree - 1, degree)


def compositional(
    *,
    alpha: float,
    features: int,
    decay: float,
    signs: Signs = SIGNS.default,
    degree: int = DEGREE.default,
    link: OuterLink | None = None,
    inputs: Inputs = INPUTS.default,
    clip: float | None = None,
) -> CompositionalProblem:
    """A quadratic form of Hermite features with strengths ``Z z_i i^-decay``: ``alpha = n/D``, ``D = C(d + q - 1, q)``.

    `link` is the identity where it is left out; `clip` bounds the labels that the first layer uses.
    """
    last = IdentityLink() if link is None else link
    return CompositionalProblem(alpha, features, decay, "diagonal", signs, degree, last, inputs, clip)


def dense_compositional(
    *,
    alpha: float,
    features: int,
    degree: int = DEGREE.default,
    link: OuterLink | None = None,
    inputs: Inputs = INPUTS.default,
    clip: float | None = None,
) -> CompositionalProblem:
    """A quadratic form of Hermite features with a dense Gaussian matrix, whose eigenvalues are on a semicircle."""
    last = IdentityLink() if link is None else link
    return CompositionalProblem(alpha, features, None, "gaussian", SIGNS.default, degree, last, inputs, clip)
