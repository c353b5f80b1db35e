"""A law that somebody names, such as a predicted one, as the bulk."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan, pi
from typing import Any, Self, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.spectra.bulks.family import BulkFamily

TOP = 0.02  # of the mass of the highest band: what the shape of the edge is read off


@final
@dataclass(frozen=True)
class GivenBulk(BulkFamily):
    """A bulk whose law is known, nothing of which is fitted.

    Near its edge E the density is ``A sqrt(E - x)``, and the largest eigenvalue fluctuates by ``(pi A)^(-2/3)
    N^(-2/3)`` times Tracy and Widom: for a semicircle of radius 2 sigma that is ``sigma N^(-2/3)``.

    Equation: derived: the universal edge, scaled such that the semicircle comes out.
    Checked: tests/spectra/test_bulks.py::test_a_given_semicircle_is_the_fitted_one
    """

    name = "the given law"

    count: int
    zeros: int
    law: Any = field(repr=False)
    end: float
    steepness: float  # A of the edge

    @classmethod
    def of(cls, law: Any, count: int, zeros: int) -> Self:
        """That of a law; complain about one that ends in an atom, at which nothing fluctuates."""
        left, right = (float(edge) for edge in np.asarray(law.support)[-1])
        if not (np.isfinite(right) and right > left):
            raise checks.complaint(
                "law",
                "have a density at its upper end, which is finite",
                "what stands out is told by how eigenvalues fluctuate at the edge of a bulk",
                law,
                "Leave it out, or use for example law=solve(problem).spectrum.",
            )
        top = TOP * (1.0 - float(law.cdf(left)))
        height = right - float(law.quantile(1.0 - top))
        return cls(count, zeros, law, right, 1.5 * top / height**1.5)

    @property
    def called(self) -> str:
        return self.name

    @property
    def edge(self) -> float:
        return self.end

    @property
    def left(self) -> float:
        left = float(np.asarray(self.law.support)[0, 0])
        return left if np.isfinite(left) else self.edge - 4.0 * self.reach

    @property
    def width(self) -> float:
        return float((pi * self.steepness * self.size) ** (-2.0 / 3.0))

    @property
    def reach(self) -> float:
        middle = float(self.law.quantile(0.5))
        return self.edge - middle if middle else self.edge

    @property
    def parameters(self) -> dict[str, float]:
        return {}

    def cdf(self, x: Floats) -> Floats:
        return np.asarray(self.law.cdf(x))

    def density(self, x: Floats) -> Floats:
        return np.asarray(self.law.density(x))

    def strength(self, x: float) -> float:
        return nan
