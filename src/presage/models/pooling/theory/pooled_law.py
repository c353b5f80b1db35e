"""The bulk of the covariance of pooled tokens: two samples of samples, one of the table and one of the sequences."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Atoms, Complexes, Floats, SpectralLaw

CUBE_ROOTS = np.exp(2j * np.pi * np.arange(3) / 3.0)
NEWTON_STEPS = 3


@final
@dataclass(frozen=True)
class PooledLaw(SpectralLaw):
    """Law of the eigenvalues of ``C/kappa`` but for the one of the class.

        lambda(y) = (1+y)(1+delta y)(1+gamma y)/y,   y = lambda g(lambda) - 1

    with ``delta = d/V`` and ``gamma = d/N``: the free product of two laws of Marchenko and Pastur.

    Equation: [Sed26].
    Checked: tests/models/pooling/test_pooled_law.py::test_eigenvalues_of_a_product_of_samples
    """

    delta: float
    gamma: float

    proven = True

    def position(self, y: Any) -> Any:
        """``lambda(y)``."""
        return (1.0 + y) * (1.0 + self.delta * y) * (1.0 + self.gamma * y) / y

    @property
    def _cubic(self) -> tuple[float, float, float]:
        """Coefficients of y, y^2 and y^3 in the product of the three factors."""
        d, g = self.delta, self.gamma
        return 1.0 + d + g, d + g + d * g, d * g

    @cached_property
    def _turning(self) -> Floats:
        """Where ``lambda(y)`` turns, falling: ``2 delta gamma y^3 + (delta+gamma+delta gamma) y^2 = 1``."""
        _, second, third = self._cubic
        found = np.roots([2.0 * third, second, 0.0, -1.0])
        # A double root, where the law begins at zero, is a pair of complex numbers up to rounding.
        return np.asarray(np.sort(found.real[np.abs(found.imag) < 1e-6 * np.abs(found)])[::-1])

    @property
    def upper_edge(self) -> float:
        """Upper end of the bulk.

            2 delta gamma y^3 + (delta+gamma+delta gamma) y^2 = 1,   y > 0

        Equation: [Sed26].
        Checked: tests/models/pooling/test_pooled_law.py::test_edges_are_where_the_density_ends
        """
        return float(self.position(self._turning[0]))

    @property
    def lower_edge(self) -> float:
        """Lower end of the bulk; zero where the rank is just filled."""
        ends = sorted((1.0, self.delta, self.gamma))
        if ends[1] == ends[2]:
            return 0.0
        return max(float(self.position(self._turning[1])), 0.0)

    @property
    def support(self) -> Floats:
        bulk = [[self.lower_edge, self.upper_edge]]
        return np.array([[0.0, 0.0], *bulk] if self.zero > 0.0 and self.lower_edge > 0.0 else bulk)

    @property
    def zero(self) -> float:
        """Fraction of eigenvalues that are zero: with fewer sequences, or tokens, than dimensions."""
        return 1.0 - 1.0 / max(1.0, self.delta, self.gamma)

    @property
    def atoms(self) -> Atoms:
        held = np.zeros(1 if self.zero > 0.0 else 0)
        return Atoms(held, np.full(held.shape, self.zero))

    def moment(self, k: int) -> float:
        """Moments; the first three in closed form.

            1,  1 + delta + gamma,  1 + 3 (delta + gamma) + delta^2 + gamma^2 + 3 delta gamma

        Equation: [Sed26].
        Checked: tests/models/pooling/test_pooled_law.py::test_moments
        """
        d, g = self.delta, self.gamma
        known = (1.0, 1.0, 1.0 + d + g, 1.0 + 3.0 * (d + g) + d * d + g * g + 3.0 * d * g)
        return known[k] if 0 <= k < len(known) else super().moment(k)

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        """``g = (1+y)/z``, y the root of the cubic that is the Stieltjes transform of a positive law."""
        y = self._root(np.asarray(z, dtype=np.complex128))
        first, second, third = self._cubic
        # z y = (1+y)(1+delta y)(1+gamma y), differentiated.
        slope = y / (first + 2.0 * second * y + 3.0 * third * y * y - z)
        return (1.0 + y) / z, slope / z - (1.0 + y) / z**2

    def _root(self, z: Complexes) -> Complexes:
        """The root y of ``third y^3 + second y^2 + (first - z) y + 1 = 0`` that belongs to a law.

        It is found as 1/y, whose cubic begins with one: the other has two roots that go to infinity where tokens or
        sequences are very many.
        """
        first, second, third = self._cubic
        b, c, d = first - z, second, third
        p, q = c - b * b / 3.0, 2.0 * b**3 / 27.0 - b * c / 3.0 + d
        inner = np.sqrt(q * q / 4.0 + p**3 / 27.0)
        larger = np.where(np.abs(-q / 2.0 + inner) >= np.abs(-q / 2.0 - inner), -q / 2.0 + inner, -q / 2.0 - inner)
        u = larger ** (1.0 / 3.0)
        u = np.where(u == 0.0, 1e-300, u)[:, None] * CUBE_ROOTS
        inverse = u - p[:, None] / (3.0 * u) - b[:, None] / 3.0
        for _ in range(NEWTON_STEPS):
            value = ((inverse + b[:, None]) * inverse + c) * inverse + d
            slope = (3.0 * inverse + 2.0 * b[:, None]) * inverse + c
            inverse = inverse - np.where(slope == 0.0, 0.0, value / np.where(slope == 0.0, 1.0, slope))
        roots: Complexes = np.asarray(1.0 / np.where(inverse == 0.0, 1e-300, inverse), dtype=np.complex128)
        return np.asarray(np.take_along_axis(roots, np.argmin(self._wrong(roots, z), axis=1)[:, None], axis=1)[:, 0])

    def _wrong(self, roots: Complexes, z: Complexes) -> Floats:
        """How far each root is from that of a positive law, of which neither y nor g has a positive imaginary part.

        On the axis that tells the root in the bulk. Beyond it y is real: it falls to zero above, is between minus the
        part of the eigenvalues that are not zero and zero for negative z, and below that between zero and the bulk.
        """
        real = z.imag == 0.0
        outside = real & ~((z.real > self.lower_edge) & (z.real < self.upper_edge))
        g = (1.0 + roots) / z[:, None]
        size = np.maximum(np.abs(g), 1e-300)
        wrong = np.maximum(roots.imag / np.abs(roots), np.where(real[:, None], roots.imag, g.imag) / size)
        top, turn, rank = self._turning[0], self._turning[1] if self.lower_edge > 0.0 else -np.inf, 1.0 - self.zero
        high = np.where(z.real >= self.upper_edge, top, np.where(z.real < 0.0, 0.0, -rank))[:, None]
        low = np.where(z.real >= self.upper_edge, 0.0, np.where(z.real < 0.0, -rank, turn))[:, None]
        slack = 1e-9 * np.abs(roots)
        fits = (roots.real <= high + slack) & (roots.real >= low - slack)
        return np.where(outside[:, None], np.where(fits, 0.0, 1.0) + np.abs(roots.imag), wrong)

    def density(self, x: Any) -> Floats:
        """Density of the bulk: the imaginary part of g on the real axis, over pi."""
        points = np.asarray(x, dtype=np.float64)
        value = np.zeros(points.shape)
        inside = (points > max(self.lower_edge, 0.0)) & (points < self.upper_edge)
        if inside.any():
            at = points[inside].astype(np.complex128)
            value[inside] = np.abs(self._root(at).imag) / (np.pi * points[inside])
        return value
