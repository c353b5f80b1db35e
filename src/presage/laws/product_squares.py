"""Squared singular values of a product of two Gaussian matrices: a cubic, solved on its physical branch."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import pi, sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import NO_ATOMS, Atoms, Complexes, Floats, SpectralLaw
from presage.protocol.njit import njit

REAL = 1e-9  # relative: an imaginary part below this is rounding, or the argument is on the axis
NO_ROOT = 1e-6  # relative: what the cubic leaves at a number that is none of its roots


@final
@dataclass(frozen=True)
class ProductSquares(SpectralLaw):
    """Law of the eigenvalues of ``M M'``, ``M = U V/(sqrt(r) (p N)^(1/4))``, with U p x r and V r x N Gaussian.

    With ``b = N/p >= 1`` and ``rank = r/p`` the moment series ``k = w G(w) - 1`` solves
    ``w k = sqrt(b) (1 + k)(1 + k/b)(1 + k/rank)``: S-transforms of the two Wishart matrices multiply.
    """

    proven = True

    rank: float
    aspect: float

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        return _product_squares(z, self.aspect, self.rank)  # type: ignore[no-any-return]

    @cached_property
    def support(self) -> Floats:
        rows = [(0.0, 0.0)] if self.rank < 1 else []
        return np.array([*rows, self._edges])

    @property
    def _edges(self) -> tuple[float, float]:
        """Edges of the continuous part: ``w(k) = sqrt(b)(1+k)(1+k/b)(1+k/rank)/k`` is stationary there."""
        b, r = self.aspect, self.rank
        cubic = np.polynomial.polynomial.polyfromroots([-1.0, -b, -r]) * sqrt(b) / (b * r)
        # w'(k) = 0 is cubic(k) = k cubic'(k), or a0 = a2 k^2 + 2 a3 k^3.
        stationary = np.polynomial.polynomial.polyroots([-cubic[0], 0.0, cubic[2], 2.0 * cubic[3]]).real
        w = np.polynomial.polynomial.polyval(stationary, cubic) / stationary
        high = float(w[np.argmax(stationary)])
        first, second = sorted([1.0, b, r])[:2]
        if second - first < 1e-12:
            return 0.0, high
        inside = (stationary > -second) & (stationary < -first)
        return float(np.max(w[inside], initial=0.0)), high

    @cached_property
    def atoms(self) -> Atoms:
        return Atoms(np.array([0.0]), np.array([1.0 - self.rank])) if self.rank < 1 else NO_ATOMS

    def _continuous_below(self, x: Floats, power: int = 0) -> Floats:
        """``int^x y^power rho(y) dy`` with ``y = s^3``: the density diverges as ``y^(-2/3)`` at a hard edge."""
        low, high = np.cbrt(self._edges)
        abscissae, weights = np.polynomial.legendre.leggauss(200)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        top = np.arcsin(np.clip((np.cbrt(x) - middle) / half, -1.0, 1.0))
        stretch = 0.5 * (top + pi / 2)
        angle = -pi / 2 + stretch[..., None] * (1.0 + abscissae)
        s = middle + half * np.sin(angle)
        density = self.density(s**3) * 3.0 * s**2
        return np.asarray(stretch * np.sum(weights * s ** (3 * power) * density * half * np.cos(angle), axis=-1))

    def moment(self, k: int) -> float:
        b, r = self.aspect, self.rank
        if k == 1:
            return sqrt(b)
        return 1.0 + b + b / r if k == 2 else super().moment(k)


@njit(cache=True, error_model="numpy")
def _excess(kappa, g, b, r):  # type: ignore[no-untyped-def]
    """``k = kappa - 1``, far from the support by the cubic, where the difference would cancel."""
    k = kappa - 1.0
    return k if abs(k) > 0.5 * min(1.0, r) else g * (kappa + b - 1.0) * (kappa + r - 1.0) / (np.sqrt(b) * r)


@njit(cache=True, error_model="numpy")
def product_squares_at(w, b, r):  # type: ignore[no-untyped-def]
    """Return ``G`` and ``G'`` at ``w``, ``Im w >= 0``.

    The unknown is ``kappa = 1 + k = w G``, which keeps its digits near a hard edge:
    ``kappa (kappa + b - 1)(kappa + r - 1)/(sqrt(b) r) = w (kappa - 1)``. Of its three roots one has both ``Im k < 0``
    and ``Im G < 0``; on the real axis the derivatives take the place of the imaginary parts.
    """
    w = w if w != 0 else complex(1e-300, 0.0)
    c = np.sqrt(b) * r
    a2, a1, a0 = b + r - 2.0, (b - 1.0) * (r - 1.0) - c * w, c * w
    # Cardano, with the larger of the two cube roots, so that nothing cancels.
    shift = a2 / 3.0
    p = a1 - a2 * a2 / 3.0
    q = 2.0 * shift**3 - shift * a1 + a0
    root = np.sqrt(0.25 * q * q + p * p * p / 27.0 + 0j)
    plus, minus = -0.5 * q + root, -0.5 * q - root
    cube = (plus if abs(plus) > abs(minus) else minus) ** (1.0 / 3.0)
    turn = complex(-0.5, 0.5 * np.sqrt(3.0))
    best, best_score = 0j, -np.inf
    straight, straight_score = 0j, -np.inf
    for _ in range(3):
        kappa = cube - (p / (3.0 * cube) if cube != 0 else 0j) - shift
        for _step in range(3):
            slope = (3.0 * kappa + 2.0 * a2) * kappa + a1
            if slope == 0:
                break
            kappa -= (((kappa + a2) * kappa + a1) * kappa + a0) / slope
        left = abs(((kappa + a2) * kappa + a1) * kappa + a0)
        if left > NO_ROOT * (((abs(kappa) + abs(a2)) * abs(kappa) + abs(a1)) * abs(kappa) + abs(a0)):
            cube *= turn  # lost to rounding, beside a root that is far larger
            continue
        g = kappa / w
        k = _excess(kappa, g, b, r)
        score = min(-k.imag / (abs(k) + 1e-300), -g.imag / (abs(g) + 1e-300))
        if score > best_score:
            best, best_score = kappa, score
        slope = (3.0 * kappa + 2.0 * a2) * kappa + a1
        k_slope = c * k / slope
        score = min(-k_slope.real * abs(w) / (abs(k) + 1e-300), -((k_slope - g) / w).real * abs(w) / (abs(g) + 1e-300))
        if score > straight_score:
            straight, straight_score = kappa, score
        cube *= turn
    # Real w are outside of the support, where imaginary parts are rounding: two small roots nearly meet there.
    on_axis = w.imag == 0 or (best_score < REAL and w.imag <= REAL * abs(w))
    kappa = straight if on_axis else best
    if on_axis and w.imag == 0:
        kappa = complex(kappa.real, 0.0)
    g = kappa / w
    k = _excess(kappa, g, b, r)
    k_slope = c * k / ((3.0 * kappa + 2.0 * a2) * kappa + a1)
    return g, (k_slope - g) / w


@njit(cache=True, error_model="numpy")
def _product_squares(w, b, r):  # type: ignore[no-untyped-def]
    value = np.empty(w.size, dtype=np.complex128)
    slope = np.empty(w.size, dtype=np.complex128)
    for j in range(w.size):
        value[j], slope[j] = product_squares_at(w[j], b, r)
    return value, slope
