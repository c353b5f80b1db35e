"""Eigenvalues that fall as a power of their rank."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import final

import numpy as np

from presage.laws.discrete_law import DiscreteLaw
from presage.laws.spectral_law import Atoms
from presage.protocol import checks
from presage.protocol.fields import Declared, Number, declared

GAMMA = Number(
    "exponent of the target's eigenvalues",
    symbol=r"\gamma",
    above=0.0,
    at_most=50.0,
    example=1.25,
    reason="eigenvalue i of the target is proportional to i^-gamma",
    span=(0.55, 3.0),
)
D = Number(
    "number of eigenvalues of the target",
    symbol="d",
    at_least=1,
    at_most=10_000_000,
    whole=True,
    reason="it is the number of eigenvalues of the target",
    remedy="Use the dimension of the layer, for example <d=400>.",
    span=(10, 1000),
)


@final
@dataclass(frozen=True)
class PowerLaw(Declared, DiscreteLaw):
    """``d`` atoms of mass ``1/d`` at ``i^-gamma``, scaled to second moment one when `normalized`."""

    gamma: float = field(metadata=declared(GAMMA))
    d: int = field(metadata=declared(D))
    normalized: bool = True

    def check_together(self) -> None:
        if not isinstance(self.normalized, bool):
            raise checks.complaint(
                "normalized",
                "be True or False",
                "it says whether the second moment is scaled to one",
                self.normalized,
                "Use <normalized=True> or leave it out.",
            )

    def _atoms(self) -> Atoms:
        positions = np.arange(self.d, 0, -1, dtype=np.float64) ** -self.gamma
        if self.normalized:
            positions /= sqrt(np.mean(positions**2))
        return Atoms(positions, np.full(self.d, 1.0 / self.d))
