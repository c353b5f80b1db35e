"""What a scaling law of a problem is: the phase that it is in, the law there, and where the next phase begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from presage.protocol.prediction import Result


class ScalingLaw(NamedTuple):
    """The leading law of one phase, with its prefactor, at the numbers of the problem."""

    phase: str  # "Ia" ... "VIb", "peak"
    words: str  # what happens there
    formula: str  # in plain text, in the symbols of the documentation
    value: float  # what it says here
    exponents: Mapping[str, float]  # of each field that can be turned: "n", "weight_decay"
    exact: bool  # whether it is an identity, not a leading order


class Boundary(NamedTuple):
    """Where a phase ends when one field is turned and the others are kept."""

    field: str  # "n" or "weight_decay"
    value: float  # where
    here: str  # phase on this side
    there: str  # phase beyond
    exact: bool  # whether the value is known, or right within a factor of two


@dataclass(frozen=True)
class Scaling(Result):
    """Phase, law, boundaries and local exponents of a problem whose target is a power law.

    A model adds the numbers that it has beside these. What is asymptotic says so in `caveats`.
    """

    problem: Any
    law: ScalingLaw
    boundaries: tuple[Boundary, ...]  # the nearest in each field, below and above
    error: float  # the exact error that the law is about
    composite: float  # the same by isolated features on a bulk, without an integral
    local_exponents: Mapping[str, float] = field(hash=False)  # of the exact error, by field, over a factor either side
    bars: Mapping[str, float] = field(repr=False, hash=False)
    notes: tuple[str, ...] = field(repr=False)

    @property
    def phase(self) -> str:
        """Name of the phase."""
        return self.law.phase

    @property
    def error_bars(self) -> Mapping[str, float]:
        """How far each number may be off, by name."""
        return self.bars

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: what is a leading order only, and where no plateau exists."""
        return (*self.problem.notes, *self.notes)
