"""What heads that were trained together show: the observables of the prediction, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.multihead.declaration import MEASURED
from presage.protocol.ensemble import Ensemble
from presage.protocol.observables import Observable

WHOLE = (
    "a whole value matrix was learned, and the prediction is that of a gain: a multiple of the target's matrix, up to "
    "value_error of its square, which falls as 1/(alpha d)."
)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class MultiheadEnsemble(Ensemble):
    """Networks of several heads, of one problem and one dimension. A failed seed has NaN and a reason.

    Heads are numbered as those of the target that they learned. For a sum of scores all is of ``sum_h S_h``.
    """

    test_error: Floats = field(repr=False)  # loss a fresh, noisy sample
    train_loss: Floats = field(repr=False)  # the whole loss reached, penalty included, over d^2
    train_error: Floats = field(repr=False)  # loss a sample
    estimation_error: Floats = field(repr=False)  # |S_h - S_0h|_F^2/d, mean over heads
    rank: Floats = field(repr=False)  # fraction of non-zero eigenvalues, mean over heads
    overlap: Floats = field(repr=False)  # Tr S_h S_0h/d, mean over heads
    cross_target_overlap: Floats = field(repr=False)  # Tr S_h S_0k/d, mean over pairs of different heads
    cross_overlap: Floats = field(repr=False)  # Tr S_h S_k/d, likewise
    gain: Floats = field(repr=False)  # mean over heads; 1 where none is learned
    q: Floats = field(repr=False)  # |S_h|_F^2/d, mean over heads
    eigenvalues: Floats = field(repr=False)  # of all heads together, increasing, one row a seed
    residual: Floats = field(repr=False)  # of the subgradient, relative: 0 at a minimum
    gap: Floats = field(repr=False)  # relative duality gap; inf where outputs are not linear
    losses: Floats = field(repr=False)  # train_loss of every start, one row a seed; the lowest was kept
    converged: NDArray[np.bool_] = field(repr=False)  # whether the trainer's stopping rule was met
    evaluations: NDArray[np.int64] = field(repr=False)  # passes over the data, of all starts
    seconds: Floats = field(repr=False)
    value_error: Floats = field(repr=False)  # |V - g V_0|_F^2/|V_0|_F^2 of a whole value matrix; NaN for a gain
    starts: int = 1
    values_learned: str = "gain"  # or "matrix"
    n_test: int = 20_000

    observables = MEASURED
    also_measured = ("q",)
    arrays = ("eigenvalues",)

    @property
    def conditions(self) -> dict[str, str]:
        return {"values": "a whole matrix"} if self.values_learned == "matrix" else {}

    @property
    def departures(self) -> tuple[str, ...]:
        return (WHOLE,) if self.values_learned == "matrix" else ()

    @property
    def measured(self) -> tuple[Observable, ...]:
        """What is measured of them: a single head has no other, and a gain is told where one is learned."""
        return tuple(observable for observable in MEASURED if self.problem.has(observable))
