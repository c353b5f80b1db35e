"""What pooled tokens show: the observables of `PoolingSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.laws.spectral_law import Floats
from presage.models.pooling.declaration import MEASURED
from presage.protocol.ensemble import Ensemble


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PoolingEnsemble(Ensemble):
    """Tables and sequences of one problem and one size, one entry a seed. A failed seed has NaN and a reason."""

    alignment: Floats = field(repr=False)  # <u, mu/|mu|>^2 of the first direction
    top: Floats = field(repr=False)  # largest eigenvalue of C/kappa
    edge: Floats = field(repr=False)  # the second largest
    rank: Floats = field(repr=False)  # fraction of eigenvalues that are not zero
    eigenvalues: Floats = field(repr=False)  # of C/kappa, increasing, one row a seed
    mean_alignment: Floats = field(repr=False)  # with the empirical mean direction of the classes in the table
    centred: bool = True

    observables = MEASURED
    also_measured = ("mean_alignment",)
    arrays = ("eigenvalues",)
    noun = "tables"

    @property
    def conditions(self) -> dict[str, str]:
        return {} if self.centred else {"pooled tokens": "not centred"}

    @property
    def departures(self) -> tuple[str, ...]:
        if self.centred:
            return ()
        return (
            "the pooled tokens were not centred: the mean of the table adds an eigenvalue near (sum w)^2 d/V, "
            "which tells nothing of the class.",
        )
