"""Laws of the singular values of a trained head: a shrunk noisy matrix, or those of matrices that were drawn."""

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


@final
@dataclass(frozen=True, eq=False)
class DrawnSingularValues:
    """Singular values of matrices of a finite size that a state evolution was solved with; their law is not known."""

    values: Floats  # of all of them, increasing

    @property
    def rank(self) -> float:
        """Fraction of singular values that are not zero."""
        return float(np.mean(self.values > 0.0))

    @property
    def zero(self) -> float:
        """Fraction of singular values that are zero."""
        return 1.0 - self.rank

    def cdf(self, s: ArrayLike) -> Floats:
        """Fraction of singular values at or below ``s``, zeros included."""
        return np.asarray(np.searchsorted(self.values, checks.places(s), side="right") / len(self.values))

    @property
    def support(self) -> Floats:
        """From the smallest to the largest of those that are not zero."""
        positive = self.values[self.values > 0.0]
        return np.array([[positive[0], positive[-1]]]) if len(positive) else np.empty((0, 2))

    def density(self, s: ArrayLike) -> Floats:
        """Density on ``s > 0``, of total mass `rank`: values counted in a window of a twentieth of the support."""
        points = np.asarray(s, dtype=np.float64)
        positive = self.values[self.values > 0.0]
        if len(positive) == 0:
            return np.zeros(points.shape)
        left, right = positive[0], positive[-1]
        half = 0.025 * (right - left) + 1e-300
        low, high = np.clip(points - half, left, right), np.clip(points + half, left, right)
        inside = np.searchsorted(positive, high, side="right") - np.searchsorted(positive, low, side="left")
        counted = inside / (len(self.values) * np.maximum(high - low, half))
        return np.where((points >= left) & (points <= right), counted, 0.0)

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Draw d of the values, spread evenly over them from a random start."""
        levels = (np.arange(d) + rng.random()) / d
        return np.asarray(np.quantile(self.values, levels))

    def moment(self, k: int) -> float:
        """Mean of ``s^k``, zeros included."""
        return float(np.mean(self.values**k))
