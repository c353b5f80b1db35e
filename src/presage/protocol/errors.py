"""What goes wrong, with what to do about it as data: bad input, and computations that fail.

A text may name an argument, a value for it or a verb in angle brackets: ``<alpha>``, ``<alpha=0.5>``, ``<solve()>``.
In Python these read ``alpha``, ``alpha=0.5`` and ``solve(problem)``; the command line shows them as its options.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple, Self

_MARKED = re.compile(r"<([A-Za-z_]\w*)(?:=([^<>]*)|(\(\)))?>")


class Mark(NamedTuple):
    """What a text names in angle brackets."""

    name: str
    value: str | None  # of an argument, where the text has one
    is_verb: bool


def in_words(text: str, spell: Callable[[Mark], str]) -> str:
    """A text with each of its marks spelled by `spell`."""
    return _MARKED.sub(lambda found: spell(Mark(found[1], found[2], bool(found[3]))), text)


def in_python(text: str) -> str:
    """A text as one reads it in Python."""
    return in_words(text, _spell_python)


def _spell_python(mark: Mark) -> str:
    if mark.is_verb:
        return f"{mark.name}(problem)"
    return mark.name if mark.value is None else f"{mark.name}={mark.value}"


class InputError(ValueError):
    """Bad input: `name` must ..., for this reason; this `value` was given; the remedy.

    `marked` has the three texts with their marks, for who spells them in another way than Python.
    """

    def __init__(self, name: str, must: str, reason: str, value: Any, remedy: str) -> None:
        self.name, self.value = name, value
        self.marked = {"must": must, "reason": reason, "remedy": remedy}
        self.must, self.reason, self.remedy = (in_python(text) for text in self.marked.values())
        super().__init__(f"`{name}` must {self.must}: {self.reason}. Got {name}={value!r}. {self.remedy}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str, Any, str]]:
        """Pickle whole, so that a worker process can hand the error back."""
        must, reason, remedy = self.marked.values()
        return type(self), (self.name, must, reason, self.value, remedy)


class ComputationError(ArithmeticError):
    """A computation that did not succeed: `what` happened, the `remedy`, and the `partial` result (or None).

    `marked` has the two texts with their marks, for who spells them in another way than Python.
    """

    def __init__(self, what: str, remedy: str, partial: Any = None) -> None:
        self.marked = {"what": what, "remedy": remedy}
        self.what, self.remedy = (in_python(text) for text in self.marked.values())
        self.partial = partial
        super().__init__(f"{self.what} {self.remedy}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, Any]]:
        """Pickle whole, so that a worker process can hand the error back."""
        return type(self), (self.marked["what"], self.marked["remedy"], self.partial)


class SolveError(ComputationError):
    """A problem could not be solved to the accuracy asked for; ``partial`` is the best prediction found (or None)."""


class TrainError(ComputationError):
    """A network could not be trained; ``partial`` is the ensemble, with the reason of each seed (or None)."""


class TrainInterrupted(KeyboardInterrupt):
    """Training was interrupted. ``partial`` is the ensemble of the seeds that had ended (or None)."""

    def __init__(self, message: str, partial: Any = None) -> None:
        super().__init__(message)
        self.partial = partial
