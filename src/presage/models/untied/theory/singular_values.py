"""Law of the singular values of a trained head: those of a noisy matrix, cut and scaled."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.spectra.rectangular.convolution import RectangularConvolution


@final
@dataclass(frozen=True)
class ShrunkSingularValues:
    """Law of ``scale (x - c)_+`` for the singular values x of ``S_0 + delta Z``."""

    noisy: RectangularConvolution
    cutoff: float
    scale: float
    rank: float

    @property
    def zero(self) -> float:
        """Fraction of singular values that are zero."""
        return 1.0 - self.rank

    def density(self, s: ArrayLike) -> Floats:
        """Density on ``s > 0``, of total mass `rank`."""
        points = np.asarray(s, dtype=np.float64)
        inside = self.noisy.density(np.maximum(points, 0.0) / self.scale + self.cutoff) / self.scale
        return np.where(points > 0, inside, 0.0)

    def cdf(self, s: ArrayLike) -> Floats:
        """Fraction of singular values at or below ``s``, zeros included."""
        points = checks.places(s)
        found = [self._below(x) for x in points.ravel().tolist()]
        return np.array(found).reshape(points.shape)

    def _below(self, s: float) -> float:
        if s < 0.0:
            return 0.0
        return 1.0 if isinf(s) else self.noisy.cdf(s / self.scale + self.cutoff)

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Image of the singular values of one random matrix ``S_0 + delta Z`` of size d."""
        return self.scale * np.maximum(self.noisy.sample(d, rng) - self.cutoff, 0.0)

    @property
    def support(self) -> Floats:
        """Bands of the singular values that are not zero, as rows."""
        edges = self.scale * np.maximum(self.noisy.support - self.cutoff, 0.0)
        return np.asarray(edges[edges[:, 1] > 0])

    def moment(self, k: int) -> float:
        """``int s^k``, k >= 1, zeros included."""
        u = self.noisy.parameter_above(self.cutoff)
        if u == np.inf:
            return 0.0
        n = self.noisy.nodes(u_from=u, cutoff=self.cutoff)
        return float(n.mass @ (self.scale * (n.x - self.cutoff)) ** k)
