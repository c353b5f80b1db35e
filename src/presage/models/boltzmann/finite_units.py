"""Hidden units of any law of finite support: each by itself, or all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.declaration import MOST_VALUES
from presage.models.boltzmann.hidden import ROUNDING, States, UnitsWithStates, states_of_alike, states_of_rows
from presage.protocol import checks

MOST_STATES = 4096  # of all units together
LARGEST = 1e3  # of a value in size
ALONE = "Use for example FiniteUnits([-1, 0, 1], [0.25, 0.5, 0.25])."
TOGETHER = "Use for example JointUnits([[1, 1], [-1, 0], [0, -1]])."


@final
@dataclass(frozen=True)
class FiniteUnits(UnitsWithStates):
    """Independent units that take a few values; `chances` are those of the values, all alike unless they are given.

    A value that is there twice is twice as likely: ``FiniteUnits([-1, 0, 0, 1])`` is zero half of the time.
    """

    values: Any  # kept as a tuple of numbers
    chances: Any = None  # kept as a tuple; None where all are alike

    def __post_init__(self) -> None:
        values = _checked("values", self.values, 1, MOST_VALUES, ALONE)
        object.__setattr__(self, "values", tuple(map(float, values)))
        object.__setattr__(self, "chances", _checked_chances(self.chances, len(values), ALONE))

    def check_units(self, units: int) -> None:
        count = len(set(self.values))
        if count**units > MOST_STATES:
            why = f"units of {count} values have {count}^units states, which are summed"
            raise checks.complaint("units", f"make at most {MOST_STATES} states", why, units, "Use fewer <units>.")

    def states(self, units: int) -> States:
        return states_of_alike(self.values, self.chances, units)

    @property
    def largest(self) -> float:
        return float(max(map(abs, self.values)))


@final
@dataclass(frozen=True)
class JointUnits(UnitsWithStates):
    """Units of any law together: a row of numbers is a state of all of them, a column each; `chances` as above.

    A row that is there twice is twice as likely.
    """

    rows: Any  # kept as a tuple of tuples
    chances: Any = None  # kept as a tuple; None where all are alike

    independent = False

    def __post_init__(self) -> None:
        rows = _checked("rows", self.rows, 2, MOST_STATES, TOGETHER)
        object.__setattr__(self, "rows", tuple(tuple(map(float, row)) for row in rows))
        object.__setattr__(self, "chances", _checked_chances(self.chances, len(rows), TOGETHER))

    def check_units(self, units: int) -> None:
        count = len(self.rows[0])
        if count != units:
            reason, remedy = "a row has a value of every unit", f"Use <units={count}>."
            raise checks.complaint("units", f"be {count} here", reason, units, remedy)

    def states(self, units: int) -> States:
        self.check_units(units)
        return states_of_rows(self.rows, self.chances)

    @property
    def largest(self) -> float:
        return float(np.abs(self.rows).max())


def _checked(name: str, given: Any, dimensions: int, most: int, remedy: str) -> Floats:
    """Values of units as an array, or a complaint."""
    reason = "these are the values that hidden units take"
    values = checks.finite(name, given, reason=reason, remedy=remedy)
    if values.ndim != dimensions or values.size == 0:
        must = "be a list of numbers" if dimensions == 1 else "be a list of rows of numbers"
        raise checks.complaint(name, must, reason, f"an array of shape {values.shape}", remedy)
    if len(values) > most:
        why = "likelihoods are sums over all states of the hidden units"
        raise checks.complaint(name, f"be at most {most}", why, f"{len(values)} of them", remedy)
    largest = float(np.abs(values).max())
    if largest > LARGEST:
        why = "values of order one are meant, which the weights multiply"
        raise checks.complaint(name, f"be at most {LARGEST:g} in size", why, largest, remedy)
    if not np.any(values):
        raise checks.complaint(name, "not all be zero", "a unit that is always zero learns nothing", "zeros", remedy)
    return values


def _checked_chances(given: Any, count: int, remedy: str) -> tuple[float, ...] | None:
    """Chances of the values as they are kept, or a complaint."""
    if given is None:
        return None
    reason = "these are the probabilities of the values"
    chances = checks.finite("chances", given, reason=reason, remedy=remedy)
    fits = chances.shape == (count,)
    if not fits or np.any(chances <= 0.0) or abs(float(chances.sum()) - 1.0) > ROUNDING:
        told = str([float(one) for one in chances]) if fits else f"an array of shape {chances.shape}"
        raise checks.complaint("chances", f"be {count} positive numbers that sum to one", reason, told, remedy)
    return tuple(map(float, chances))
