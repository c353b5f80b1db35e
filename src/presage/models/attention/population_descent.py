"""Gradient descent of a network that sees infinitely many samples: settings, which theory and networks share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from presage.models.attention.population_start import EPS, checked_start
from presage.protocol.clocks import LAST_STEP, TIMES, step_times
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import Trainer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RATE = Number(
    "length of a step, in units of the clock of the flow",
    symbol=r"\eta",
    above=0.0,
    at_most=1e6,
    default=0.1,
    example=0.1,
    reason="a step of descent is so long in the time of the flow",
    remedy="Use for example <rate=0.1>.",
)


@final
@dataclass(frozen=True)
class PopulationDescent(Trainer):
    """Gradient descent of the factor W on the loss of infinitely many samples, from ``S = eps 1``.

    ``W <- W + rate (S_0 - S) W``: it converges where `rate` times the largest eigenvalue of the target is below 1.
    Every one of `steps` steps is looked at, or where `until` is given so many of that many, evenly spaced by their
    logarithm.
    """

    rate: float = field(default=RATE.default, metadata=declared(RATE))
    eps: float | None = field(default=None, metadata=declared(EPS))
    until: int | None = field(default=None, metadata=declared(LAST_STEP))
    steps: int = field(default=20, metadata=declared(TIMES))

    def check_together(self) -> None:
        object.__setattr__(self, "eps", checked_start(self.eps, None))

    @property
    def geometric(self) -> bool:  # type: ignore[override]
        """Whether steps are looked at that are evenly spaced by their logarithm."""
        return self.until is not None and self.until > self.steps

    @property
    def times(self) -> NDArray[np.float64]:
        """Steps after which it is looked at."""
        return step_times(self.until, self.steps)
