"""Observables: the numbers that a result has, each named, worded and labelled once for every table, axis and store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final


@final
@dataclass(frozen=True)
class Observable:
    """One number of a result."""

    name: str  # the attribute that holds it
    words: str  # what it is, in a table
    label: str = ""  # on an axis; the name by default
    fraction: bool = False  # between 0 and 1, in steps of 1/d where networks are counted
    brief: bool = True  # whether it is among the few that a narrow table or a picture has room for
    clean_only: bool = False  # a threshold that is one for labels without noise only
    costly: bool = False  # takes longer than all the rest: computed when it is asked for, and not by a sweep
    stands_for: tuple[str, ...] = ()  # words that the numbers 0, 1, ... stand for, of one that is a kind
    formula: str = ""  # its definition in TeX, in the symbols of the model's section in the documentation
    correction: float = 1.0  # what a finite size adds to the mean over networks falls as d to this power
    fluctuation: float = 1.0  # and so does, to this one, the spread of networks of one size

    @property
    def axis(self) -> str:
        """The label of an axis."""
        return self.label or self.name.replace("_", " ")


def by_name(observables: Iterable[Observable]) -> dict[str, Observable]:
    """Observables by their names, in their order."""
    return {observable.name: observable for observable in observables}
