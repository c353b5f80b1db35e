"""Numbers and grids as one writes them: ``0.5``, ``0.1,0.5,2``, ``0:1:11``, ``0.05:40:60log``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from presage.cli.errors import CommandError

SYNTAX = "A grid is FROM:TO:COUNT, FROM:TO:COUNTlog or a list: 0:1:11, 0.05:40:60log, 0.1,0.5,2"
MOST_POINTS = 1_000_000
RANGE = re.compile(r"^(?P<low>[^:]+):(?P<high>[^:]+):(?P<count>\d+)(?P<log>log)?$")


def is_grid(text: str) -> bool:
    """Whether several numbers are meant."""
    return ":" in text or "," in text


def is_logarithmic(text: str) -> bool:
    """Whether the points are evenly spaced in their logarithm."""
    return text.strip().endswith("log")


def number(option: str, text: str) -> float:
    """One number, for a command that gives one answer."""
    if is_grid(text):
        raise CommandError(
            f"`{option}` must be one number here: this command gives one answer. Got {option} {text}. "
            f"Use {_with_point(text)}`presage curve` for one grid, or `presage sweep` for several."
        )
    return _number(option, text)


def _with_point(text: str) -> str:
    """What a number with a comma may have been meant to be."""
    whole, _, decimals = text.strip().partition(",")
    return f"{whole}.{decimals} with a decimal point, " if whole.isdecimal() and decimals.isdecimal() else ""


def grid(option: str, text: str) -> list[float]:
    """The numbers of a grid, in the order given; a single number is a grid of one."""
    if ":" not in text:
        return [_number(option, part) for part in text.split(",")]
    parts = RANGE.match(text.strip())
    if parts is None:
        raise _unreadable(option, text)
    low, high, count = _number(option, parts["low"]), _number(option, parts["high"]), int(parts["count"])
    if not 1 <= count <= MOST_POINTS:
        raise CommandError(f"`{option}` must have from 1 to {MOST_POINTS} points. Got {option} {text}. {SYNTAX}.")
    if parts["log"] and not (low > 0.0 and high > 0.0):
        raise CommandError(
            f"`{option}` must begin and end above 0: its points are evenly spaced in their logarithm. "
            f"Got {option} {text}. Leave out `log` for a linear grid."
        )
    import numpy as np

    points = np.geomspace(low, high, count) if parts["log"] else np.linspace(low, high, count)
    return [float(point) for point in points]


def _number(option: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _unreadable(option, text) from None
    if not isfinite(value) or "_" in text:
        raise _unreadable(option, text)
    return value


def _unreadable(option: str, text: str) -> CommandError:
    shown = text if len(text) <= 40 else text[:37] + "..."
    return CommandError(f"`{option}` must be a finite number or a grid of them. Got {option} {shown!r}. {SYNTAX}.")


def corners(found: Mapping[str, Sequence[float]]) -> Iterator[dict[str, float]]:
    """The first point of all grids, and those that differ from it along one."""
    first = {name: values[0] for name, values in found.items()}
    yield first
    for name, values in found.items():
        yield from ({**first, name: value} for value in values[1:])
