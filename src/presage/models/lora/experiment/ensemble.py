"""What trained adapters show: the observables of `LoraSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.lora.declaration import MEASURED, OVERLAP, TEST_ERROR
from presage.protocol.ensemble import Ensemble
from presage.protocol.observables import Observable


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class AdapterEnsemble(Ensemble):
    """Adapters of one problem and one size on independent data, one entry a seed. A failed seed has NaN."""

    overlap: Floats = field(repr=False)  # cosine of the adapter with the new target
    test_error: Floats = field(repr=False)  # loss of a fresh, noisy sample
    frozen_error: Floats = field(repr=False)
    oracle_error: Floats = field(repr=False)
    gain: Floats = field(repr=False)
    norm: Floats = field(repr=False)  # |w|^2/d
    train_loss: Floats = field(repr=False)  # the whole loss reached, penalty included, over d
    Q: Floats = field(repr=False)  # Tr S^2/d of the frozen layer
    M: Floats = field(repr=False)  # Tr S S_0/d
    start: NDArray[np.int64] = field(repr=False)  # which start led to the lowest loss; 0 is the spectral one
    converged: NDArray[np.bool_] = field(repr=False)
    n_test: int = 20_000
    starts: int = 4

    observables = MEASURED
    noun = "adapters"

    @property
    def measured(self) -> tuple[Observable, ...]:
        """What is measured of them; a posterior mean minimises no loss."""
        return MEASURED if self.trainer.minimises else (OVERLAP, TEST_ERROR)
