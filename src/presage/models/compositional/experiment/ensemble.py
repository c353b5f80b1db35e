"""What learned layers show: the observables of `CompositionalSolution`, one entry a seed; and shallow learners."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.compositional.declaration import MEASURED
from presage.protocol.ensemble import Ensemble


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class CompositionalEnsemble(Ensemble):
    """Layers learned on independent data, one entry a seed. A failed seed has NaN and a reason."""

    test_error: Floats = field(repr=False)  # over the variance of the labels
    mean_overlap: Floats = field(repr=False)
    first_overlap: Floats = field(repr=False)
    largest_eigenvalue: Floats = field(repr=False)
    curved_error: Floats = field(repr=False)  # test error with a polynomial of degree 5 as last layer
    overlaps: Floats = field(repr=False)  # |P A_i|^2 of every feature, one row a seed
    eigenvalues: Floats = field(repr=False)  # of C, as many as features, the largest size first, one row a seed
    passes: Floats = field(repr=False)  # over the samples of the first layer
    converged: NDArray[np.bool_] = field(repr=False)
    spectrum: Floats | None = field(default=None, repr=False)  # all eigenvalues of C, where it was formed
    n_test: int = 20_000

    observables = MEASURED
    also_measured = ("curved_error",)
    arrays = ("overlaps", "eigenvalues")
    noun = "networks"


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class ShallowEnsemble(Ensemble):
    """Shallow learners of the same labels, one entry a seed: their error is measured, and no theory is about it."""

    test_error: Floats = field(repr=False)
    ridge: Floats = field(repr=False)  # the strength that was best on a tenth of the data
    n_test: int = 20_000

    observables = MEASURED[:1]
    noun = "learners"

    @property
    def unpredicted(self) -> str:
        """Why no prediction is about these learners: they have no layers."""
        return "the prediction is for learning layer by layer, and shallow learners have no layers"
