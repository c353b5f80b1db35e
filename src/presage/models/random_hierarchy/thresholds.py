"""How many samples each level takes, beside the number that is stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from presage.models.random_hierarchy.declaration import THRESHOLDS
from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.models.random_hierarchy.theory.curves import FOLLOWED, crossings
from presage.models.random_hierarchy.theory.rule_sets import Floats
from presage.models.random_hierarchy.theory.signal import equal_noise
from presage.protocol.prediction import SampleSizes

ROUNDING = 1e-14  # relative, of a closed form


@final
@dataclass(frozen=True)
class RandomHierarchyThresholds(SampleSizes):
    """Sample sizes in ``alpha = n/(n_c m^L)`` of a hierarchy."""

    stated: float  # of [RDKL26] and [CPTWW24]: one
    half_height: float  # the accuracy is half way between a guess and one
    bottom_learned: float  # the purity of the lowest level is half way between chance and one
    top_learned: float  # and that of the highest which is clustered
    bottom_signal: float  # signal and noise are equal at the lowest level
    top_signal: float  # and at the highest that is clustered
    learned: Floats = field(repr=False, hash=False, compare=False)  # of every level that is clustered, the lowest first
    signal: Floats = field(repr=False, hash=False, compare=False)  # likewise, signal equals noise
    bars: dict[str, float] = field(repr=False, hash=False)
    caveats: tuple[str, ...] = ()
    problem: RandomHierarchyProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS

    @property
    def error_bars(self) -> Mapping[str, float]:
        """How far each may be off: where the ends of the error bars of a curve cross its half height."""
        return dict(self.bars)


def thresholds(problem: RandomHierarchyProblem) -> RandomHierarchyThresholds:
    """Collect the sample sizes: stated, of half the accuracy, and of each level by count and by signal and noise."""
    signal = np.array([equal_noise(problem, level) for level in range(1, problem.depth)])
    found = crossings(problem)
    bottom, top = found.purity[0], found.purity[-1]
    said = [
        "stated is the claim n = n_c m^L of the papers, a scaling without its constant; half_height and the levels are "
        "counted, with error bars calibrated on learners."
    ]
    for name, place in (("half_height", found.accuracy), ("bottom_learned", bottom), ("top_learned", top)):
        if not place.inside:
            said.append(f"{name} is outside of alpha = {FOLLOWED[0]:g} to {FOLLOWED[1]:g}, where it was looked for.")
    return RandomHierarchyThresholds(
        stated=1.0,
        half_height=found.accuracy.alpha,
        bottom_learned=bottom.alpha,
        top_learned=top.alpha,
        bottom_signal=float(signal[0]),
        top_signal=float(signal[-1]),
        learned=np.array([place.alpha for place in found.purity]),
        signal=signal,
        bars={
            "stated": 0.0,
            "half_height": found.accuracy.error_bar,
            "bottom_learned": bottom.error_bar,
            "top_learned": top.error_bar,
            "bottom_signal": ROUNDING * float(signal[0]),
            "top_signal": ROUNDING * float(signal[-1]),
        },
        caveats=(*problem.notes, *said),
        problem=problem,
    )
