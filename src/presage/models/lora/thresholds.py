"""How many samples it takes until the new task is seen at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.models.lora.bayes.optimal import frozen_layer, recovered_from
from presage.models.lora.declaration import THRESHOLDS
from presage.models.lora.problem import LoraProblem
from presage.protocol.prediction import SampleSizes

ACCURACY = 1e-3  # a third of the relative error bar that is aimed at


@final
@dataclass(frozen=True)
class LoraThresholds(SampleSizes):
    """Samples of the fine-tuning over the dimension, ``alpha' = N'/d``."""

    weak_recovery: float  # from here on the best of all methods is better than knowing nothing
    bars: dict[str, float] = field(default_factory=dict, repr=False, hash=False)
    caveats: tuple[str, ...] = ()
    problem: LoraProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS

    @property
    def error_bars(self) -> dict[str, float]:
        return dict(self.bars)


def thresholds(problem: LoraProblem) -> LoraThresholds:
    """The weak recovery of the Bayes-optimal fine-tuning; the alpha of the problem plays no part."""
    stage, noise = frozen_layer(problem)
    found, bar = recovered_from(problem, noise, ACCURACY)
    return LoraThresholds(found, {"weak_recovery": bar}, (*problem.notes, *stage.caveats), problem)
