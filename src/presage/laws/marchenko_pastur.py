"""The law of Marchenko and Pastur: eigenvalues of a Gaussian factor times its transpose."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import comb, pi, sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import NO_ATOMS, Atoms, Complexes, Floats, SpectralLaw
from presage.protocol.fields import Declared, Number, declared
from presage.protocol.njit import njit

KAPPA_0 = Number(
    "width of the target over the dimension, m_0/d",
    symbol=r"\kappa_0",
    at_least=1e-8,
    at_most=1e6,
    example=0.5,
    reason="it is the width of the target over the dimension, m_0/d, and a target needs some width",
    usual_up_to=10.0,
    hint="it is a fraction, and a rank of 30 at d = 400 is 0.075",
    remedy="Use for example <kappa_0=0.5>; for a target of vanishing rank use a small value such as 0.01.",
    span=(0.02, 2.0),
)


@final
@dataclass(frozen=True)
class MarchenkoPastur(Declared, SpectralLaw):
    """Law of ``W_0 W_0'/sqrt(m_0 d)`` for a Gaussian factor ``W_0`` of width ``m_0 = kappa_0 d``.

    Mean ``sqrt(kappa_0)``, second moment ``1 + kappa_0``, mass ``1 - kappa_0`` at zero when ``kappa_0 < 1``.
    """

    proven = True

    kappa_0: float = field(metadata=declared(KAPPA_0))

    @property
    def edges(self) -> tuple[float, float]:
        """Edges ``(1 -+ sqrt(kappa_0))^2/sqrt(kappa_0)`` of the continuous part."""
        root = sqrt(self.kappa_0)
        return (1 - root) ** 2 / root, (1 + root) ** 2 / root

    @cached_property
    def support(self) -> Floats:
        low, high = self.edges
        rows = [(0.0, 0.0), (low, high)] if self.kappa_0 < 1 else [(low, high)]
        return np.array(rows)

    @property
    def atoms(self) -> Atoms:
        return Atoms(np.array([0.0]), np.array([1 - self.kappa_0])) if self.kappa_0 < 1 else NO_ATOMS

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        return marchenko_pastur_pair(z, self.kappa_0)  # type: ignore[no-any-return]

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

    @property
    def mean(self) -> float:
        return sqrt(self.kappa_0)

    @property
    def second_moment(self) -> float:
        return 1.0 + self.kappa_0

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
def marchenko_pastur_pair(z, kappa):  # type: ignore[no-untyped-def]
    """Transform and derivative at each point of the flat array ``z``."""
    value = np.empty(z.size, dtype=np.complex128)
    slope = np.empty(z.size, dtype=np.complex128)
    for j in range(z.size):
        value[j], slope[j] = marchenko_pastur_at(z[j], kappa)
    return value, slope
