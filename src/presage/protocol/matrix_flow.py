"""Gradient flow of a matrix that is trained itself: its settings, which theory and networks share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from presage.protocol.clocks import FIRST, TIMES, UNTIL, check_flow, flow_times
from presage.protocol.fields import declared
from presage.protocol.trainer import Trainer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class MatrixFlow(Trainer):
    """Gradient flow of the training loss in the entries of the matrix, from zero, looked at `steps` times.

    It is followed by ``trajectory(problem, steps=20, trainer=MatrixFlow(until=100))`` where outputs are linear in the
    matrix. Its clock counts in units of the mean curvature of the loss of the samples, an entry: a direction of mean
    curvature is learned as ``1 - exp(-time)``. Times are 0 and those from `first` (a thousandth of the last, unless it
    is given) to `until`, evenly spaced by their logarithm.
    """

    until: float = field(default=100.0, metadata=declared(UNTIL))
    first: float | None = field(default=None, metadata=declared(FIRST))
    steps: int = field(default=20, metadata=declared(TIMES))

    clock = "time of the flow, over the mean curvature"
    moment = "time"
    geometric = True

    def check_together(self) -> None:
        check_flow(self.first, self.until, self.steps)

    @property
    def times(self) -> NDArray[np.float64]:
        """Times at which it is looked at."""
        return flow_times(self.first, self.until, self.steps)
