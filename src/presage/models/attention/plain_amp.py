"""Message passing as state evolution follows it: nothing but its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.protocol.fields import declared
from presage.protocol.trainer import STEPS_TAKEN, Trainer


@final
@dataclass(frozen=True)
class PlainAMP(Trainer):
    """Message passing from nothing, without damping and without mixing, for so many steps.

    It is there to be followed step by step, ``simulate(..., trainer=PlainAMP(20), keep="trajectory")`` beside
    ``trajectory(problem, steps=20)``: it ends after its steps, whether it has settled or not. For the minimum itself
    use `AMP`.
    """

    steps: int = field(default=20, metadata=declared(STEPS_TAKEN))
