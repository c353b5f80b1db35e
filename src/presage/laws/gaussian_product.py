"""Singular values of a product of two Gaussian factors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import final

import numpy as np

from presage.laws.product_squares import ProductSquares
from presage.laws.rectangular_law import ASPECT, RectangularLaw
from presage.laws.spectral_law import Floats
from presage.protocol.fields import Declared, Number, declared

RANK = Number(
    "inner width of the product over the shorter side, r/p",
    at_least=1e-6,
    at_most=1e4,
    example=0.5,
    usual_up_to=10.0,
    hint="it is a fraction, and a rank of 30 at d = 400 is 0.075",
    remedy="Use for example <rank=0.5>; for a target of vanishing rank use a small value such as 0.01.",
    span=(0.02, 2.0),
)


@final
@dataclass(frozen=True)
class GaussianProduct(Declared, RectangularLaw):
    """Law of ``U V/sqrt(r)`` for Gaussian factors of inner width ``r = rank p``; ``Q_0 = 1`` for every rank and aspect.

    The entries of ``S = U V/sqrt(r)`` are of order one; the law is that of ``M = S/(p N)^(1/4)``.
    """

    rank: float = field(metadata=declared(RANK))
    aspect: float = field(default=1.0, metadata=declared(ASPECT))

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
