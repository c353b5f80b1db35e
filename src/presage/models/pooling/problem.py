"""Tokens of two classes, of which only sequences are seen, each pooled to one vector."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.pooling.classes import TokenClasses
from presage.models.pooling.declaration import ALPHA, CLASSES, MODEL, N_TOKENS, POOLING, SIGNAL, VOCABULARY
from presage.models.pooling.poolings import Pooling
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem


@final
@dataclass(frozen=True)
class PoolingProblem(LearningProblem):
    """A table of tokens of two classes, sequences of them, and the weights by which a sequence is pooled.

    The table is ``E = mu s' + Z``, of dimension d with ``V = vocabulary d`` tokens: Z is standard Gaussian, s has a
    sign for every token, as many of one as of the other, and ``|mu|^2 = signal``. A sequence has `n_tokens` tokens
    whose classes are correlated as `classes` says; each is any token of its class. It is pooled to
    ``x = sum_t w_t e_t``, and ``N = alpha d`` such vectors, centred, have the covariance C, whose first direction is to
    find mu.
    """

    pooling: Pooling = field(metadata=declared(POOLING))
    alpha: float = field(metadata=declared(ALPHA))
    vocabulary: float = field(metadata=declared(VOCABULARY))
    signal: float = field(metadata=declared(SIGNAL))
    classes: TokenClasses = field(metadata=declared(CLASSES))
    n_tokens: int = field(default=N_TOKENS.default, metadata=declared(N_TOKENS))

    model = MODEL
    parts = ("pooling", "classes")

    def check_together(self) -> None:
        self.pooling.check_length(self.n_tokens)
        self.classes.check_length(self.n_tokens)

    def samples_at_one(self, d: int) -> int:
        return d

    @cached_property
    def correlation(self) -> Floats:
        """R, of the classes of the tokens of a sequence."""
        return self.classes.correlation(self.n_tokens)

    @cached_property
    def weights(self) -> Floats:
        """w, of the tokens of a sequence."""
        w = np.asarray(self.pooling.weights(self.correlation), dtype=np.float64)
        if w.shape != (self.n_tokens,) or not np.isfinite(w).all() or not np.any(w):
            reason = "each token has a weight, and some of them count"
            fits = w.shape == (self.n_tokens,)
            got = "zeros or numbers that are not finite" if fits else f"weights of shape {w.shape}"
            remedy = "Use for example MeanPooling()."
            raise checks.complaint("pooling", f"give {self.n_tokens} numbers, not all zero", reason, got, remedy)
        return w

    @property
    def tokens_that_count(self) -> float:
        """About how many tokens a pooled sequence is a sum of: ``|w|^4/sum_t w_t^4``, all T where weights are equal."""
        return float(np.sum(self.weights**2) ** 2 / np.sum(self.weights**4))


def attention_pooling(
    pooling: Pooling,
    *,
    alpha: float,
    vocabulary: float,
    signal: float,
    classes: TokenClasses,
    n_tokens: int = N_TOKENS.default,
) -> PoolingProblem:
    """Pooled sequences of tokens of two classes: ``alpha = N/d`` sequences, ``vocabulary = V/d`` different tokens."""
    return PoolingProblem(pooling, alpha, vocabulary, signal, classes, n_tokens)
