"""A semicircle that is cut at zero by the penalty of a factorised layer, as a bulk."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Self, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.spectra.bulks.family import BulkFamily, order_statistics
from presage.spectra.bulks.semicircle import unit_cdf, unit_quantile
from presage.spectra.spiked import wigner_strength


@final
@dataclass(frozen=True)
class CutSemicircleBulk(BulkFamily):
    """A semicircle of which all below a cutoff is zero: noise in a layer whose factors are penalised.

    The eigenvalues are ``scale (y - chi)_+`` with y of the unit semicircle; the part that is zero, F(chi), fixes the
    cutoff.

    Equation: derived: the learned spectrum of [BETKZ25] (13) without a target.
    Checked: tests/spectra/test_classify.py::test_noise_is_random_like
    """

    name = "cut semicircle"

    count: int
    zeros: int
    chi: float
    scale: float

    @classmethod
    def fitted(cls, values: Floats, zeros: int) -> Self:
        """Least squares of increasing positive values on the quantiles."""
        size = len(values) + zeros
        chi = float(unit_quantile(np.array([zeros / size]))[0])
        part, level = order_statistics(len(values))
        above = unit_quantile((zeros + level * len(values)) / size) - chi
        return cls(len(values), zeros, chi, max(float(above @ values[part] / (above @ above)), 1e-300))

    @property
    def edge(self) -> float:
        return self.scale * (2.0 - self.chi)

    @property
    def left(self) -> float:
        return max(-self.scale * (2.0 + self.chi), 0.0)

    @property
    def width(self) -> float:
        return float(self.scale * self.size ** (-2.0 / 3.0))

    @property
    def reach(self) -> float:
        return self.edge

    @property
    def parameters(self) -> dict[str, float]:
        return {"cutoff": self.chi, "scale": self.scale}

    def cdf(self, x: Floats) -> Floats:
        return unit_cdf(self.chi + x / self.scale)

    def density(self, x: Floats) -> Floats:
        y = self.chi + x / self.scale
        return np.where(x > 0.0, np.sqrt(np.maximum(4.0 - y**2, 0.0)) / (2.0 * pi * self.scale), 0.0)

    def strength(self, x: float) -> float:
        return wigner_strength(self.chi + x / self.scale)
