"""Gradient descent of the training loss: its settings, which the theory of its way and real machines share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

from presage.models.boltzmann.start import checked_overlaps
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import STEPS, Trainer

RATE = Number(
    "learning rate: length of a step along the gradient of the mean log-likelihood",
    above=0.0,
    at_most=10.0,
    default=0.2,
    example=0.2,
    reason="weights move by so much of the gradient a step",
    remedy="Use for example <rate=0.2>.",
)


@final
@dataclass(frozen=True)
class BoltzmannDescent(Trainer):
    """Full-batch gradient descent from weights of given overlaps, for a number of steps.

    ``W' = W (1 - rate S(Q)) + (rate/alpha) A'g(A W)`` with ``A = X/sqrt(d)``: so much of the gradient of the mean
    log-likelihood. It starts from weights with the overlaps `m_0` with the directions and `q_0` among each other;
    numbers stand for diagonal matrices. Rows of `m_0` are directions, columns units.
    """

    rate: float = field(default=RATE.default, metadata=declared(RATE))
    m_0: Any = 0.1
    q_0: Any = 0.25
    steps: int = field(default=100, metadata=declared(STEPS))

    def check_together(self) -> None:
        for name in ("m_0", "q_0"):
            object.__setattr__(self, name, checked_overlaps(name, getattr(self, name)))
