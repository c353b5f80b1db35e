"""Gradient descent of a matrix that is trained itself: its settings, which theory and networks share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from presage.protocol.clocks import LAST_STEP, TIMES, step_times
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import Trainer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RATE = Number(
    "length of a step along the gradient, over the mean curvature of the loss",
    above=0.0,
    at_most=100.0,
    default=0.3,
    example=0.3,
    reason="a step takes so much off a direction of mean curvature",
    remedy="Use for example <rate=0.3>.",
)


@final
@dataclass(frozen=True)
class MatrixDescent(Trainer):
    """Full-batch gradient descent of the training loss in the entries of the matrix, from zero.

    A step of length `rate` takes the part ``rate`` off what is left of a direction of mean curvature; it converges
    where ``rate`` times the largest curvature is below 2. Every one of `steps` steps is looked at, or where `until` is
    given so many of that many, about evenly spaced by their logarithm.
    """

    rate: float = field(default=RATE.default, metadata=declared(RATE))
    until: int | None = field(default=None, metadata=declared(LAST_STEP))
    steps: int = field(default=20, metadata=declared(TIMES))

    @property
    def geometric(self) -> bool:  # type: ignore[override]
        """Whether steps are looked at that are evenly spaced by their logarithm."""
        return self.until is not None and self.until > self.steps

    @property
    def times(self) -> NDArray[np.float64]:
        """Steps after which it is looked at."""
        return step_times(self.until, self.steps)
