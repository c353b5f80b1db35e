"""Numbers with their error bars, as short as they can be read."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from math import floor, inf, isfinite, isnan, log10
from typing import Any, NamedTuple

MOST_DIGITS = 8  # of a number whose error bar is smaller than anyone will read
FIRM = sys.float_info.dig  # digits that a number of the machine is sure to have
SMALL, LARGE = 1e-4, 1e6  # outside of these, powers of ten are written
ROUNDING = sys.float_info.epsilon**2  # the square of a difference that is zero to rounding, of numbers of order one

Cell = str | Callable[[int], str]  # of a table: words, or a number that can be told in so many digits


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


def short(value: Any) -> str:
    """A value as one writes it."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def bar(value: float) -> str:
    """An error bar by itself: two digits are enough."""
    return text(value) if not isfinite(value) else "0" if value < ROUNDING else f"{value:.1e}"


def with_bar(measured: Measured, digits: int = MOST_DIGITS) -> str:
    """``0.135990(4)``: the digits in brackets are the error bar of the last ones; without brackets all are certain."""
    value, error = measured
    if not isfinite(value):
        return text(value)
    if isnan(error) or error == inf:
        return f"{text(value, min(digits, 6))}(?)"
    size = max(abs(value), error)
    if size < ROUNDING:
        return "0"
    power = floor(log10(size))
    shift = 0 if SMALL <= size < LARGE else power
    value, error, power = value / 10.0**shift, error / 10.0**shift, power - shift
    most = max(digits - 1 - power, 0)
    decimals, brackets = most, ""
    if error > 0.0 and -floor(log10(error)) <= most:
        decimals = max(-floor(log10(error)), 0)
        units = round(error * 10.0**decimals)
        if units == 10 and decimals > 0:  # 9.7 in the last digit is 1 in the one before
            decimals, units = decimals - 1, 1
        brackets = f"({units})"
    if shift and abs(float(f"{value:.{decimals}f}")) >= 10.0:  # rounding has brought it to the next power of ten
        shift, value, decimals = shift + 1, value / 10.0, decimals + (1 if brackets else 0)
    tail = f"e{shift:+03d}" if shift else ""
    return f"{value:.{decimals}f}{brackets}{tail}"


def plus_minus(measured: Measured) -> str:
    """``0.1359900 ± 4.4e-06``: as many digits as the bar has, so that none that it vouches for is rounded away."""
    value, error = measured
    if not isfinite(value) or isnan(error):
        return text(value)
    return f"{_down_to(value, error)} ± {bar(error)}"


def _down_to(value: float, error: float) -> str:
    """A number down to the second digit of its error bar."""
    if error == inf or value == 0.0:
        return text(value)
    if error < ROUNDING:
        return text(value, FIRM)
    digits = floor(log10(abs(value))) - floor(log10(error)) + 2
    return f"{value:#.{min(max(digits, 2), FIRM)}g}".rstrip(".")


def cell(number: Measured | float) -> Cell:
    """A number, with its error bar in brackets where it has one, in as many digits as there is room for."""
    return partial(with_bar, number) if isinstance(number, Measured) else partial(_rounded, number)


def cells(number: Measured | float) -> tuple[Cell, str]:
    """A number and its error bar for a table that has a column for each."""
    return (partial(_value, number), bar(number.bar)) if isinstance(number, Measured) else (cell(number), "")


def _rounded(number: float, digits: int) -> str:
    return text(number, min(digits, 6))


def _value(number: Measured, digits: int = MOST_DIGITS) -> str:
    """The digits that the error bar leaves, without the brackets."""
    head, bracket, rest = with_bar(number, digits).partition("(")
    return head + rest.partition(")")[2] if bracket else head
