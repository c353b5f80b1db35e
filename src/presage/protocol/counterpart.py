"""Numbers of a prediction that networks show only if they kept what it takes to measure them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from presage.protocol.observables import Observable


class Counterpart(NamedTuple):
    """A number of a prediction, and how it is measured of an ensemble."""

    observable: Observable
    prediction: float
    error_bar: float  # half width of a 95 % interval
    measured: Callable[[Any], Any]  # an ensemble -> an array with one entry a seed; None where it kept too little
    needs: str = ""  # what to ask `simulate` for, in words
