"""A ridge on a matrix that is trained entry by entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol import checks


@final
@dataclass(frozen=True)
class Frobenius(Penalty):
    """Ridge ``d ridge |S|_F^2`` on a symmetric matrix S that is trained entry by entry."""

    ridge: float

    def __post_init__(self) -> None:
        number = checks.real(
            "ridge",
            self.ridge,
            at_least=0.0,
            at_most=1e6,
            reason="it is the price of the weights",
            remedy="Use for example ridge=0.01, or ridge=0.0 with ridgeless(problem).",
        )
        object.__setattr__(self, "ridge", number)

    @property
    def vanishes(self) -> bool:
        return self.ridge == 0.0

    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        return self.ridge * np.asarray(eigenvalues, dtype=np.float64) ** 2

    def shrink(self, x: ArrayLike, Sigma_hat: float, kappa: float) -> Floats:
        return np.asarray(x, dtype=np.float64) / (Sigma_hat + 4.0 * self.ridge)
