"""Weight decay on a factor: a nuclear norm of a positive semidefinite matrix."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.declaration import WEIGHT_DECAY
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol.fields import declared


@final
@dataclass(frozen=True)
class NuclearPSD(Penalty):
    """Weight decay ``weight_decay |W|_F^2`` on the factor of ``S = W W'/sqrt(m d) >= 0``.

    In terms of S it is ``d lambda~ Tr S`` with ``lambda~ = sqrt(kappa) weight_decay``: a nuclear norm.
    """

    weight_decay: float = field(metadata=declared(WEIGHT_DECAY))

    lowest = 0.0
    scaled_by = "weight_decay"
    factorized = True
    closed_form = True

    def lambda_tilde(self, kappa: float) -> float:
        """``lambda~ = sqrt(kappa) lambda``."""
        return sqrt(kappa) * self.weight_decay

    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        return self.lambda_tilde(kappa) * np.asarray(eigenvalues, dtype=np.float64)

    def shrink(self, x: ArrayLike, Sigma_hat: float, kappa: float) -> Floats:
        return np.maximum(np.asarray(x, dtype=np.float64) - 2.0 * self.lambda_tilde(kappa), 0.0) / Sigma_hat
