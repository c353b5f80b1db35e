"""The bulk of the matrix of the first layer for bounded labels, whose noise is no semicircle at few samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Complexes, Floats
from presage.protocol import checks

NODES = 256  # of the law of the labels
PLACES = 300  # of the density, closer together at the edges
STEPS, SETTLED = 400, 1e-11  # of the iteration for the resolvent
NEWTON = 40


@final
@dataclass(frozen=True, eq=False)
class BoundedBulk:
    """Law of the eigenvalues of C without its features: ``z = 1/g + E[T/(1 - g T/alpha)]``, density ``-Im g/pi``.

    Equation: derived: `bulk_map` at complex g.
    Checked: tests/models/compositional/test_theory.py::test_bulk_of_bounded_labels_is_a_law
    """

    labels: Floats = field(repr=False)
    mass: Floats = field(repr=False)
    alpha: float
    edges: tuple[float, float]

    zero = 0.0

    @property
    def support(self) -> Floats:
        """From the lower edge to the upper one."""
        return np.array([self.edges])

    def density(self, x: ArrayLike) -> Floats:
        """Density of the eigenvalues."""
        places, height = self._table
        return np.asarray(np.interp(np.asarray(x, dtype=np.float64), places, height, left=0.0, right=0.0))

    def cdf(self, x: ArrayLike) -> Floats:
        """Part of the eigenvalues at or below x."""
        places, height = self._table
        below = np.concatenate([[0.0], np.cumsum(0.5 * np.diff(places) * (height[1:] + height[:-1]))])
        return np.asarray(np.interp(checks.places(x), places, below / below[-1], left=0.0, right=1.0))

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Eigenvalues, one in each of d slices of equal mass."""
        places, _ = self._table
        return np.asarray(np.interp((np.arange(d) + rng.random(d)) / d, self.cdf(places), places))

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        left, right = self.edges
        x = 0.5 * (left + right) - 0.5 * (right - left) * np.cos(np.pi * np.arange(PLACES + 1) / PLACES)
        height = np.zeros(x.shape)
        height[1:-1] = np.maximum(-self._resolvent(x[1:-1]).imag / np.pi, 0.0)
        return x, height

    def _resolvent(self, x: Floats) -> Complexes:
        """G just above the real axis: a damped iteration from that of a semicircle, then Newton's."""
        labels, mass = _coarse(self.labels, self.mass)
        s2 = float(mass @ labels**2) / self.alpha
        z = x - float(mass @ labels)
        root = np.sqrt((z**2 - 4.0 * s2).astype(np.complex128))
        inside, outside = z - 1j * np.abs(root), z - np.sign(z) * root
        g = np.where(np.abs(z) < 2.0 * np.sqrt(s2), inside, outside) / (2.0 * s2)
        g = g - 1e-3j / np.sqrt(s2)
        for _ in range(STEPS):
            pole = 1.0 - g[:, None] * labels / self.alpha
            new = 0.5 * g + 0.5 / (x - (labels / pole) @ mass)
            moved = float(np.max(np.abs(new - g)))
            g = new
            if moved < SETTLED / np.sqrt(s2):
                break
        for _ in range(NEWTON):
            pole = labels / (1.0 - g[:, None] * labels / self.alpha)
            value = 1.0 / g + pole @ mass - x
            step = value / (-1.0 / g**2 + pole**2 @ mass / self.alpha)
            g = g - step
            if float(np.max(np.abs(step))) < SETTLED / np.sqrt(s2):
                break
        return np.asarray(g)


def _coarse(labels: Floats, mass: Floats) -> tuple[Floats, Floats]:
    """Fewer values: those of equal slices by mean, so that the variance is next to right; equal labels are one."""
    value, place = np.unique(labels, return_inverse=True)
    weight = np.bincount(place, np.maximum(mass, 0.0)).astype(np.float64)
    if len(value) <= NODES:
        return value, weight
    slots = np.minimum((NODES * (value - value[0]) / (value[-1] - value[0])).astype(int), NODES - 1)
    total = np.bincount(slots, weight, NODES).astype(np.float64)
    mean = np.bincount(slots, weight * value, NODES)
    kept = total > 0.0
    return mean[kept] / total[kept], total[kept]
