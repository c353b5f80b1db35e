"""What trained matrices show: the observables of `MultiMatrixSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.declaration import OfTheMatrices
from presage.models.multi_matrix.links import PowersLink
from presage.models.multi_matrix.message_passing import MatricesAMP
from presage.protocol.ensemble import Ensemble

FROM_NOTHING = (
    "training began at random weights, and may sit in a worse minimum than the one that is predicted: see train_loss."
)

FROM_THE_TARGET = (
    "training began at {place}, which nobody knows who has only data, and finds a minimum near it: from random "
    "weights it may end in a worse one."
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
        """Where training began, since it decides which minimum is reached: but for labels that are linear in z."""
        if isinstance(self.problem.link, PowersLink) and set(self.problem.link.powers) == {1}:
            return ()  # the loss is convex
        if self.start == "random":
            return (FROM_NOTHING,)
        place = "a part of the target" if isinstance(self.trainer, MatricesAMP) else "the target"
        return (FROM_THE_TARGET.format(place=place),)

    @property
    def caveats(self) -> tuple[str, ...]:
        return (*super().caveats, *self.departures)
