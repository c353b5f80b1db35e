"""Laws of eigenvalues: what spectrum a target matrix has.

A law is enough for the whole theory when it gives its Stieltjes transform ``G(z) = int mu(dx)/(z - x)`` and the
derivative of it, in the upper half plane and on the real axis outside the support, and says where its support is.
Everything else has a default here that a law may replace by something exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cache
from math import pi
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from presage.protocol import checks

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]


class Atoms(NamedTuple):
    """Point masses of a law: where they are and how heavy."""

    positions: Floats
    masses: Floats


NO_ATOMS = Atoms(np.empty(0), np.empty(0))


class SpectralLaw(ABC):
    """A probability law on the real line: the limiting law of the eigenvalues of a symmetric matrix.

    A law of one's own defines `stieltjes_pair` and `support`; the rest follows, by quadrature where need be.
    """

    proven: ClassVar[bool] = False  # whether tests, and not a look at each use, say that it is a probability law

    @abstractmethod
    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        """Return ``G(z)`` and ``G'(z)`` for a flat array ``z`` with ``Im z >= 0``, real only outside the support."""

    @property
    @abstractmethod
    def support(self) -> Floats:
        """Closed intervals of the support as rows ``(left, right)``, sorted and disjoint; an atom is ``(s, s)``."""

    @property
    def atoms(self) -> Atoms:
        """Point masses, sorted by position."""
        return NO_ATOMS

    @property
    def notes(self) -> tuple[str, ...]:
        """Plain sentences on what was made of the numbers that were given; every prediction has them as caveats."""
        return ()

    def check_itself(self, name: str) -> None:
        """Complain, as the argument `name` of a problem, if this is no probability law: a wrong branch, a lost mass."""
        if self.proven:
            return
        from presage.laws.check_law import disorders  # here: it is about this class

        for what in disorders(self):
            raise checks.complaint(name, "be a law", what, self, f"Mend its class: `check_law({name})` says more.")

    def stieltjes(self, z: ArrayLike) -> Complexes:
        """Stieltjes transform ``G(z) = int mu(dx)/(z - x)`` for ``Im z >= 0`` (real ``z`` outside the support)."""
        points = np.asarray(z, dtype=np.complex128)
        return self.stieltjes_pair(points.ravel())[0].reshape(points.shape)

    def stieltjes_derivative(self, z: ArrayLike) -> Complexes:
        """Derivative ``G'(z) = -int mu(dx)/(z - x)^2``, where `stieltjes` is defined."""
        points = np.asarray(z, dtype=np.complex128)
        return self.stieltjes_pair(points.ravel())[1].reshape(points.shape)

    def density(self, x: ArrayLike) -> Floats:
        """Density of the continuous part (atoms are in `atoms`)."""
        points = np.asarray(x, dtype=np.float64)
        value = np.zeros(points.shape)
        for left, right in self.support:
            inside = (points > left) & (points < right)
            if inside.any():
                height = 1e-13 * (right - left)
                value[inside] = -self.stieltjes(points[inside] + 1j * height).imag / pi
        return np.maximum(value, 0.0)

    def _continuous_below(self, x: Floats, power: int = 0) -> Floats:
        """``int_{-inf}^x y^power rho(y) dy`` by Gauss-Legendre in the angle that removes square-root edges."""
        abscissae, weights = _legendre()
        total = np.zeros(x.shape)
        for left, right in self.support:
            if right <= left:
                continue
            middle, half = 0.5 * (left + right), 0.5 * (right - left)
            top = np.arcsin(np.clip((x - middle) / half, -1.0, 1.0))
            stretch = 0.5 * (top + pi / 2)
            angle = -pi / 2 + stretch[..., None] * (1.0 + abscissae)
            y = middle + half * np.sin(angle)
            total += stretch * np.sum(weights * y**power * self.density(y) * half * np.cos(angle), axis=-1)
        return total

    def cdf(self, x: ArrayLike) -> Floats:
        """Mass at or below ``x``."""
        points = checks.places(x)
        positions, masses = self.atoms
        below = np.concatenate([[0.0], np.cumsum(masses)])[np.searchsorted(positions, points, side="right")]
        return np.asarray(np.clip(self._continuous_below(points) + below, 0.0, 1.0))

    def quantile(self, p: ArrayLike) -> Floats:
        """Smallest ``x`` with ``cdf(x) >= p``, by bisection."""
        level = checks.levels(p)
        low = np.full(level.shape, self.support[0, 0])
        high = np.full(level.shape, self.support[-1, 1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = self.cdf(middle) >= level
            high = np.where(enough, middle, high)
            low = np.where(enough, low, middle)
        return np.where(level <= self.cdf(low), low, high)

    def moment(self, k: int) -> float:
        """``int x^k mu(dx)``."""
        return self.moment_below(np.inf, k)

    def moment_below(self, x: float, k: int) -> float:
        """``int y^k mu(dy)`` over ``y <= x``."""
        positions, masses = self.atoms
        below = positions <= x
        return float(self._continuous_below(np.array(x), k) + np.sum(masses[below] * positions[below] ** k))

    @property
    def mean(self) -> float:
        """First moment."""
        return self.moment(1)

    @property
    def second_moment(self) -> float:
        """Second moment, ``Q_0`` of the theory."""
        return self.moment(2)

    @property
    def nonzero(self) -> float:
        """Fraction of the eigenvalues that are not zero: the rank of a matrix of this law, over d."""
        positions, masses = self.atoms
        return 1.0 - float(masses[positions == 0.0].sum())

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Draw ``d`` eigenvalues in increasing order, one in each of ``d`` slices of equal mass.

        Eigenvalues of a large random matrix repel: they follow the quantiles far more closely than independent
        draws would, and stratified draws do the same.
        """
        return self.quantile((np.arange(d) + rng.random(d)) / d)


@cache
def _legendre() -> tuple[Floats, Floats]:
    abscissae, weights = np.polynomial.legendre.leggauss(200)
    return abscissae, weights
