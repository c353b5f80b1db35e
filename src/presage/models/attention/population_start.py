"""Where a network begins whose samples never end: at a multiple of one, or at Gaussian weights."""

from __future__ import annotations

from presage.protocol import checks
from presage.protocol.fields import Number

EPS = Number(
    "size of the start, S(0) = eps 1",
    symbol=r"\epsilon",
    above=0.0,
    at_most=1e6,
    optional=True,
    example=1e-3,
    reason="every feature grows from it",
    remedy="Use for example <eps=1e-3>.",
)
DEVIATION = Number(
    "standard deviation of Gaussian weights at the start, in place of eps",
    symbol="w",
    above=0.0,
    at_most=1e3,
    optional=True,
    example=0.1,
    reason="every feature grows from it",
    remedy="Use for example <deviation=0.1>.",
)
SMALL = 1e-3  # eps, unless a start is given


def checked_start(eps: float | None, deviation: float | None) -> float | None:
    """The eps of a start, None where weights are Gaussian; complain where both are given."""
    if deviation is None:
        return SMALL if eps is None else eps
    if eps is not None:
        reason, remedy = "weights begin either at a multiple of one or at Gaussian numbers", "Leave one of them out."
        raise checks.complaint("eps", "be left out beside a deviation", reason, eps, remedy)
    return None
