"""Adam: its settings, and its step."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import STEPS, TOL, Trainer

REMEDY = "Use for example Adam(lr=0.1)."
RATE = Number("length of a step", above=0.0, remedy=REMEDY)
EPS = Number("what keeps a division finite", above=0.0, reason="it keeps a division finite", remedy=REMEDY)


class AdamState(NamedTuple):
    """Moments of the gradient after `step` steps."""

    first: Floats
    second: Floats
    step: int


@final
@dataclass(frozen=True)
class Adam(Trainer):
    """Full-batch Adam with the update rule of ``torch.optim.Adam``; weight decay is a part of the loss.

    At a constant learning rate it ends slowly: its `tol` is looser than that of the other trainers, and a network
    that it leaves has a higher rank than the minimum.
    """

    lr: float = field(default=0.1, metadata=declared(RATE))
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = field(default=1e-8, metadata=declared(EPS))
    tol: float = field(default=1e-3, metadata=declared(TOL))
    steps: int = field(default=20_000, metadata=declared(STEPS))

    def check_together(self) -> None:
        betas = self.betas if isinstance(self.betas, tuple | list) else ()
        numbers = tuple(checks.real("betas", beta, reason="they weigh the past", remedy=REMEDY) for beta in betas)
        if len(numbers) != 2 or not all(0.0 <= beta < 1.0 for beta in numbers):
            raise checks.complaint("betas", "be two numbers in [0, 1)", "they weigh the past", self.betas, REMEDY)
        object.__setattr__(self, "betas", numbers)

    def update(self, A: Floats, gradient: Floats, state: AdamState) -> tuple[Floats, AdamState]:
        """One step of [KB15], in the arrangement of PyTorch."""
        b1, b2 = self.betas
        step = state.step + 1
        first = b1 * state.first + (1.0 - b1) * gradient
        second = b2 * state.second + (1.0 - b2) * gradient * gradient
        denominator = np.sqrt(second) / sqrt(1.0 - b2**step) + self.eps
        return A - self.lr / (1.0 - b1**step) * first / denominator, AdamState(first, second, step)
