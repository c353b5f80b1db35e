"""What trained matrices show: the observables of `MultiMatrixSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.declaration import OfTheMatrices
from presage.protocol.ensemble import Ensemble

FROM_NOTHING = (
    "training began at random weights, and may sit in a worse minimum than the one that is predicted: see train_loss."
)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class MultiMatrixEnsemble(Ensemble):
    """Networks of one problem and one size on independent data, one entry a seed. A failed seed has NaN."""

    test_error: Floats = field(repr=False)  # squared error on a fresh, noisy label
    train_loss: Floats = field(repr=False)  # whole loss over d^2
    train_error: Floats = field(repr=False)  # squared error a training sample
    estimation_error_1: Floats = field(repr=False)  # |S_1 - S_01|_F^2/d
    rank_1: Floats = field(repr=False)
    estimation_error_2: Floats = field(repr=False)  # NaN of a matrix that is not there, as below
    rank_2: Floats = field(repr=False)
    estimation_error_3: Floats = field(repr=False)
    rank_3: Floats = field(repr=False)
    overlaps: Floats = field(repr=False)  # <S_h, S_0k>/d, L x L of each seed
    residual: Floats = field(repr=False)  # what is left of the subgradient where training ended, relative
    converged: NDArray[np.bool_] = field(repr=False)
    start: str = "target"
    n_test: int = 20_000

    observables = OfTheMatrices()
    also_measured = ("residual",)

    @property
    def conditions(self) -> dict[str, str]:
        return {"training": "begun at the target" if self.start == "target" else "begun at random weights"}

    @property
    def departures(self) -> tuple[str, ...]:
        """Training from random weights may not reach the minimum that the theory is about."""
        return (FROM_NOTHING,) if self.start == "random" else ()
