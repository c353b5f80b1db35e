"""What a theory answers: numbers with error bars, and what to know before believing them."""

from __future__ import annotations

from collections.abc import Mapping
from math import isinf, isnan
from typing import TYPE_CHECKING, Any, ClassVar

from presage.protocol.counterpart import Counterpart
from presage.protocol.observables import Observable
from presage.protocol.recorded import Recorded

if TYPE_CHECKING:
    from presage.protocol.feature_comparison import Beside

HALF_WIDTH = "half width of a 95 % interval"


class Result(Recorded):
    """Base of what the verbs of theory return: a frozen dataclass with the problem and named numbers."""

    problem: Any
    observables: ClassVar[tuple[Observable, ...]] = ()  # the numbers that people ask for, in the order of a table
    in_words: ClassVar[tuple[str, ...]] = ()  # attributes that are words, and belong in a table of results
    meaning_of_bars: ClassVar[str] = HALF_WIDTH

    @property
    def known_observables(self) -> tuple[Observable, ...]:
        """Those of the observables that this result has; where a number does not exist, or was left out, one less."""
        return self.observables

    @property
    def error_bars(self) -> Mapping[str, float]:
        """How far each number may be off, by name."""
        return {}

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where the numbers are outside the claim that supports them."""
        return ()

    if TYPE_CHECKING:  # each model has numbers of its own beside the common ones

        def __getattr__(self, name: str) -> Any: ...

    def __str__(self) -> str:
        hints = getattr(getattr(self, "problem", None), "hints", ())
        return "\n".join(
            [*self._lines(), *(f"caveat: {line}" for line in self.caveats), *(f"hint: {line}" for line in hints)]
        )

    def _lines(self) -> list[str]:
        """One line for each number with an error bar: its name, its value, its bar."""
        names = [observable.name for observable in self.observables if observable.name in self.error_bars]
        return [f"{name:<17} {getattr(self, name):.6g} +- {self.error_bars[name]:.1e}" for name in names]


class Prediction(Result):
    """A prediction that trained networks can be set beside: every number has an entry in `error_bars`."""

    compared: ClassVar[tuple[str, ...]] = ()  # observables that networks have too
    minimises: ClassVar[bool] = True  # whether it is for the minimum of a loss, not for a posterior mean
    spectrum_of: ClassVar[str] = "eigenvalues"  # what `spectrum` is the law of, in words
    spectrum_measured_as: ClassVar[str | None] = None  # what networks call the numbers of which `spectrum` is the law

    @property
    def counterparts(self) -> tuple[Counterpart, ...]:
        """Further numbers that networks have if they kept what it takes: `compare` asks each ensemble for them."""
        return ()

    def features_beside(self, ensemble: Any) -> Mapping[str, Beside] | None:
        """Numbers of every feature of the target, predicted and of each network; None where they are not known."""
        return None

    @property
    def convention(self) -> str:
        """In which units the `spectrum_of` a network is, for networks that were trained elsewhere; "" if none."""
        return ""

    @property
    def target_law(self) -> Any:
        """The law that what is learned would have if it were the target; None where none can be drawn beside it."""
        return None

    @property
    def learned_law(self) -> Any:
        """Law of the `spectrum_of` a network, with `cdf(x)` and `sample(d, rng)`; None where there is none."""
        has_one = hasattr(type(self), "spectrum") or "spectrum" in vars(self)  # a property that fails says why itself
        return self.spectrum if has_one else None


class SampleSizes(Result):
    """Thresholds: numbers of samples from which on, or up to which, something happens; infinite where it never does."""

    def _lines(self) -> list[str]:
        width = max(len(observable.words) for observable in self.observables)
        return [f"{o.words:<{width}}  {_sample_size(getattr(self, o.name))}" for o in self.observables]


def _sample_size(value: float) -> str:
    return "no alpha" if isinf(value) else "not known" if isnan(value) else f"alpha = {value:.6g}"
