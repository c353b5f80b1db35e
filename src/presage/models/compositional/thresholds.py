"""How many samples make a feature stand out, and how many all of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.declaration import THRESHOLDS
from presage.models.compositional.problem import CompositionalProblem
from presage.models.compositional.theory.moments import moments
from presage.models.compositional.theory.sample_sizes import sample_sizes_of, sureness_of
from presage.protocol.prediction import SampleSizes


@final
@dataclass(frozen=True, eq=False)
class CompositionalThresholds(SampleSizes):
    """Samples over D from which on the first feature stands out of the noise, and from which on all of them do."""

    first_feature: float
    all_features: float
    each: Floats = field(repr=False)  # n_i/D, one entry a feature, the strongest first
    each_bar: Floats = field(repr=False)  # how far each may be off
    caveats: tuple[str, ...] = ()
    problem: CompositionalProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS

    @property
    def error_bars(self) -> dict[str, float]:
        """How far both may be off: the next order in 1/sqrt(alpha), or the step of the grid for clipped labels."""
        first, last = int(np.argmin(self.each)), int(np.argmax(self.each))
        return {"first_feature": float(self.each_bar[first]), "all_features": float(self.each_bar[last])}


def thresholds(problem: CompositionalProblem) -> CompositionalThresholds:
    """Samples over D at which each feature stands out: of weak ones ``E[T^2]/theta_i^2``, exact for clipped labels."""
    found = moments(problem)
    each = sample_sizes_of(problem, found)
    bars, told = sureness_of(problem, found, each)
    said = (*problem.notes, *told, "finite sizes smear thresholds.")
    with np.errstate(invalid="ignore"):
        bar = np.where(np.isfinite(each), each * bars, 0.0)
    return CompositionalThresholds(float(np.min(each)), float(np.max(each)), each, bar, said, problem)
