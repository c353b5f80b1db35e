"""Laws of singular values: what a rectangular target looks like.

A matrix M has ``p`` rows or columns on its shorter side and ``N = aspect p`` on its longer one. Its singular values are
of order one and its size is ``Q_0 = |M|_F^2/sqrt(p N)``: the variance of ``<X, M>/(p N)^(1/4)`` for Gaussian X.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage import _check
from presage.model.discrete_laws import PointMasses
from presage.model.laws import Floats, SpectralLaw
from presage.model.product_squares import ProductSquares

MOST_ASPECT = 1e4


class RectangularLaw(ABC):
    """The limiting law of the ``p`` singular values of a p x N matrix whose two frames are uniform rotations.

    A law of one's own defines `aspect` and `squared`; the rest follows.
    """

    aspect: float  # N/p >= 1

    @property
    @abstractmethod
    def squared(self) -> SpectralLaw:
        """Law of the squared singular values, that is of the eigenvalues of ``M M'``, p x p."""

    @property
    def second_moment(self) -> float:
        """Size of the target, ``Q_0 = |M|_F^2/sqrt(p N)``."""
        return self.squared.mean / sqrt(self.aspect)

    @property
    def nonzero(self) -> float:
        """Fraction of the ``p`` singular values that are not zero."""
        positions, masses = self.squared.atoms
        return 1.0 - float(masses[positions == 0.0].sum())

    def sample(self, rows: int, columns: int, rng: np.random.Generator) -> Floats:
        """Draw a matrix of this law: singular values by quantile, frames uniform over all rotations."""
        p = self.check_shape(rows, columns)
        values = np.sqrt(np.maximum(self.squared.sample(p, rng), 0.0))
        left, right = _frame(rows, p, rng), _frame(columns, p, rng)
        return np.asarray((left * values) @ right.T)

    def check_shape(self, rows: int, columns: int) -> int:
        """Complain about a shape far from the aspect of the law; return the shorter side."""
        p, N = min(rows, columns), max(rows, columns)
        if p < 1 or abs(N - self.aspect * p) > 0.5 + 1e-9:
            raise _check.complaint(
                "shape",
                f"have sides in the ratio {self.aspect:g}",
                "the aspect is part of the law of the target",
                (rows, columns),
                f"Use for example {p} x {round(self.aspect * p)}, or a law of another aspect.",
            )
        return p


@final
@dataclass(frozen=True)
class GaussianProduct(RectangularLaw):
    """Law of ``U V/sqrt(r)`` for Gaussian factors of inner width ``r = rank p``; ``Q_0 = 1`` for every rank and aspect.

    The entries of ``S = U V/sqrt(r)`` are of order one; the law is that of ``M = S/(p N)^(1/4)``.
    """

    rank: float
    aspect: float = 1.0

    def __post_init__(self) -> None:
        rank = _check.real(
            "rank",
            self.rank,
            above=0.0,
            at_most=1e4,
            reason="it is the inner width of the product over the shorter side, r/p",
            remedy="Use for example rank=0.5; for a target of vanishing rank use a small value such as 0.01.",
        )
        object.__setattr__(self, "rank", rank)
        object.__setattr__(self, "aspect", _aspect(self.aspect))

    @cached_property
    def squared(self) -> ProductSquares:
        return ProductSquares(self.rank, self.aspect)

    @property
    def second_moment(self) -> float:
        return 1.0

    def sample(self, rows: int, columns: int, rng: np.random.Generator) -> Floats:
        """The product itself, of two Gaussian matrices."""
        width = max(1, round(self.rank * self.check_shape(rows, columns)))
        product = rng.standard_normal((rows, width)) @ rng.standard_normal((width, columns))
        return np.asarray(product / (sqrt(width) * (rows * columns) ** 0.25))


@final
@dataclass(frozen=True, eq=False)
class SingularValueMasses(RectangularLaw):
    """Given singular values with given weights (equal ones when `weights` is left out)."""

    values: ArrayLike
    weights: ArrayLike | None = None
    aspect: float = 1.0

    def __post_init__(self) -> None:
        law = PointMasses(self.values, self.weights)  # says what is wrong with values or weights
        values = np.asarray(law.values, dtype=np.float64)
        if values.min() < 0:
            raise _check.complaint(
                "values",
                "be zero or positive",
                "they are singular values",
                float(values.min()),
                "Drop the sign: it belongs to the singular vectors.",
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", np.asarray(law.weights, dtype=np.float64))
        object.__setattr__(self, "aspect", _aspect(self.aspect))

    @cached_property
    def squared(self) -> PointMasses:
        return PointMasses(np.asarray(self.values) ** 2, self.weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingularValueMasses) and self.aspect == other.aspect and self.squared == other.squared

    def __hash__(self) -> int:
        return hash((self.aspect, self.squared))


def _aspect(value: float) -> float:
    return _check.real(
        "aspect",
        value,
        at_least=1.0,
        at_most=MOST_ASPECT,
        reason="it is the longer side of the matrix over the shorter one, and a matrix and its transpose are the same",
        remedy="Use its inverse if it is below one, for example aspect=2.0.",
    )


def _frame(size: int, columns: int, rng: np.random.Generator) -> Floats:
    """Orthonormal columns, uniform over all rotations (the bare QR factor is not)."""
    frame, triangle = np.linalg.qr(rng.standard_normal((size, columns)))
    return np.asarray(frame * np.sign(np.diag(triangle)))
