"""What selected features show: the observables of `LoFiSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.models.lofi.declaration import MEASURED
from presage.protocol.ensemble import Ensemble, Floats


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class LoFiEnsemble(Ensemble):
    """Features selected on independent data, one entry a seed. A failed seed has NaN and a reason."""

    first_overlap: Floats = field(repr=False)  # of the strongest feature
    mean_overlap: Floats = field(repr=False)
    largest_eigenvalue: Floats = field(repr=False)
    floor: Floats = field(repr=False)  # error of the best readout of what was selected, over the variance of the labels
    deep_overlap: Floats = field(repr=False)  # R^2 of the second level by quadratic functions of what was selected
    overlaps: Floats = field(repr=False)  # |P a_k|^2 of every feature, one row a seed
    eigenvalues: Floats = field(repr=False)  # of what was selected, the furthest first, one row a seed
    edges: Floats = field(repr=False)  # of the bulk, as shuffled labels have it, one row a seed
    n_test: int = 0

    observables = MEASURED
    arrays = ("overlaps", "eigenvalues", "edges")
    noun = "selections"
