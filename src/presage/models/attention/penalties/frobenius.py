"""A ridge on a matrix that is trained entry by entry."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.declaration import RIDGE
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol.fields import declared


@final
@dataclass(frozen=True)
class Frobenius(Penalty):
    """Ridge ``d ridge |S|_F^2`` on a symmetric matrix S that is trained entry by entry."""

    ridge: float = field(metadata=declared(RIDGE))

    scaled_by = "ridge"
    closed_form = True

    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        return self.ridge * np.asarray(eigenvalues, dtype=np.float64) ** 2

    def shrink(self, x: ArrayLike, Sigma_hat: float, kappa: float) -> Floats:
        return np.asarray(x, dtype=np.float64) / (Sigma_hat + 4.0 * self.ridge)
