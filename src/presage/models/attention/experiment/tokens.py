"""Where tokens come from: Gaussian as the theory assumes, signs, or real embeddings, to see what depends on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.protocol import checks

Reals = NDArray[np.floating[Any]]


class Tokens(ABC):
    """A source of tokens: vectors of dimension d with mean zero and covariance one."""

    def check(self, d: int) -> None:  # noqa: B027 - most sources have any dimension
        """Complain if this source has no tokens of dimension `d`."""

    @abstractmethod
    def fill(self, out: Reals, rng: np.random.Generator) -> None:
        """Write a token to each row of `out`."""


@final
@dataclass(frozen=True)
class Gaussian(Tokens):
    """Standard Gaussian tokens, as the theory assumes."""

    def fill(self, out: Reals, rng: np.random.Generator) -> None:
        rng.standard_normal(out=out, dtype=out.dtype.type)


@final
@dataclass(frozen=True)
class Rademacher(Tokens):
    """Tokens of independent fair signs.

    A sign squares to one, so ``x_a' S x_a`` loses the diagonal of S: its variance is ``2 (Q - sum_i S_ii^2/d)`` and
    not ``2 Q``. For a target with a non-zero mean eigenvalue that is a difference of order one, and only the scores
    of two different tokens are universal.
    """

    def fill(self, out: Reals, rng: np.random.Generator) -> None:
        bits = np.unpackbits(rng.integers(0, 256, size=-(-out.size // 8), dtype=np.uint8), count=out.size)
        np.multiply(bits.reshape(out.shape), 2.0, out=out)
        out -= 1.0


@final
@dataclass(frozen=True, eq=False)
class Embeddings(Tokens):
    """Tokens drawn at random from the rows of an array of real embeddings, whitened.

    The mean is removed and the covariance made one, exactly over the rows that are given; with ``d`` below the number
    of columns, the d directions of largest variance are kept.
    """

    vectors: Floats

    def __post_init__(self) -> None:
        reason = "it is a table with one embedding a row"
        remedy = "Give an array of shape (number of embeddings, dimension), with many more rows than columns."
        array = np.asarray(self.vectors)
        if array.ndim != 2 or not np.issubdtype(array.dtype, np.floating):
            raise checks.complaint("vectors", "be a two-dimensional array of floats", reason, array.shape, remedy)
        if array.shape[0] <= array.shape[1] or array.shape[1] < 1:
            why = "fewer embeddings than dimensions cannot have covariance one"
            raise checks.complaint("vectors", "have more rows than columns", why, array.shape, remedy)
        if not np.isfinite(array).all():
            bad = int(np.count_nonzero(~np.isfinite(array)))
            clean = "Drop those rows before."
            raise checks.complaint(
                "vectors", "be finite", "a NaN would end in every weight", f"{bad} bad entries", clean
            )
        object.__setattr__(self, "vectors", array)

    @cached_property
    def whitened(self) -> Floats:
        """The embeddings with mean zero and covariance one, directions of largest variance first."""
        centred = self.vectors - self.vectors.mean(axis=0)
        left, singular, _ = np.linalg.svd(centred.astype(np.float64), full_matrices=False)
        if not singular[-1] > 1e-6 * singular[0]:
            flat = int(np.count_nonzero(singular <= 1e-6 * singular[0]))
            raise checks.complaint(
                "vectors",
                "vary in every direction",
                "a direction without variance cannot be whitened",
                f"{flat} of {len(singular)} directions are flat",
                "Project the embeddings on the directions that vary before.",
            )
        return np.asarray(left * np.sqrt(len(left)))

    def check(self, d: int) -> None:
        columns = self.vectors.shape[1]
        if d > columns:
            reason = f"the embeddings have {columns} dimensions"
            raise checks.complaint("d", f"be at most {columns}", reason, d, "Use a smaller d or longer embeddings.")
        _ = self.whitened

    def fill(self, out: Reals, rng: np.random.Generator) -> None:
        rows = rng.integers(0, len(self.vectors), size=len(out))
        out[:] = self.whitened[rows, : out.shape[1]]
