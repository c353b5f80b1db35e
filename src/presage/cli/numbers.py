"""Numbers with their error bars, as short as they can be read."""

from __future__ import annotations

from math import floor, inf, isfinite, isnan, log10
from typing import NamedTuple

MOST_DIGITS = 8  # of a number whose error bar is smaller than anyone will read
SMALL, LARGE = 1e-4, 1e6  # outside of these, powers of ten are written


class Measured(NamedTuple):
    """A number and how far it may be off."""

    value: float
    bar: float


def text(value: float, digits: int = 6) -> str:
    """A number without an error bar."""
    if isnan(value):
        return "not known"
    if not isfinite(value):
        return "infinite" if value > 0 else "minus infinite"
    return f"{value:.{digits}g}"


def bar(value: float) -> str:
    """An error bar by itself: two digits are enough."""
    return text(value) if not isfinite(value) else f"{value:.1e}"


def with_bar(measured: Measured, digits: int = MOST_DIGITS) -> str:
    """``0.135990(4)``: the digits in brackets are the error bar of the last ones; without brackets all are certain."""
    value, error = measured
    if not isfinite(value):
        return text(value)
    if isnan(error) or error == inf:
        return f"{text(value)}(?)"
    size = max(abs(value), error)
    power = floor(log10(size)) if size > 0.0 else 0
    shift = power if not SMALL <= size < LARGE and size > 0.0 else 0
    value, error, power = value / 10.0**shift, error / 10.0**shift, power - shift
    most = max(digits - 1 - power, 0)
    decimals, brackets = most, ""
    if error > 0.0 and -floor(log10(error)) <= most:
        decimals = max(-floor(log10(error)), 0)
        units = round(error * 10.0**decimals)
        if units == 10 and decimals > 0:  # 9.7 in the last digit is 1 in the one before
            decimals, units = decimals - 1, 1
        brackets = f"({units})"
    tail = f"e{shift:+03d}" if shift else ""
    return f"{value:.{decimals}f}{brackets}{tail}"


def cells(number: Measured | float) -> tuple[str, str]:
    """A number and its error bar for a table that has a column for each."""
    if isinstance(number, Measured):
        return with_bar(number).replace("(?)", "").partition("(")[0] + _power_of_ten(number), bar(number.bar)
    return text(number), ""


def _power_of_ten(number: Measured) -> str:
    _, bracket, tail = with_bar(number).partition(")")
    return tail if bracket else ""
