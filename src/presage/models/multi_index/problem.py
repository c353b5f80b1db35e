"""Labels that depend on a few directions of their samples, through one function of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import Any, Literal, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_index.declaration import (
    ALPHA,
    DECAY,
    FEATURES,
    JOINT,
    LINK,
    MODEL,
    NOISE,
    PREPROCESSING,
    READOUT,
    READOUT_DEGREE,
    SIGNAL,
)
from presage.models.multi_index.gaussian_means import moments
from presage.models.multi_index.links import Link, as_link
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem

Preprocessing = Literal["identity", "bounded", "hermite", "best"]
Readout = Literal["separate", "joint"]
CLEANEST = 1e4  # variance of the clean label over that of the noise, at the most


@final
@dataclass(frozen=True)
class MultiIndexProblem(LearningProblem):
    """Orthonormal directions w_k, a function of the score on each, the noise, and how samples are weighted.

    A label is ``y = sqrt(signal) sum_k a_k f(<w_k, x>) + sqrt(noise) xi`` with x and xi standard Gaussian, and there
    are ``n = alpha d`` of them. `decay` > 1/2 makes ``a_k = k^-decay``, features of falling size; 0 makes
    ``a_k = p^-1/2``, a committee of p equal ones.

    The learner diagonalises ``C = (1/n) sum T(y) (x x' - 1)`` and keeps the eigenvectors outside of its bulk; T is the
    `preprocessing` of the standardised label. Then it fits labels by Hermite polynomials of the recovered coordinates,
    up to `readout_degree`, by ridge regression on fresh samples: as d grows any part of the samples is enough for
    that, so that alpha does not count them.
    """

    link: Link = field(metadata=declared(LINK))
    alpha: float = field(metadata=declared(ALPHA))
    features: int = field(metadata=declared(FEATURES))
    decay: float = field(metadata=declared(DECAY))
    noise: float = field(default=NOISE.default, metadata=declared(NOISE))
    signal: float = field(default=SIGNAL.default, metadata=declared(SIGNAL))
    preprocessing: Preprocessing = field(default=PREPROCESSING.default, metadata=declared(PREPROCESSING))
    readout_degree: int = field(default=READOUT_DEGREE.default, metadata=declared(READOUT_DEGREE))
    readout: Readout = field(default=READOUT.default, metadata=declared(READOUT))

    model = MODEL
    parts = ("link",)

    def check_together(self) -> None:
        if 0.0 < self.decay <= 0.5:
            raise checks.complaint(
                "decay",
                "be above 1/2, or 0",
                "features k^-decay have a finite energy, however many there are, above 1/2 only",
                self.decay,
                "Use for example <decay=1.0>, or <decay=0.0> for a committee of equal features.",
            )
        if self.preprocessing == "best" and self.features > 1 and self.decay > 0.0:
            raise checks.complaint(
                "preprocessing",
                'be "identity", "bounded" or "hermite"',
                "features of different sizes have a best preprocessing each",
                self.preprocessing,
                "Use <preprocessing=bounded>, or <decay=0.0>; <thresholds()> has what is possible for each feature.",
            )
        clean = self.signal * moments(self.link).variance * float(np.sum(self.sizes**2))
        if clean > CLEANEST * self.noise:
            raise checks.complaint(
                "noise",
                f"be at least {clean / CLEANEST:.3g} here",
                f"the clean label has a variance of {clean:.3g}, and labels need some noise to have a density",
                self.noise,
                f"Use a larger <noise>, or a <signal> of at most {self.signal * CLEANEST * self.noise / clean:.3g}.",
            )

    def samples_at_one(self, d: int) -> int:
        return d

    @property
    def sizes(self) -> Floats:
        """Sizes a_k of the features, the largest first, without the signal."""
        if self.decay == 0.0:
            return np.full(self.features, 1.0 / sqrt(self.features))
        return np.asarray(np.arange(1.0, self.features + 1.0) ** -self.decay)

    @property
    def largest(self) -> int:
        """How many features have the largest size: one, or all of a committee."""
        return self.features if self.decay == 0.0 else 1

    @property
    def weights(self) -> Floats:
        """What multiplies the function of each feature in a label: ``sqrt(signal) a_k``."""
        return sqrt(self.signal) * self.sizes

    @property
    def label_mean(self) -> float:
        """Mean of a label."""
        return float(moments(self.link).coefficients[0] * self.weights.sum())

    @property
    def label_variance(self) -> float:
        """Variance of a label, its noise included: ``V_y = signal Var f sum_k a_k^2 + noise``."""
        return float(moments(self.link).variance * np.sum(self.weights**2) + self.noise)


def multi_index(
    link: Link | Callable[[Floats], Any],
    *,
    alpha: float,
    features: int,
    decay: float,
    noise: float = NOISE.default,
    preprocessing: Preprocessing = PREPROCESSING.default,
    readout_degree: int = READOUT_DEGREE.default,
    readout: Readout = READOUT.default,
    signal: float = SIGNAL.default,
) -> MultiIndexProblem:
    """Features of falling size, ``y = sqrt(signal) sum_k k^-decay f(<w_k, x>) + sqrt(noise) xi``: ``alpha = n/d``."""
    return MultiIndexProblem(
        as_link(link), alpha, features, decay, noise, signal, preprocessing, readout_degree, readout
    )


def single_index(
    link: Link | Callable[[Floats], Any],
    *,
    alpha: float,
    signal: float = SIGNAL.default,
    preprocessing: Preprocessing = PREPROCESSING.default,
    readout_degree: int = READOUT_DEGREE.default,
    readout: Readout = READOUT.default,
) -> MultiIndexProblem:
    """A single feature, ``y = sqrt(signal) f(<w, x>) + xi``, with noise of variance one: ``alpha = n/d``."""
    return MultiIndexProblem(as_link(link), alpha, 1, 0.0, 1.0, signal, preprocessing, readout_degree, readout)


def committee(
    link: Link | Callable[[Floats], Any],
    *,
    alpha: float,
    features: int,
    signal: float = SIGNAL.default,
    preprocessing: Preprocessing = PREPROCESSING.default,
    readout_degree: int = READOUT_DEGREE.default,
    readout: Readout = JOINT.default,
) -> MultiIndexProblem:
    """Equal features, ``y = sqrt(signal/p) sum_k f(<w_k, x>) + xi``, with noise of variance one: ``alpha = n/d``."""
    return MultiIndexProblem(as_link(link), alpha, features, 0.0, 1.0, signal, preprocessing, readout_degree, readout)
