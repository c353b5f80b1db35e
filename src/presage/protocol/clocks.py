"""Times at which a training is looked at: of a flow evenly spaced by their logarithm, of descent whole steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presage.protocol import checks
from presage.protocol.fields import Number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_STEPS = 10_000_000
RANGE = 1e3  # of the times of a flow, the last over the first, unless it is given

TIMES = Number("times that are looked at", at_least=1, at_most=100_000, whole=True, example=20)
UNTIL = Number("last time of the flow", above=0.0, at_most=1e12, example=100.0)
FIRST = Number("first time of the flow that is looked at, beside 0", above=0.0, optional=True, example=0.1)
LAST_STEP = Number(
    "steps in all, where not every one is looked at",
    at_least=1,
    at_most=MOST_STEPS,
    whole=True,
    optional=True,
    example=1000,
)


def check_flow(first: float | None, until: float, steps: int) -> None:
    """Complain about a first time that is not before the last."""
    if first is not None and not (first < until or (first == until and steps == 1)):
        reason, remedy = f"the last time is until = {until:g}", "Use a smaller <first>, or a later <until>."
        raise checks.complaint("first", "be before the last time", reason, first, remedy)


def flow_times(first: float | None, until: float, steps: int) -> NDArray[np.float64]:
    """0, then so many times up to the last, each by the same factor later than the one before."""
    import numpy as np

    start = until / RANGE if first is None else first
    later = np.geomspace(start, until, steps) if steps > 1 else np.array([until])
    return np.concatenate([[0.0], later])


def step_times(until: int | None, steps: int) -> NDArray[np.float64]:
    """0 and every step; where there are more in all, steps that are about evenly spaced by their logarithm."""
    import numpy as np

    if until is None or until <= steps:
        return np.arange((steps if until is None else until) + 1.0)
    spaced = np.round(np.geomspace(1.0, until, steps)) if steps > 1 else np.array([float(until)])
    return np.unique(np.concatenate([[0.0], spaced]))
