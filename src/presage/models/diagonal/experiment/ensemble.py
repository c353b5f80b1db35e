"""What trained vectors show: the observables of `DiagonalSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.diagonal.declaration import MEASURED
from presage.models.diagonal.experiment.by_rank import MeasuredCoordinates, measured_coordinates
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
    # Entry by entry of the target, the largest first, one row a seed; None in files of older versions.
    coordinate_fit: Floats | None = field(default=None, repr=False)  # theta_fit theta_0/theta, as the theory has it
    coordinate_error: Floats | None = field(default=None, repr=False)  # (theta_fit - theta_0)^2
    coordinate_nonzero: Floats | None = field(default=None, repr=False)  # whether it is there

    observables = MEASURED
    arrays = ("entries",)
    noun = "vectors"

    @property
    def coordinates(self) -> MeasuredCoordinates:
        """What the vectors show of each entry of the target, the largest first: means over the seeds."""
        if self.coordinate_fit is None:
            raise AttributeError("these vectors were saved by a version that did not measure each entry.")
        return measured_coordinates(*(self.values(f"coordinate_{name}") for name in ("fit", "error", "nonzero")))
