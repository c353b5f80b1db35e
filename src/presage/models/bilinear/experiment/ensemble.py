"""What trained matrices show: the observables of `BilinearSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.bilinear.declaration import ESTIMATION_ERROR, FOLLOWED, MATRIX_FOLLOWED, MEASURED, TEST_ERROR
from presage.protocol.ensemble import Ensemble
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.protocol.observables import Observable


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class BilinearEnsemble(Ensemble):
    """Fits of one problem and one size on independent data, one entry a seed. A failed seed has NaN and a reason."""

    estimation_error: Floats = field(repr=False)  # |S_fit - S_0|_F^2/(d L)
    test_error: Floats = field(repr=False)  # loss a fresh, noisy sample
    train_loss: Floats = field(repr=False)  # the whole loss reached, penalty included, over d L
    train_error: Floats = field(repr=False)  # loss a sample
    rank: Floats = field(repr=False)  # fraction of non-zero singular values
    singular_values: Floats = field(repr=False)  # of M_fit, decreasing, one row a seed
    gap: Floats = field(repr=False)  # relative duality gap
    converged: NDArray[np.bool_] = field(repr=False)
    n_test: int = 20_000

    observables = MEASURED
    arrays = ("singular_values",)
    noun = "matrices"

    @property
    def followed(self) -> tuple[Observable, ...]:  # type: ignore[override]
        """What is measured at every time, where that was kept: it depends on the trainer."""
        return MATRIX_FOLLOWED if isinstance(self.trainer, MatrixFlow | MatrixDescent) else FOLLOWED

    @property
    def measured(self) -> tuple[Observable, ...]:
        """What is measured of them; a posterior mean minimises no loss and has no zeros, so errors only."""
        return MEASURED if self.trainer.minimises else (TEST_ERROR, ESTIMATION_ERROR)

    @property
    def unpredicted(self) -> str:
        """Matrices that were stopped on their way: `solve` predicts the end, and `trajectory` the way."""
        if isinstance(self.trainer, MatrixFlow | MatrixDescent):
            return "they were stopped on their way, which `trajectory` predicts, and this is a prediction of the end"
        return ""
