"""Approximate message passing: its settings, which state evolution and real machines share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

from presage.models.boltzmann.start import checked_overlaps
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import STEPS, TOL, Trainer

RESPONSE = Number(
    "response of the weights to begin with",
    above=0.0,
    at_most=1.0,
    default=0.1,
    example=0.1,
    reason="it is the variance that a weight begins with",
)
MIXING = Number(
    "part of the new price of the weights that enters an iteration",
    above=0.0,
    at_most=1.0,
    optional=True,
    example=0.3,
    reason="the price of the weights is mixed with the old one",
)


@final
@dataclass(frozen=True)
class BoltzmannAMP(Trainer):
    """Approximate message passing for the weights of greatest likelihood; state evolution says where it is at any step.

    It starts from weights with the overlaps `m_0` with the directions and `q_0` among each other (of a usual size,
    unless they are given), and the response `v_0`. `mixing` is how much of the new price of the weights, alpha S(Q),
    enters an iteration: all of it for one binary unit and 0.3 for others, unless it is given. It is done when an
    iteration moves the weights by less than `tol` of their size.
    """

    m_0: Any = None
    q_0: Any = None
    v_0: float = field(default=RESPONSE.default, metadata=declared(RESPONSE))
    mixing: float | None = field(default=None, metadata=declared(MIXING))
    tol: float = field(default=1e-8, metadata=declared(TOL))
    steps: int = field(default=300, metadata=declared(STEPS))

    def check_together(self) -> None:
        for name in ("m_0", "q_0"):
            object.__setattr__(self, name, checked_overlaps(name, getattr(self, name)))

    def mixing_of(self, problem: Any) -> float:
        """How much of the new price enters: all of it where it is a constant, as of one binary unit."""
        if self.mixing is not None:
            return self.mixing
        return 1.0 if problem.constant_price else 0.3
