"""The way that learning takes: what a training shows after every step, predicted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from presage.protocol.columns import Columns
from presage.protocol.ensemble import Floats
from presage.protocol.observables import Observable
from presage.protocol.prediction import HALF_WIDTH
from presage.protocol.trainer import Trainer

TIME = "time"  # name of the first column


@final
@dataclass(frozen=True, eq=False)
class Trajectory(Columns):
    """Observables against the steps of a training, each with its error bar: one entry a time.

    The networks that it is about are those of ``simulate(problem, d=..., trainer=trajectory.trainer,
    keep="trajectory")``.
    """

    problem: Any
    trainer: Trainer  # whose steps are followed
    observables: tuple[Observable, ...] = field(repr=False)
    times: Floats = field(repr=False)  # by the clock of the trainer, most often in steps, from 0 on
    values: dict[str, Floats] = field(repr=False)  # by the name of the observable
    error_bars: dict[str, Floats] = field(repr=False)  # half widths of 95 % intervals
    notes: tuple[str, ...] = field(default=(), repr=False)
    d: int | None = None  # of the networks that it is about; None for the limit of large ones
    # When half of each feature of the target is learned, the strongest first; None where that is not known.
    half_times: Floats | None = field(default=None, repr=False)

    meaning_of_bars = HALF_WIDTH

    def __post_init__(self) -> None:
        for one in self.observables:
            for kind, found in (("value", self.values), ("error bar", self.error_bars)):
                shape = np.shape(found.get(one.name, np.nan))
                if shape != np.shape(self.times):
                    raise TypeError(
                        f"{one.name} needs one {kind} a time, {np.shape(self.times)} of them, and has {shape}."
                    )

    def __getattr__(self, name: str) -> Any:
        """An observable by its name: an array with one entry a time."""
        values = vars(self).get("values", {})
        if name in values:
            return values[name]
        known = ", ".join(values)
        raise AttributeError(f"a Trajectory has no {name!r}; it follows {known}.", name=name, obj=self)

    @property
    def minimises(self) -> bool:
        """Whether it leads to a minimum of the loss, not to a posterior mean."""
        return self.trainer.minimises

    @property
    def meanings(self) -> Mapping[str, str]:
        """The columns in words: the time, then every observable and its error bar."""
        told = {TIME: self.trainer.clock}
        for one in self.observables:
            told |= {one.name: one.words, f"{one.name}_bar": HALF_WIDTH}
        return told

    def column(self, name: str) -> NDArray[Any]:
        if name == TIME:
            return self.times
        return np.asarray(self.values[name] if name in self.values else self.error_bars[name.removesuffix("_bar")])

    @property
    def head(self) -> str:
        names = ", ".join(one.name for one in self.observables)
        return f"{names} at {len(self)} times, up to {self.trainer.moment} {self.times[-1]:g} of {self.trainer}"

    @property
    def caveats(self) -> tuple[str, ...]:
        return (*self.problem.notes, *self.notes)
