"""Approximate message passing for several matrices: its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.protocol.fields import Number, declared
from presage.protocol.trainer import DAMPING, STEPS, TOL, Trainer

OVERLAP = Number(
    "part of the target that the first matrices are",
    above=0.0,
    at_most=1.0,
    default=0.5,
    example=0.5,
    reason="messages begin at this part of the target, since at nothing they may see nothing for ever",
)
RESPONSE = Number(
    "response of the matrices to begin with",
    above=0.0,
    at_most=100.0,
    default=1.0,
    example=1.0,
    reason="it is the variance that a quadratic form begins with",
)


@final
@dataclass(frozen=True)
class MatricesAMP(Trainer):
    """Approximate message passing with a denoiser a matrix, from a part `m_0` of the target; it has the loss's minima.

    A part `damping` of the old messages and responses is kept at every iteration. It is done when an iteration moves
    the matrices by less than `tol` of their size.
    """

    m_0: float = field(default=OVERLAP.default, metadata=declared(OVERLAP))
    v_0: float = field(default=RESPONSE.default, metadata=declared(RESPONSE))
    tol: float = field(default=1e-5, metadata=declared(TOL))
    steps: int = field(default=300, metadata=declared(STEPS))
    damping: float = field(default=0.5, metadata=declared(DAMPING))
