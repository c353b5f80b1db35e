"""Gradient flow of a network that sees infinitely many samples: its settings, which theory and networks share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, final

from presage.models.attention.population_start import DEVIATION, EPS, checked_start
from presage.protocol.clocks import FIRST, TIMES, UNTIL, check_flow, flow_times
from presage.protocol.fields import declared
from presage.protocol.trainer import Trainer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@final
@dataclass(frozen=True)
class PopulationFlow(Trainer):
    """Gradient flow of the factor W on the loss of infinitely many samples, looked at `steps` times.

    ``dW/dtheta = (S_0 - S) W``: the clock theta is ``8 t/(d sqrt(m d))`` for the time t of a flow along the mean loss
    of one token, ``4 T (T+1) t/(d sqrt(m d))`` for T. It begins at ``S = eps 1`` (``eps = 1e-3``, unless it is given),
    or at Gaussian weights of a standard deviation, `deviation`. Times are 0 and those from `first` (a thousandth of the
    last, unless it is given) to `until`, evenly spaced by their logarithm.
    """

    eps: float | None = field(default=None, metadata=declared(EPS))
    deviation: float | None = field(default=None, metadata=declared(DEVIATION))
    until: float = field(default=100.0, metadata=declared(UNTIL))
    first: float | None = field(default=None, metadata=declared(FIRST))
    steps: int = field(default=20, metadata=declared(TIMES))

    clock = "time of the flow, theta"
    moment = "time"
    geometric = True

    def check_together(self) -> None:
        object.__setattr__(self, "eps", checked_start(self.eps, self.deviation))
        check_flow(self.first, self.until, self.steps)

    @property
    def times(self) -> NDArray[np.float64]:
        """Times theta at which it is looked at."""
        return flow_times(self.first, self.until, self.steps)
