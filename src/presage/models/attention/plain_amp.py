"""Message passing as state evolution follows it: nothing but its steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import final

from presage.protocol.fields import declared
from presage.protocol.trainer import STEPS, Trainer

MOST_STEPS = 1000
TAKEN = replace(STEPS, words="steps that are taken", at_most=MOST_STEPS, example=20)


@final
@dataclass(frozen=True)
class PlainAMP(Trainer):
    """Message passing from nothing, without damping and without mixing, for so many steps.

    It is there to be followed step by step, ``simulate(..., trainer=PlainAMP(20), keep="trajectory")`` beside
    ``trajectory(problem, steps=20)``: it ends after its steps, whether it has settled or not. For the minimum itself
    use `AMP`.
    """

    steps: int = field(default=20, metadata=declared(TAKEN))
