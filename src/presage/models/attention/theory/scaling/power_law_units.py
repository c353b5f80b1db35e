"""A power law in the units of its scaling laws: second moment one, samples by ``n_eff = n/d``."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.power_law import PowerLaw
from presage.laws.spectral_law import Floats


class Sums(NamedTuple):
    """Sums over the first K features, for K = 0 ... d: of powers of the eigenvalues of second moment one."""

    inverse: Floats  # of 1/s_i
    inverse_square: Floats  # of 1/s_i^2
    rest: Floats  # of s_i^2 over those that are left


@final
@dataclass(frozen=True)
class PowerLawUnits:
    """Eigenvalues ``s_i = A i^-g``, i = 1 ... d, with ``A = sqrt(d/Z)``, ``Z = sum_i i^-2g``, such that Q_0 = 1.

    A plain target ``i^-g`` is `size` times that: ``R_plain(n, L, D) = size^2 R(n, L/size, D/size^2)``.

    Equation: derived: data, loss and penalty are homogeneous in the target.
    Checked: tests/models/attention/theory/scaling/test_power_law_units.py::test_a_plain_target_is_a_normalized_one
    """

    gamma: float
    d: int
    normalized: bool = True

    @classmethod
    def of(cls, target: PowerLaw) -> PowerLawUnits:
        """The units of a target."""
        return cls(target.gamma, target.d, target.normalized)

    @property
    def Z(self) -> float:
        """``sum_i i^-2g``."""
        return float(_powers(self.gamma, self.d)[1])

    @property
    def A(self) -> float:
        """The largest eigenvalue at second moment one, ``sqrt(d/Z)``."""
        return sqrt(self.d / self.Z)

    @property
    def smallest(self) -> float:
        """The smallest eigenvalue at second moment one."""
        return float(self.eigenvalues[-1])

    @property
    def size(self) -> float:
        """Root of the second moment of the target itself: one unless it is plain."""
        return 1.0 if self.normalized else 1.0 / self.A

    @cached_property
    def eigenvalues(self) -> Floats:
        """``s_i``, the largest first, at second moment one."""
        return self.A * _powers(self.gamma, self.d)[0]

    @property
    def sums(self) -> Sums:
        """Sums over the largest eigenvalues; made once for every target."""
        return _sums(self.gamma, self.d)

    def above(self, level: float) -> int:
        """How many eigenvalues are above a level."""
        return int(np.searchsorted(-self.eigenvalues, -level, side="left"))


@lru_cache(maxsize=8)
def _powers(gamma: float, d: int) -> tuple[Floats, float]:
    """``i^-g`` for i = 1 ... d, and the sum of their squares."""
    powers = np.arange(1, d + 1, dtype=np.float64) ** -gamma
    powers.setflags(write=False)
    return powers, float(np.sum(powers**2))


@lru_cache(maxsize=8)
def _sums(gamma: float, d: int) -> Sums:
    powers, Z = _powers(gamma, d)
    s = sqrt(d / Z) * powers
    zero = np.zeros(1)
    return Sums(
        np.concatenate([zero, np.cumsum(1.0 / s)]),
        np.concatenate([zero, np.cumsum(s**-2.0)]),
        np.concatenate([np.cumsum((s**2)[::-1])[::-1], zero]),
    )
