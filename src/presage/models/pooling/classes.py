"""How much the tokens of a sequence agree on its class: the correlation matrix of their classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, final
from zlib import crc32

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.fields import Declared, Number, declared

R = Number(
    "agreement of the first token with the class of its sequence",
    symbol="r",
    at_least=-1.0,
    at_most=1.0,
    example=0.5,
    reason="it is the mean of a number that is 1 or -1",
    span=(0.0, 1.0),
)
DECAY = Number(
    "factor by which the agreement falls from token to token",
    at_least=0.0,
    at_most=1.0,
    default=1.0,
    example=0.8,
    reason="agreement does not grow along a sequence",
    span=(0.0, 1.0),
)
ROUNDING = 1e-9


class TokenClasses(Declared, ABC):
    """Law of the classes, 1 or -1, of the tokens of a sequence; each class is as frequent as the other."""

    @abstractmethod
    def correlation(self, n_tokens: int) -> Floats:
        """Correlation matrix of the classes: ones on its diagonal."""

    @abstractmethod
    def draw(self, count: int, n_tokens: int, rng: np.random.Generator) -> Any:
        """Classes of the tokens of many sequences, one row each, 1 or -1."""

    def check_length(self, n_tokens: int) -> None:
        """Complain where it is for another number of tokens."""


@final
@dataclass(frozen=True)
class AlignedTokens(TokenClasses):
    """A sequence has a class y, and token t has it, ``s_t = y b_t``, with ``E b_t = r_t = r decay^(t-1)``.

    ``R = r r' + diag(1 - r^2)``.
    """

    r: float = field(metadata=declared(R))
    decay: float = field(default=DECAY.default, metadata=declared(DECAY))

    def agreement(self, n_tokens: int) -> Floats:
        """``r_t`` of every token."""
        return np.asarray(self.r * self.decay ** np.arange(n_tokens, dtype=np.float64))

    def correlation(self, n_tokens: int) -> Floats:
        r = self.agreement(n_tokens)
        matrix = np.outer(r, r)
        np.fill_diagonal(matrix, 1.0)
        return np.asarray(matrix)

    def draw(self, count: int, n_tokens: int, rng: np.random.Generator) -> Any:
        y = rng.integers(0, 2, (count, 1)) * 2 - 1
        agrees = rng.random((count, n_tokens)) < 0.5 * (1.0 + self.agreement(n_tokens))
        return np.where(agrees, y, -y)


@final
@dataclass(frozen=True, repr=False)
class CorrelatedTokens(TokenClasses):
    """Classes with a correlation matrix of one's own: the signs of Gaussian numbers, whose covariance is found for it.

    The correlation of two signs is ``(2/pi) arcsin c``, so that ``c = sin(pi R/2)``, which has to be a covariance too.
    """

    matrix: Any  # kept as a tuple of rows

    def __post_init__(self) -> None:
        reason = "it holds the correlations of the classes of every two tokens"
        remedy = "Use for example np.full((8, 8), 0.6) with ones on its diagonal."
        R = checks.symmetric("matrix", self.matrix, reason=reason, remedy=remedy)
        object.__setattr__(self, "matrix", tuple(tuple(map(float, row)) for row in R))
        off = np.abs(np.diag(R) - 1.0).max(initial=0.0)
        if len(R) == 0 or max(off, np.abs(R).max(initial=0.0) - 1.0) > ROUNDING:
            worst = float(R.flat[int(np.argmax(np.abs(R)))]) if len(R) else 0.0
            first = np.diag(R)[np.argmax(np.abs(np.diag(R) - 1.0))] if len(R) else 1.0
            got = f"{first:g} on it" if off > ROUNDING else f"{worst:g}"
            must, reason = "have ones on its diagonal and nothing beyond one", "a class is its own copy"
            raise checks.complaint("matrix", must, reason, got if len(R) else "an empty one", remedy)
        for what, one in (("a correlation matrix", R), ("one that signs can have", np.sin(0.5 * np.pi * R))):
            least = float(np.linalg.eigvalsh(one)[0])
            if least < -ROUNDING * len(R):
                why = (
                    "its eigenvalues must not be negative"
                    if one is R
                    else "sin(pi R/2) is the covariance of the Gaussian numbers whose signs are drawn"
                )
                raise checks.complaint("matrix", f"be {what}", why, f"a least eigenvalue {least:.3g}", remedy)

    def __repr__(self) -> str:
        """Its size, and a number by which two matrices can be told apart."""
        size, mark = len(self.matrix), crc32(np.array(self.matrix).tobytes())
        return f"CorrelatedTokens({size} x {size}, {mark:08x})"

    def check_length(self, n_tokens: int) -> None:
        if len(self.matrix) != n_tokens:
            reason = "the matrix has a row for every token of a sequence"
            remedy = f"Use <n_tokens={len(self.matrix)}>, or another matrix."
            raise checks.complaint("n_tokens", f"be {len(self.matrix)} here", reason, n_tokens, remedy)

    def correlation(self, n_tokens: int) -> Floats:
        self.check_length(n_tokens)
        return np.array(self.matrix)

    def draw(self, count: int, n_tokens: int, rng: np.random.Generator) -> Any:
        values, vectors = np.linalg.eigh(np.sin(0.5 * np.pi * self.correlation(n_tokens)))
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.where(rng.standard_normal((count, n_tokens)) @ root.T > 0.0, 1, -1)
