"""What trained machines show: the observables of `BoltzmannSolution`, one entry a seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.declaration import FOLLOWED, MEASURED
from presage.protocol.ensemble import Ensemble
from presage.protocol.observables import Observable


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class BoltzmannEnsemble(Ensemble):
    """Machines of one problem and one size on independent data, one entry a seed. A failed seed has NaN."""

    alignment: Floats = field(repr=False)  # squared cosine of the strongest direction with the span of the weights
    overlap: Floats = field(repr=False)  # |M_1|
    last_alignment: Floats = field(repr=False)  # squared cosine of the weakest direction with the span
    size: Floats = field(repr=False)  # Tr Q/k
    test_likelihood: Floats = field(repr=False)  # a fresh sample, over that of noise
    train_likelihood: Floats = field(repr=False)  # a training sample, over that of noise
    pca_alignment: Floats = field(repr=False)  # of the first principal component
    M: Floats = field(repr=False)  # k_0 x k of each seed, the units in their usual order
    Q: Floats = field(repr=False)  # k x k of each seed
    slope: Floats = field(repr=False)  # of the loss where training ended, relative
    converged: NDArray[np.bool_] = field(repr=False)
    start: str = "random"
    n_test: int = 20_000

    observables = MEASURED
    also_measured = ("slope",)
    noun = "machines"
    followed: ClassVar[tuple[Observable, ...]] = FOLLOWED  # columns of a trajectory, after the time

    @property
    def train_loss(self) -> Floats:
        """What training minimises: ``f = -L/d``."""
        return np.asarray(-self.problem.alpha * self.train_likelihood)

    @property
    def conditions(self) -> dict[str, str]:
        return {} if self.start == "random" else {"training": "begun at the directions"}
