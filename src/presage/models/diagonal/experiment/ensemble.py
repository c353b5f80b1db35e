"""What trained vectors show: the observables of `DiagonalSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.diagonal.declaration import MEASURED
from presage.protocol.ensemble import Ensemble


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class DiagonalEnsemble(Ensemble):
    """Fits of one problem and one size on independent data, one entry a seed. A failed seed has NaN and a reason."""

    estimation_error: Floats = field(repr=False)  # |theta_fit - theta_0|^2/d
    test_error: Floats = field(repr=False)  # squared error a fresh, noisy sample
    train_loss: Floats = field(repr=False)  # the whole loss reached, penalty included, over d
    train_error: Floats = field(repr=False)  # squared error a sample
    nonzero: Floats = field(repr=False)  # fraction of non-zero entries
    entries: Floats = field(repr=False)  # of theta_fit, increasing, one row a seed
    gap: Floats = field(repr=False)  # relative duality gap: the loss is at most so far above its minimum
    converged: NDArray[np.bool_] = field(repr=False)
    n_test: int = 20_000

    observables = MEASURED
    arrays = ("entries",)
    noun = "vectors"
