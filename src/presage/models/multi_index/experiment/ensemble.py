"""What spectral estimators show: the observables of `MultiIndexSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.models.multi_index.declaration import MEASURED
from presage.protocol.ensemble import Ensemble, Floats


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class MultiIndexEnsemble(Ensemble):
    """Spectral estimators of one problem and one size on independent data, one entry a seed."""

    excess_risk: Floats = field(repr=False)  # squared error of the readout on a fresh, clean label
    unlearned: Floats = field(repr=False)  # part of the energy outside of the recovered subspace
    top_eigenvalue: Floats = field(repr=False)  # furthest from zero, over the size of the weights
    recovered: Floats = field(repr=False)  # eigenvectors outside of the bulk
    overlaps: Floats = field(repr=False)  # |P w_k|^2 of every feature, the largest first, one row a seed
    edge: Floats = field(repr=False)  # beyond which an eigenvector counts, over the size of the weights
    n_readout: int = 0
    n_test: int = 0

    observables = MEASURED
    arrays = ("overlaps",)
    noun = "estimators"
