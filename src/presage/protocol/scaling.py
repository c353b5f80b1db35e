"""What a scaling law of a problem is: the phase that it is in, the law there, and where the next phase begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite, isnan, nan
from typing import Any, ClassVar, NamedTuple

from presage.protocol.observables import Observable
from presage.protocol.prediction import Result


class ScalingLaw(NamedTuple):
    """The leading law of one phase, with its prefactor, at the numbers of the problem."""

    phase: str  # "Ia" ... "VIb", "peak"
    words: str  # what happens there
    formula: str  # in plain text, in the symbols of the documentation
    value: float  # what it says here
    exponents: Mapping[str, float]  # of each field that can be turned: "n", "weight_decay"; one without is left out
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

    phases: ClassVar[tuple[str, ...]] = ()  # all that the model has, in the order of `phase_number`
    in_words: ClassVar[tuple[str, ...]] = ("phase",)

    @property
    def phase(self) -> str:
        """Name of the phase."""
        return self.law.phase

    @property
    def phase_number(self) -> int:
        """Place of the phase among those of the model, for maps; -1 where the model does not list them."""
        return self.phases.index(self.phase) if self.phase in self.phases else -1

    @property
    def d(self) -> int | None:
        """The dimension at which the samples of boundaries are counted; None where a model does not say."""
        return None

    @property
    def law_value(self) -> float:
        """What the law of the phase says."""
        return self.law.value

    @property
    def exponent_n(self) -> float:
        """Exponent of the law in the number of samples; nan where it has none."""
        return self.law.exponents.get("n", nan)

    @property
    def exponent_weight_decay(self) -> float:
        """Exponent of the law in weight decay; nan where it has none."""
        return self.law.exponents.get("weight_decay", nan)

    @property
    def local_exponent_n(self) -> float:
        """Exponent of the exact error in the number of samples, around the point; nan where it was left out."""
        return self.local_exponents.get("n", nan)

    @property
    def local_exponent_weight_decay(self) -> float:
        """Exponent of the exact error in weight decay, around the point; nan where it was left out."""
        return self.local_exponents.get("weight_decay", nan)

    @property
    def known_observables(self) -> tuple[Observable, ...]:
        """Observables that are known here: an exponent that the phase has not, or that was left out, is not."""
        return tuple(one for one in self.observables if one.costly or not isnan(getattr(self, one.name)))

    @property
    def error_bars(self) -> Mapping[str, float]:
        """How far each number may be off, by name."""
        return self.bars

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: what is a leading order only, and where no plateau exists."""
        return (*self.problem.notes, *self.notes)

    def curve(self) -> ScalingCurve | None:
        """The exact error around the point, with the laws of the phases that it passes; None where a model has none."""
        return None

    def told(self) -> list[tuple[str, str, str]]:
        """What is no number of its own, for a table: a name, a value and a meaning in words each."""
        law = self.law
        rows = [("phase", law.phase, law.words), ("law", "exact" if law.exact else "leading", law.formula)]
        for edge in self.boundaries:
            known = "exact" if edge.exact else "within a factor 2"
            rows.append((f"boundary_in_{edge.field}", f"{edge.value:.4g}", f"to {edge.there}, {known}"))
        return rows

    def _lines(self) -> list[str]:
        """The report: phase in words, the law beside the exact error, exponents, boundaries."""
        law, bar = self.law, self.error_bars.get("error", nan)
        kind = "exact" if law.exact else "leading order"
        lines = [
            f"phase {law.phase}: {law.words}",
            f"law ({kind}): {law.formula}",
            f"error             {self.error:.6g}" + (f" +- {bar:.1e}" if isfinite(bar) else ""),
            f"  the law says    {law.value:.6g}  ({law.value / self.error:.4g} of it)",
            f"  composite law   {self.composite:.6g}  ({self.composite / self.error:.4g} of it)",
        ]
        for name in dict.fromkeys([*law.exponents, *self.local_exponents]):
            of_law, local = law.exponents.get(name), self.local_exponents.get(name)
            said = "none" if of_law is None else f"{of_law:+.4g}"
            lines.append(
                f"exponent in {name:<13} {said} by the law"
                + ("" if local is None else f", {local:+.4g} of the exact error around here")
            )
        walls = [row for row in self.told() if row[0].startswith("boundary")]
        return [*lines, *(f"{name.replace('_', ' ', 2):<25} {value} {words}" for name, value, words in walls)]


class ScalingCurve(NamedTuple):
    """The exact error along one field around a point, and the laws of the phases that it passes."""

    field: str
    at: float  # the point itself
    x: Any  # values of the field, rising
    error: Any  # the exact error there
    composite: tuple[Any, Any]  # values of the field, and what the composite law says there
    laws: Mapping[str, tuple[Any, Any]]  # by phase: values of the field, and what its law says there
    passed: tuple[tuple[str, float, float], ...]  # phases along the field, each from where to where
    boundaries: tuple[Boundary, ...]  # those within the curve
