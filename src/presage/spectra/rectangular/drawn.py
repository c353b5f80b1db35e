"""Singular values of matrices of a finite size, where no law of them is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.protocol import checks


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
