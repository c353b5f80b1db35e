"""L-BFGS: the settings of limited-memory quasi-Newton training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.protocol.fields import Number, declared
from presage.protocol.trainer import STEPS, TOL, Trainer

MEMORY = Number(
    "past steps that shape the next",
    at_least=1,
    whole=True,
    example=20,
    reason="it is how many past steps shape the next",
)


@final
@dataclass(frozen=True)
class LBFGS(Trainer):
    """Limited-memory quasi-Newton on the weights of a network, until its gradient is small or a duality gap is.

    It ends at a stationary point. Where the loss is not convex (a softmax at large beta) other starts may end lower:
    at beta = 3 by a fifth, with two tokens; `AMP` then finds lower ones.
    """

    tol: float = field(default=1e-5, metadata=declared(TOL))
    steps: int = field(default=20_000, metadata=declared(STEPS))
    memory: int = field(default=20, metadata=declared(MEMORY))
