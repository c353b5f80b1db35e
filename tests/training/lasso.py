"""The LASSO on a few numbers: ``|y - A x|^2 + weight |x|_1``, which an engine for convex losses must minimise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from presage.laws.spectral_law import Floats
from presage.training.accelerated import Iterate
from presage.training.duality import relative_gap


@dataclass(frozen=True)
class Lasso:
    A: Floats
    y: Floats
    weight: float

    def at(self, x: Floats) -> Iterate:
        residual = self.A @ x - self.y
        return Iterate(x, float(residual @ residual), 2.0 * self.A.T @ residual)

    def whole(self, here: Iterate) -> float:
        return here.value + self.weight * float(np.abs(here.X).sum())

    def gap(self, here: Iterate) -> float:
        along = 2.0 * here.value - float(here.gradient @ here.X)
        largest = self.weight / float(np.abs(here.gradient).max())
        return relative_gap(self.whole(here), here.value, along, curvature=here.value, largest=largest)

    def step(self, curvature: float, Y: Floats, slope: Floats) -> Floats:
        moved = Y - slope / curvature
        return np.asarray(np.sign(moved) * np.maximum(np.abs(moved) - self.weight / curvature, 0.0))


def few_numbers(seed: int = 0, weight: float = 2.0) -> Lasso:
    rng = np.random.default_rng(seed)
    return Lasso(rng.standard_normal((12, 8)), rng.standard_normal(12), weight)
