"""What a model declares: its problems by name, where each verb is answered, its observables, its trainers.

The declaration of a model imports nothing heavy: it names modules, and what is named is imported when it is first asked
for. `presage --help` reads all of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, final

from presage.protocol.fields import Declaration
from presage.protocol.observables import Observable


@final
@dataclass(frozen=True)
class NamedProblem:
    """A problem of a model that has a name of its own, on the command line and as a function."""

    name: str  # as one types it: "linear-attention"
    words: str  # what it is, in a line
    make: str  # "package.module:function" that makes it
    fields: Mapping[str, Declaration]  # what the function takes, by name, in the order in which it is told
    # What a view begins with, where that is neither the default of the field nor its example.
    begin: Mapping[str, Any] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)  # verbs without an answer, each with the reason
    default: bool = False  # whether a view begins with it, where nobody names another

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Make the problem."""
        return found(self.make)(*arguments, **options)


@final
@dataclass(frozen=True)
class Model:
    """A solvable model of learning."""

    name: str
    words: str
    verbs: Mapping[str, str | Callable[..., Any]]  # "solve" -> the function that answers it, or its place
    named: tuple[NamedProblem, ...] = ()
    measured: tuple[Observable, ...] = ()  # what a trained network shows
    observables: Mapping[str, tuple[Observable, ...]] = field(default_factory=dict)  # what the answer to a verb shows
    trainers: Mapping[str, Any] = field(default_factory=dict)  # name -> class, or its place; the default first
    # Trainers that `trajectory` follows, likewise, where they are others than those that minimise the loss.
    ways: Mapping[str, Any] = field(default_factory=dict)
    dimension: str = "dimension of a token"  # what `d` is

    def answer(self, verb: str) -> Callable[..., Any] | None:
        """The function of this model that answers a verb; None where it has none."""
        return found(self.verbs[verb]) if verb in self.verbs else None


def found(place: Any) -> Any:
    """The object at "package.module:name"; an object that is no such text stands for itself."""
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(":")
    thing = importlib.import_module(module)
    for part in name.split("."):
        thing = getattr(thing, part)
    return thing


@cache
def models() -> tuple[Model, ...]:
    """Every model of the package: each folder of `presage.models` with a `declaration`."""
    return tuple(_declared())


def _declared() -> Iterator[Model]:
    rooms = importlib.import_module("presage.models")
    for room in sorted(pkgutil.iter_modules(rooms.__path__), key=lambda room: room.name):
        place = f"{rooms.__name__}.{room.name}.declaration"
        if room.ispkg and importlib.util.find_spec(place) is not None:
            yield importlib.import_module(place).MODEL
