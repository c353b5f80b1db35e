"""Laws of eigenvalues: what spectrum a target matrix has.

A law is enough for the whole theory when it gives its Stieltjes transform ``G(z) = int mu(dx)/(z - x)`` and the
derivative of it, in the upper half plane and on the real axis outside the support, and says where its support is.
Everything else has a default here that a law may replace by something exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from math import comb, pi, sqrt
from typing import NamedTuple, final

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from presage import _check

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
        points = _check.places(x)
        positions, masses = self.atoms
        below = np.concatenate([[0.0], np.cumsum(masses)])[np.searchsorted(positions, points, side="right")]
        return np.asarray(np.clip(self._continuous_below(points) + below, 0.0, 1.0))

    def quantile(self, p: ArrayLike) -> Floats:
        """Smallest ``x`` with ``cdf(x) >= p``, by bisection."""
        level = _check.levels(p)
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
        positions, masses = self.atoms
        continuous = self._continuous_below(np.array(np.inf), k)
        return float(continuous + np.sum(masses * positions**k))

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


@final
@dataclass(frozen=True)
class MarchenkoPastur(SpectralLaw):
    """Law of ``W_0 W_0'/sqrt(m_0 d)`` for a Gaussian factor ``W_0`` of width ``m_0 = kappa_0 d``.

    Mean ``sqrt(kappa_0)``, second moment ``1 + kappa_0``, mass ``1 - kappa_0`` at zero when ``kappa_0 < 1``.
    """

    kappa_0: float

    def __post_init__(self) -> None:
        number = _check.real(
            "kappa_0",
            self.kappa_0,
            above=0.0,
            at_most=1e6,
            reason="it is the width of the target over the dimension, m_0/d, and a target needs some width",
            remedy="Use for example kappa_0=0.5; for a target of vanishing rank use a small value such as 0.01.",
        )
        object.__setattr__(self, "kappa_0", number)

    @property
    def edges(self) -> tuple[float, float]:
        """Edges ``(1 -+ sqrt(kappa_0))^2/sqrt(kappa_0)`` of the continuous part."""
        root = sqrt(self.kappa_0)
        return (1 - root) ** 2 / root, (1 + root) ** 2 / root

    @property
    def support(self) -> Floats:
        low, high = self.edges
        rows = [(0.0, 0.0), (low, high)] if self.kappa_0 < 1 else [(low, high)]
        return np.array(rows)

    @property
    def atoms(self) -> Atoms:
        return Atoms(np.array([0.0]), np.array([1 - self.kappa_0])) if self.kappa_0 < 1 else NO_ATOMS

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        return _marchenko_pastur(z, self.kappa_0)  # type: ignore[no-any-return]

    def density(self, x: ArrayLike) -> Floats:
        low, high = self.edges
        points = np.asarray(x, dtype=np.float64)
        inside = (points > low) & (points < high)
        y = np.where(inside, points, 0.5 * (low + high))
        value = sqrt(self.kappa_0) * np.sqrt(np.maximum((y - low) * (high - y), 0.0)) / (2 * pi * y)
        return np.where(inside, value, 0.0)

    def _continuous_below(self, x: Floats, power: int = 0) -> Floats:
        """``int rho`` by its elementary antiderivative: the pole of rho at zero spoils quadrature near kappa_0 = 1."""
        if power:
            return super()._continuous_below(x, power)
        low, high = self.edges
        y = np.clip(x, low, high)
        total, product = high + low, low * high
        radical = np.sqrt((high - y) * (y - low))
        value = (
            radical
            + 0.5 * total * np.arctan2(2 * y - total, 2 * radical)
            - sqrt(product) * np.arctan2(total * y - 2 * product, 2 * sqrt(product) * radical)
        )
        lowest = -0.25 * pi * total + 0.5 * pi * sqrt(product)
        below = sqrt(self.kappa_0) / (2 * pi) * (value - lowest)
        return np.where(x <= low, 0.0, np.where(x >= high, min(self.kappa_0, 1.0), below))

    def moment(self, k: int) -> float:
        if k <= 0:
            return 1.0 if k == 0 else super().moment(k)
        ratio = 1.0 / self.kappa_0
        terms = (ratio**r / (r + 1) * comb(k, r) * comb(k - 1, r) for r in range(k))
        return float(self.kappa_0 ** (k / 2) * sum(terms))

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Eigenvalues of a Wishart matrix of this law at size ``d``, ``m_0 = round(kappa_0 d)``."""
        width = max(1, round(self.kappa_0 * d))
        factor = rng.standard_normal((d, width))
        eigenvalues = np.zeros(d)
        singular = np.linalg.svd(factor, compute_uv=False)
        eigenvalues[d - singular.size :] = np.sort(singular**2 / sqrt(width * d))
        return eigenvalues


@njit(cache=True, error_model="numpy")
def marchenko_pastur_at(z, kappa):  # type: ignore[no-untyped-def]
    """Solve ``z g^2 - (sqrt(kappa) z + 1 - kappa) g + sqrt(kappa) = 0`` on the branch ``g ~ 1/z``; return g and g'.

    Of the two ways to write the root, the one without cancellation is taken; the square root is split at the two
    edges so that its branch is right in the whole closed upper half plane.
    """
    root = np.sqrt(kappa)
    low = (1 - root) ** 2 / root
    high = (1 + root) ** 2 / root
    at_edge = (z - low) * (z - high) == 0
    if at_edge or (z == 0 and kappa < 1):
        edge = np.inf if z == 0 else 2 * root / (root * z.real + (1 - kappa))
        return complex(edge, 0.0), complex(-np.inf, 0.0)
    linear = root * z + (1 - kappa)
    radical = root * np.sqrt(z - low) * np.sqrt(z - high)
    if linear.real * radical.real + linear.imag * radical.imag < 0:
        g = (linear - radical) / (2 * z)
    else:
        g = 2 * root / (linear + radical)
    return g, g * (g - root) / radical


@njit(cache=True, error_model="numpy")
def _marchenko_pastur(z, kappa):  # type: ignore[no-untyped-def]
    value = np.empty(z.size, dtype=np.complex128)
    slope = np.empty(z.size, dtype=np.complex128)
    for j in range(z.size):
        value[j], slope[j] = marchenko_pastur_at(z[j], kappa)
    return value, slope


@final
@dataclass(frozen=True)
class Semicircle(SpectralLaw):
    """Wigner's semicircle of a given variance about a centre: density on ``centre +- 2 sqrt(variance)``."""

    variance: float = 1.0
    centre: float = 0.0

    def __post_init__(self) -> None:
        remedy = "Use for example Semicircle(variance=1.0, centre=0.0); a variance of 0 is PointMasses([centre])."
        variance = _check.real(
            "variance",
            self.variance,
            above=0.0,
            reason="a semicircle has a radius 2 sqrt(variance)",
            remedy=remedy,
        )
        centre = _check.real("centre", self.centre, reason="it is the mean of the law", remedy=remedy)
        object.__setattr__(self, "variance", variance)
        object.__setattr__(self, "centre", centre)

    @property
    def support(self) -> Floats:
        radius = 2 * sqrt(self.variance)
        return np.array([(self.centre - radius, self.centre + radius)])

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        radius = 2 * sqrt(self.variance)
        shifted = z - self.centre
        radical = np.sqrt(shifted - radius) * np.sqrt(shifted + radius)
        g = 2.0 / (shifted + radical)
        with np.errstate(divide="ignore", invalid="ignore"):
            return g, np.where(radical == 0, -np.inf, -g / radical)

    def density(self, x: ArrayLike) -> Floats:
        shifted = np.asarray(x, dtype=np.float64) - self.centre
        return np.sqrt(np.maximum(4 * self.variance - shifted**2, 0.0)) / (2 * pi * self.variance)

    def moment(self, k: int) -> float:
        def catalan(j: int) -> int:
            return comb(2 * j, j) // (j + 1)

        even = range(0, k + 1, 2)
        return float(
            sum(comb(k, j) * self.centre ** (k - j) * self.variance ** (j // 2) * catalan(j // 2) for j in even)
        )

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Eigenvalues of a GOE matrix of this law at size ``d``."""
        gaussian = rng.standard_normal((d, d))
        return np.asarray(self.centre + np.linalg.eigvalsh((gaussian + gaussian.T) * sqrt(self.variance / (2 * d))))


@cache
def _legendre() -> tuple[Floats, Floats]:
    abscissae, weights = np.polynomial.legendre.leggauss(200)
    return abscissae, weights
