"""How much each token of a sequence counts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import exp
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.fields import Declared, Number, declared

TAU = Number(
    "weight of a score, tau <e_i, e_j>/d",
    symbol=r"\tau",
    at_least=-20.0,
    at_most=20.0,
    default=0.0,
    example=1.0,
    reason="e^tau is how much a token attends to itself more than to others",
    span=(0.0, 4.0),
)
SMALLEST = 1e-100  # largest weight of given ones
ALIKE = 1e-9  # relative distance from the largest eigenvalue of others that are as good


class Pooling(Declared, ABC):
    """Weights of the tokens of a sequence, in the limit of large tokens."""

    by_scores: bool = False  # whether a sequence is pooled by a softmax of the scores of its own tokens

    @abstractmethod
    def weights(self, correlation: Floats) -> Floats:
        """The weight of each token, given how the classes of the tokens are correlated."""

    def check_length(self, n_tokens: int) -> None:
        """Complain where it is for another number of tokens."""


@final
@dataclass(frozen=True)
class MeanPooling(Pooling):
    """All tokens alike, ``w = 1/T``."""

    def weights(self, correlation: Floats) -> Floats:
        return np.full(len(correlation), 1.0 / len(correlation))


@final
@dataclass(frozen=True)
class CausalPooling(Pooling):
    """The mean output of causal self-attention with scores ``tau <e_i, e_j>/d``; ``tau = 0`` are harmonic weights."""

    tau: float = field(default=TAU.default, metadata=declared(TAU))

    by_scores = True

    def weights(self, correlation: Floats) -> Floats:
        """Scores of large tokens are tau with themselves and zero with others.

            w_s = (1/T) [e^tau/(s-1+e^tau) + sum_{t>s} 1/(t-1+e^tau)]

        Equation: [Sed26].
        Checked: tests/models/pooling/test_poolings.py::test_causal_weights_are_those_of_a_softmax
        """
        T, own = len(correlation), exp(self.tau)
        share = 1.0 / (np.arange(T) + own)
        later = np.concatenate([np.cumsum(share[::-1])[::-1][1:], [0.0]])
        return np.asarray((own * share + later) / T)


@final
@dataclass(frozen=True)
class BestPooling(Pooling):
    """The weights of the strongest signal: first eigenvector of the correlation matrix of the classes."""

    def weights(self, correlation: Floats) -> Floats:
        """Largest ``w' R w/|w|^2``.

        Equation: [Sed26].
        Checked: tests/models/pooling/test_poolings.py::test_no_weights_beat_the_best
        """
        values, vectors = np.linalg.eigh(correlation)
        best = vectors[:, values > values[-1] - ALIKE * len(values)]
        # Where several directions are as good, that of equal weights: it sums over the most tokens.
        even = best @ best.sum(axis=0)
        first = even if np.linalg.norm(even) > 1e-6 else best[:, -1]
        return np.asarray(first / np.linalg.norm(first))


@final
@dataclass(frozen=True)
class GivenPooling(Pooling):
    """Weights of one's own, one a token."""

    given: Any  # kept as a tuple of numbers

    def __post_init__(self) -> None:
        reason, remedy = "each is the weight of a token", "Use for example GivenPooling([1, 1, 0.5, 0.5])."
        weights = checks.finite("weights", self.given, reason=reason, remedy=remedy)
        if weights.ndim != 1 or not np.any(weights):
            got = "zeros" if weights.ndim == 1 and len(weights) else f"an array of shape {weights.shape}"
            raise checks.complaint("weights", "be a list of numbers, not all of them zero", reason, got, remedy)
        largest = float(np.abs(weights).max())
        if not SMALLEST < largest < 1.0 / SMALLEST:
            must = f"be between {SMALLEST:g} and {1.0 / SMALLEST:g} in size"
            raise checks.complaint("weights", must, "their squares are summed", largest, "Their scale plays no part.")
        object.__setattr__(self, "given", tuple(map(float, weights)))

    def check_length(self, n_tokens: int) -> None:
        if len(self.given) != n_tokens:
            reason, remedy = "there is a weight for every token of a sequence", f"Use <n_tokens={len(self.given)}>."
            raise checks.complaint("n_tokens", f"be {len(self.given)} here", reason, n_tokens, remedy)

    def weights(self, correlation: Floats) -> Floats:
        self.check_length(len(correlation))
        return np.array(self.given)
