"""Laws of singular values: what a rectangular target looks like.

A matrix M has ``p`` rows or columns on its shorter side and ``N = aspect p`` on its longer one. Its singular values are
of order one and its size is ``Q_0 = |M|_F^2/sqrt(p N)``: the variance of ``<X, M>/(p N)^(1/4)`` for Gaussian X.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import sqrt

import numpy as np

from presage.laws.random_frame import random_frame
from presage.laws.root_law import RootLaw
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.protocol import checks
from presage.protocol.fields import Number

ASPECT = Number(
    "longer side of the matrix over the shorter one",
    at_least=1.0,
    at_most=1e4,
    reason="it is the longer side of the matrix over the shorter one, and a matrix and its transpose are the same",
    remedy="Use its inverse if it is below one, for example <aspect=2.0>.",
    span=(1.0, 6.0),
)


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
    def notes(self) -> tuple[str, ...]:
        """Plain sentences on what was made of the numbers that were given; every prediction has them as caveats."""
        return ()

    def check_itself(self, name: str) -> None:
        """Complain, as the argument `name` of a problem, if the squared singular values have no probability law."""
        self.squared.check_itself(name)

    @property
    def singular_values(self) -> RootLaw:
        """Law of the singular values themselves."""
        return RootLaw(self.squared)

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
        left, right = random_frame(rows, p, rng), random_frame(columns, p, rng)
        return np.asarray((left * values) @ right.T)

    def check_shape(self, rows: int, columns: int) -> int:
        """Complain about a shape far from the aspect of the law; return the shorter side."""
        p, N = min(rows, columns), max(rows, columns)
        if p < 1 or abs(N - self.aspect * p) > 0.5 + 1e-9:
            raise checks.complaint(
                "shape",
                f"have sides in the ratio {self.aspect:g}",
                "the aspect is part of the law of the target",
                (rows, columns),
                f"Use for example {p} x {round(self.aspect * p)}, or a law of another aspect.",
            )
        return p
