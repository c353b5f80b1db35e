"""An elastic net on the eigenvalues, written by its values alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.declaration import STRENGTH
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol import checks
from presage.protocol.fields import declared


@final
@dataclass(frozen=True)
class ElasticSpectral(Penalty):
    """Elastic net on the eigenvalues: ``r(s) = nuclear |s| + ridge s^2``, on a matrix S that is trained itself.

    The first part makes eigenvalues zero, the second keeps the others from growing. With ``lowest=0.0`` the student
    is positive semidefinite.
    """

    nuclear: float = field(metadata=declared(STRENGTH))
    ridge: float = field(metadata=declared(STRENGTH))
    lowest: float = -inf

    def check_together(self) -> None:
        remedy = STRENGTH.remedy
        if not self.nuclear + self.ridge > 0.0:
            reason = "without a penalty the minimum of the loss need not be unique"
            raise checks.complaint("nuclear", "be positive where the ridge is 0", reason, self.nuclear, remedy)
        if self.lowest not in (-inf, 0.0):
            reason = "the student is a symmetric matrix, or a positive semidefinite one"
            raise checks.complaint("lowest", "be -inf or 0", reason, self.lowest, "Leave it out, or use lowest=0.0.")

    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        s = np.asarray(eigenvalues, dtype=np.float64)
        return self.nuclear * np.abs(s) + self.ridge * s**2
