"""Wigner's semicircle."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb, pi, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Complexes, Floats, SpectralLaw
from presage.protocol.fields import Declared, Number, declared

REMEDY = "Use for example Semicircle(variance=1.0, centre=0.0); a variance of 0 is PointMasses([centre])."
VARIANCE = Number(
    "variance of the law",
    above=0.0,
    reason="a semicircle has a radius 2 sqrt(variance)",
    remedy=REMEDY,
    span=(0.05, 4.0),
)
CENTRE = Number("mean of the law", remedy=REMEDY, span=(-4.0, 4.0))


@final
@dataclass(frozen=True)
class Semicircle(Declared, SpectralLaw):
    """Wigner's semicircle of a given variance about a centre: density on ``centre +- 2 sqrt(variance)``."""

    proven = True

    variance: float = field(default=1.0, metadata=declared(VARIANCE))
    centre: float = field(default=0.0, metadata=declared(CENTRE))

    @property
    def support(self) -> Floats:
        radius = 2 * sqrt(self.variance)
        return np.array([(self.centre - radius, self.centre + radius)])

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        radius = 2 * sqrt(self.variance)
        shifted = z - self.centre
        radical = np.sqrt(shifted - radius) * np.sqrt(shifted + radius)
        g = 2.0 / (shifted + radical)
        with np.errstate(divide="ignore", invalid="ignore"):
            return g, np.where(radical == 0, -np.inf, -g / radical)

    def density(self, x: ArrayLike) -> Floats:
        shifted = np.asarray(x, dtype=np.float64) - self.centre
        return np.sqrt(np.maximum(4 * self.variance - shifted**2, 0.0)) / (2 * pi * self.variance)

    def moment(self, k: int) -> float:
        def catalan(j: int) -> int:
            return comb(2 * j, j) // (j + 1)

        even = range(0, k + 1, 2)
        return float(
            sum(comb(k, j) * self.centre ** (k - j) * self.variance ** (j // 2) * catalan(j // 2) for j in even)
        )

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Eigenvalues of a GOE matrix of this law at size ``d``."""
        gaussian = rng.standard_normal((d, d))
        return np.asarray(self.centre + np.linalg.eigvalsh((gaussian + gaussian.T) * sqrt(self.variance / (2 * d))))
