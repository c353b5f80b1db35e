"""The law of the roots of positive numbers: singular values, of the eigenvalues of ``M M'``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Atoms, Floats, SpectralLaw
from presage.protocol import checks


@final
@dataclass(frozen=True)
class RootLaw:
    """Law of ``sqrt(x)`` for x from a law of positive numbers."""

    squared: SpectralLaw

    @property
    def support(self) -> Floats:
        """Closed intervals of the support as rows."""
        return np.sqrt(np.maximum(self.squared.support, 0.0))

    @property
    def atoms(self) -> Atoms:
        """Point masses, sorted by position."""
        positions, masses = self.squared.atoms
        return Atoms(np.sqrt(np.maximum(positions, 0.0)), masses)

    def density(self, s: ArrayLike) -> Floats:
        """Density of the continuous part: ``2 s rho(s^2)``."""
        points = np.asarray(s, dtype=np.float64)
        return np.where(points > 0.0, 2.0 * points * self.squared.density(points**2), 0.0)

    def cdf(self, s: ArrayLike) -> Floats:
        """Mass at or below ``s``."""
        points = checks.places(s)
        return np.where(points < 0.0, 0.0, self.squared.cdf(np.maximum(points, 0.0) ** 2))
