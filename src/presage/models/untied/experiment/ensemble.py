"""What trained heads show: the observables of the prediction, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.untied.declaration import MEASURED
from presage.protocol.ensemble import Ensemble
from presage.protocol.observables import Observable


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class UntiedEnsemble(Ensemble):
    """Heads of one problem and one dimension, trained on independent data. A failed seed has NaN and a reason."""

    test_error: Floats = field(repr=False)  # loss a fresh, noisy sample
    train_loss: Floats = field(repr=False)  # the whole loss reached, penalty included, over d^2
    train_error: Floats = field(repr=False)  # loss a sample
    estimation_error: Floats = field(repr=False)  # |S_fit - S_0|_F^2/d
    rank: Floats = field(repr=False)  # fraction of non-zero singular values of S_fit
    symmetric_error: Floats = field(repr=False)  # the part of the estimation error in (S + S')/2
    antisymmetric_error: Floats = field(repr=False)  # and in (S - S')/2
    gain: Floats = field(repr=False)  # learned factor on the output, 1 where none is learned
    m: Floats = field(repr=False)  # Tr(S_fit' S_0)/d
    q: Floats = field(repr=False)  # |S_fit|_F^2/d
    singular_values: Floats = field(repr=False)  # of S_fit, decreasing, one row a seed
    residual: Floats = field(repr=False)  # of the subgradient, relative: 0 at a minimum
    gap: Floats = field(repr=False)  # relative duality gap; inf where outputs are not linear
    converged: NDArray[np.bool_] = field(repr=False)  # whether the trainer's stopping rule was met
    evaluations: NDArray[np.int64] = field(repr=False)  # passes over the data
    seconds: Floats = field(repr=False)
    n_test: int = 20_000

    observables = MEASURED
    also_measured = ("m", "q")
    arrays = ("singular_values",)

    @property
    def measured(self) -> tuple[Observable, ...]:
        """What is measured of them: parts of the error where a token looks at itself too, a gain if it is learned."""
        return tuple(observable for observable in MEASURED if self.problem.has(observable))
