"""The semicircle as the bulk of a symmetric matrix."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi
from typing import Self, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.spectra.bulks.family import BulkFamily, order_statistics
from presage.spectra.spiked import wigner_strength

NODES = 2049
STEPS = 3  # of Newton, from the nearest node


def unit_cdf(y: Floats) -> Floats:
    """Mass of the unit semicircle, which ends at -2 and 2, at or below y.

        F(y) = 1/2 + y sqrt(4 - y^2)/(4 pi) + asin(y/2)/pi

    Equation: derived: the integral of the density.
    Checked: tests/spectra/test_bulks.py::test_quantiles_of_the_semicircle_invert_its_distribution_function
    """
    inside = np.clip(y, -2.0, 2.0)
    return np.asarray(0.5 + inside * np.sqrt(4.0 - inside**2) / (4.0 * pi) + np.arcsin(0.5 * inside) / pi)


def unit_quantile(level: Floats) -> Floats:
    """Where the unit semicircle has this mass below it, by Newton on the angle."""
    nodes = np.linspace(-0.5 * pi, 0.5 * pi, NODES)
    angle = np.interp(level, unit_cdf(2.0 * np.sin(nodes)), nodes)
    for _ in range(STEPS):
        slope = np.maximum(2.0 * np.cos(angle) ** 2 / pi, 1e-12)
        angle = np.clip(angle - (unit_cdf(2.0 * np.sin(angle)) - level) / slope, -0.5 * pi, 0.5 * pi)
    return 2.0 * np.sin(angle)


@final
@dataclass(frozen=True)
class SemicircleBulk(BulkFamily):
    """Wigner's semicircle, centre and radius free: the bulk of a symmetric matrix with independent entries.

    The largest eigenvalue is near its upper edge, two sigma above the centre, and fluctuates by ``sigma N^(-2/3)``
    times Tracy and Widom.

    Equation: [TW96]: the edge of real symmetric Gaussian matrices.
    Checked: tests/spectra/test_bulks.py::test_the_largest_eigenvalue_of_noise_follows_tracy_and_widom
    """

    name = "semicircle"
    two_sided = True

    count: int
    zeros: int
    centre: float
    sigma: float

    @classmethod
    def fitted(cls, values: Floats, zeros: int = 0) -> Self:
        """Least squares of increasing values on the quantiles; zeros are values like all others here."""
        every = np.sort(np.concatenate([values, np.zeros(zeros)])) if zeros else values
        part, level = order_statistics(len(every))
        sigma, centre = np.polyfit(unit_quantile(level), every[part], 1)
        return cls(len(values), zeros, float(centre), max(float(sigma), 1e-300))

    @property
    def edge(self) -> float:
        return self.centre + 2.0 * self.sigma

    @property
    def left(self) -> float:
        return self.centre - 2.0 * self.sigma

    @property
    def width(self) -> float:
        return float(self.sigma * self.size ** (-2.0 / 3.0))

    @property
    def reach(self) -> float:
        return 2.0 * self.sigma

    @property
    def parameters(self) -> dict[str, float]:
        return {"centre": self.centre, "sigma": self.sigma}

    def cdf(self, x: Floats) -> Floats:
        return unit_cdf((x - self.centre) / self.sigma)

    def density(self, x: Floats) -> Floats:
        y = (x - self.centre) / self.sigma
        return np.sqrt(np.maximum(4.0 - y**2, 0.0)) / (2.0 * pi * self.sigma)

    def strength(self, x: float) -> float:
        return wigner_strength(abs(x - self.centre) / self.sigma)
