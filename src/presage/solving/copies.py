"""How many independent copies an accuracy takes: a first few say how far they spread, and so how many there must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import TypeVar

from presage.solving.vector_state_evolution import mean_and_bar

T = TypeVar("T")

SPARE = 1.15  # more copies than their spread asks for: it is itself uncertain
AT_ONCE = 3.0  # times as many copies as there are, at most, before they are looked at again


def enough_copies(
    make: Callable[[int], T],
    worst: Callable[[list[T]], float],
    accuracy: float,
    *,
    first: int,
    most: int,
) -> list[T]:
    """Copies of seeds 0, 1, ... until the `worst` relative error bar is within the accuracy, or there are `most`."""
    found = [make(seed) for seed in range(first)]
    while len(found) < most:
        off = worst(found) / accuracy
        if off <= 1.0:
            break
        wanted = min(SPARE * len(found) * off**2, AT_ONCE * len(found), most)
        found += [make(seed) for seed in range(len(found), max(ceil(wanted), len(found) + 1))]
    return found


def averaged(copies: list[dict[str, float]]) -> tuple[dict[str, float], dict[str, float]]:
    """Mean of every number over copies, and the half width of its 95 % interval by their spread."""
    both = {name: mean_and_bar([copy[name] for copy in copies]) for name in copies[0]}
    return {name: mean for name, (mean, _) in both.items()}, {name: bar for name, (_, bar) in both.items()}


def largest(values: Mapping[str, float], bars: Mapping[str, float], floors: Mapping[str, float]) -> float:
    """The largest error bar relative to its number, or to a floor under it where a number may be zero."""
    return max(bar / max(abs(values[name]), floors.get(name, 0.0), 1e-300) for name, bar in bars.items())


def not_reached(worst: float, accuracy: float) -> tuple[str, ...]:
    """What to say where an error bar is larger than was asked for."""
    if worst <= accuracy:
        return ()
    return (
        f"error bars reach {worst:.2g} of their numbers, where {accuracy:.2g} was asked for: more work would be more "
        "than is done for one answer, or no help.",
    )
