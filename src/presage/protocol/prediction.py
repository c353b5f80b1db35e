"""What a theory answers: numbers with error bars, and what to know before believing them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from presage.protocol.observables import Observable

HALF_WIDTH = "half width of a 95 % interval"


class Result:
    """Base of what the verbs of theory return: a frozen dataclass with the problem and named numbers."""

    problem: Any
    observables: ClassVar[tuple[Observable, ...]] = ()  # the numbers that people ask for, in the order of a table
    error_bars: Mapping[str, float] = {}
    caveats: tuple[str, ...] = ()
    meaning_of_bars: ClassVar[str] = HALF_WIDTH

    if TYPE_CHECKING:  # each model has numbers of its own beside the common ones

        def __getattr__(self, name: str) -> Any: ...

    def __str__(self) -> str:
        return "\n".join([*self._lines(), *(f"caveat: {line}" for line in self.caveats)])

    def _lines(self) -> list[str]:
        """One line a number: its name, its value, its error bar."""
        bars = self.error_bars
        lines = []
        for observable in self.observables:
            value = f"{observable.name:<17} {getattr(self, observable.name):.6g}"
            lines.append(f"{value} +- {bars[observable.name]:.1e}" if observable.name in bars else value)
        return lines


class Prediction(Result):
    """A prediction that trained networks can be set beside: every number has an entry in `error_bars`."""

    compared: ClassVar[tuple[str, ...]] = ()  # observables that networks have too
    minimises: ClassVar[bool] = True  # whether it is for the minimum of a loss, not for a posterior mean
    spectrum_measured_as: ClassVar[str | None] = None  # what networks call the numbers of which `spectrum` is the law
