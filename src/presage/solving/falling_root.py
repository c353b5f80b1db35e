"""The root of a function of a logarithm that falls through zero."""

from __future__ import annotations

from collections.abc import Callable
from math import log

import scipy

from presage.protocol.errors import SolveError

LEAST, MOST = log(1e-15), log(1e9)  # where a search gives up


def falling_root(excess: Callable[[float], float], start: float, failure: str, xtol: float = 1e-13) -> float:
    """Root of a function that is positive far below it and negative far above, from a start near it."""
    low = high = start
    step = 0.5
    rising = excess(start) > 0.0
    while rising == (excess(high if rising else low) > 0.0):
        if not LEAST < low <= high < MOST:
            raise SolveError(failure, "Use a larger <noise>, or an <alpha> further from the threshold.")
        low, high = (high, min(high + step, MOST)) if rising else (max(low - step, LEAST), low)
        step *= 2.0
    return float(scipy.optimize.brentq(excess, low, high, xtol=xtol, rtol=1e-14))
