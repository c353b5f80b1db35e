"""The law of Marchenko and Pastur as the bulk of a factor times its transpose."""

from __future__ import annotations

from dataclasses import dataclass
from math import pi, sqrt
from typing import Self, final

import numpy as np
from scipy.optimize import minimize_scalar

from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.spectral_law import Floats
from presage.spectra.bulks.family import BulkFamily, order_statistics
from presage.spectra.spiked import wishart_strength

NODES = 513
LEAST_ROOT = 2e-3  # of the ratio: at a smaller one the law is a semicircle
ANGLES = np.linspace(0.0, pi, NODES)


def unit_cdf(x: Floats, ratio: float) -> Floats:
    """Mass at or below x of the eigenvalues of W W'/M, W Gaussian of P rows and M columns, ratio = P/M at most 1."""
    root = sqrt(ratio)
    return MarchenkoPastur(1.0 / ratio).cdf(x / root)


def unit_quantile(level: Floats, ratio: float) -> Floats:
    """Where that law has this mass below it: interpolated in the angle in which it is smooth."""
    half, middle = 2.0 * sqrt(ratio), 1.0 + ratio
    angle = np.interp(level, unit_cdf(middle - half * np.cos(ANGLES), ratio), ANGLES)
    return np.asarray(middle - half * np.cos(angle))


def johnstone(rows: float, columns: float) -> tuple[float, float]:
    """Where the largest eigenvalue of W W' is, W Gaussian of so many rows and columns, and in what unit it fluctuates.

        mu = (sqrt(M - 1/2) + sqrt(P - 1/2))^2,    sigma = sqrt(mu) (1/sqrt(M - 1/2) + 1/sqrt(P - 1/2))^(1/3)

    Equation: [J01], Theorem 1.1; with M - 1/2 and P - 1/2 for its M - 1 and P it is right to the second order.
    Checked: tests/spectra/test_bulks.py::test_the_largest_eigenvalue_of_noise_follows_tracy_and_widom
    """
    m, p = sqrt(columns - 0.5), sqrt(rows - 0.5)
    return (m + p) ** 2, (m + p) * (1.0 / m + 1.0 / p) ** (1.0 / 3.0)


@final
@dataclass(frozen=True)
class MarchenkoPasturBulk(BulkFamily):
    """Eigenvalues ``scale W W'/M`` of a Gaussian factor; `ratio` is its shorter side over the longer one.

    With zeros the ratio is the rank over the size; without, it is fitted. Square roots are matched, which are spread
    evenly also where the ratio is one and eigenvalues crowd at zero.

    Equation: [J01], for the edge; derived: the fit, least squares on the quantiles of the law.
    Checked: tests/spectra/test_classify.py::test_noise_is_random_like
    """

    name = "Marchenko-Pastur law"

    count: int
    zeros: int
    ratio: float
    scale: float

    @classmethod
    def fitted(cls, values: Floats, zeros: int = 0) -> Self:
        """Least squares of the roots of increasing positive values on those of the quantiles."""
        part, level = order_statistics(len(values))
        roots = np.sqrt(values[part])

        def scaled(root_of_ratio: float) -> tuple[float, float]:
            quantiles = np.sqrt(unit_quantile(level, root_of_ratio**2))
            factor = float(quantiles @ roots / (quantiles @ quantiles))
            return factor, float(np.sum((roots - factor * quantiles) ** 2))

        if zeros:
            root = sqrt(len(values) / (len(values) + zeros))
        else:
            found = minimize_scalar(lambda at: scaled(at)[1], bounds=(LEAST_ROOT, 1.0), method="bounded")
            root = min((float(found.x), 1.0), key=lambda at: scaled(at)[1])
        return cls(len(values), zeros, root**2, max(scaled(root)[0] ** 2, 1e-300))

    @property
    def _columns(self) -> float:
        return self.count / self.ratio

    @property
    def edge(self) -> float:
        return self.scale * johnstone(self.count, self._columns)[0] / self._columns

    @property
    def left(self) -> float:
        return self.scale * (1.0 - sqrt(self.ratio)) ** 2

    @property
    def width(self) -> float:
        return self.scale * johnstone(self.count, self._columns)[1] / self._columns

    @property
    def reach(self) -> float:
        return self.edge - self.scale * float(unit_quantile(np.array([0.5]), self.ratio)[0])

    @property
    def parameters(self) -> dict[str, float]:
        return {"ratio": self.ratio, "scale": self.scale}

    def cdf(self, x: Floats) -> Floats:
        return np.asarray((self.zeros + self.count * unit_cdf(x / self.scale, self.ratio)) / self.size)

    def density(self, x: Floats) -> Floats:
        root = sqrt(self.ratio)
        unit = MarchenkoPastur(1.0 / self.ratio).density(x / (self.scale * root)) / (self.scale * root)
        return np.asarray(unit * self.count / self.size)

    def strength(self, x: float) -> float:
        """Of a direction whose variance is 1 + ell, in units of sqrt(ratio), the ell that just stands out."""
        return wishart_strength(x / self.scale, 1.0 / self.ratio) / sqrt(self.ratio)
