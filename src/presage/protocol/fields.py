"""Fields that are declared once: what they mean, what they may be, how they are drawn, and what to say when wrong.

A frozen dataclass that derives from `Declared` puts a declaration into the metadata of a field, and the field is
checked when the object is made. Views read the same declarations: the help of an option, the range of a slider, the
label of an axis.

    @dataclass(frozen=True)
    class Ridge(Declared):
        alpha: float = field(metadata=declared(ALPHA))  # ALPHA = Number("samples over the dimension, n/d", above=0.0)
        noise: float = field(default=NOISE.default, metadata=declared(NOISE))

Nothing heavy is imported here: `presage solve --help` reads declarations too.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, floor
from numbers import Real
from typing import Any, Literal, NamedTuple, final

from presage.protocol import checks

KEY = "presage"  # of a declaration in the metadata of a field
WIDE, FEW = 100.0, 4.0  # how far a slider goes on either side of a value by its logarithm, and up to how many times it


@dataclass(frozen=True)
class Declaration(ABC):
    """What is declared of a field, whatever its kind."""

    words: str  # what it is, as the help of an option or the name of a slider says it

    @abstractmethod
    def checked(self, name: str, value: Any) -> Any:
        """The value as it is kept, or an `InputError`."""


@final
@dataclass(frozen=True)
class Number(Declaration):
    """A number in a range."""

    symbol: str = ""  # for formulas and axes, in TeX
    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    whole: bool = False
    optional: bool = False  # whether None is a value, for something that is not there
    scale: Literal["linear", "logarithmic"] = "linear"  # how it is drawn and swept
    default: Any = None  # what it is where it is left out, in Python and in every view; None where there is no such
    example: float | None = None  # what a view begins with where there is no default
    label: str = ""  # of an axis, where the words are too long
    reason: str = ""  # why it must be so; the words by default
    too_large: str = ""  # why it must be at most so much, where that is another reason
    remedy: str = ""  # by default: use for example the example
    plays_no_part_in: tuple[str, ...] = ()  # verbs whose answer does not depend on it
    usual_up_to: float | None = None  # beyond this, which is allowed, another unit may be meant
    hint: str = ""  # what to say then
    span: tuple[float, float] | None = None  # ends of a slider; values beyond are typed

    def checked(self, name: str, value: Any) -> Any:
        if self.optional and value is None:
            return None
        reason = self.reason or f"it is the {self.words}"
        example = (
            "Use a number in that range." if self.example is None else f"Use for example <{name}={self.example:g}>."
        )
        remedy = self.remedy or example
        if self.too_large and self.at_most is not None and _exceeds(value, self.at_most):
            reason, remedy = self.too_large, f"Use at most <{name}={self.at_most:g}>."
        if self.whole:
            least = -(2**31) if self.at_least is None else ceil(self.at_least)
            least = least if self.above is None else max(least, floor(self.above) + 1)
            most = 2**31 if self.at_most is None else floor(self.at_most)
            return checks.integer(name, value, at_least=least, at_most=most, reason=reason, remedy=remedy)
        bounds = {"above": self.above, "at_least": self.at_least, "at_most": self.at_most}
        return checks.real(name, value, reason=reason, remedy=remedy, **bounds)

    def hinted(self, name: str, value: Any) -> str | None:
        """What to say of a value that is allowed and looks as if another unit were meant; None of any other."""
        unusual = self.usual_up_to is not None and value is not None and value > self.usual_up_to
        return f"<{name}={value:g}>, {self.words}, is unusually large: {self.hint}." if unusual else None

    def axis(self, name: str) -> str:
        """The label of an axis along this number."""
        return self.label or self.words or name.replace("_", " ")

    def span_about(self, value: float) -> tuple[float, float]:
        """Ends of a slider: those that are declared, else a range about a value, within what is allowed."""
        if self.span is not None:
            return self.span
        size = max(abs(value), abs(self.example or 0.0)) or 1.0
        below, above = (size / WIDE, size * WIDE) if self.scale == "logarithmic" else (min(0.0, value), FEW * size)
        least = self.at_least if self.above is None else max(below, self.above)
        low = below if least is None else max(below, least)
        high = above if self.at_most is None else min(above, self.at_most)
        return low, high


@final
@dataclass(frozen=True)
class Choice(Declaration):
    """One of a few words."""

    options: tuple[str, ...] = ()
    default: Any = None  # what it is where it is left out, in Python and in every view; None where there is no such
    reason: str = "there is no other"

    def checked(self, name: str, value: Any) -> Any:
        if not isinstance(value, str) or value not in self.options:
            quoted = [f'"{option}"' for option in self.options]
            listed = " or ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
            remedy = f"Use for example <{name}={quoted[0]}>."
            raise checks.complaint(name, f"be {listed}", self.reason, value, remedy)
        return value


class Form(NamedTuple):
    """One way to write an object as a text: a word, and after a colon the numbers that it is made of."""

    pattern: str
    example: str
    words: str
    made_by: str = ""  # public class whose arguments are the numbers in their order; values with weights have none
    least: int = 1  # numbers that it takes
    most: int = 1
    listed: bool = False  # whether the class takes all of them as one list


@final
@dataclass(frozen=True)
class Part(Declaration):
    """An object of a certain class: the law of a target, a channel, a penalty."""

    kind: str = ""  # dotted name of the class, which is imported when a value is checked
    example: str = ""  # as one writes it in Python
    reason: str = ""
    noun: str = "law"  # what one value of it is called
    forms: Mapping[str, Form] = dataclasses.field(default_factory=dict, hash=False)  # by the word that begins a text

    def checked(self, name: str, value: Any) -> Any:
        import importlib

        module, _, noun = self.kind.rpartition(".")
        kind = getattr(importlib.import_module(module), noun)
        remedy = f"Use for example <{name}={self.example}>."
        checks.instance(name, value, kind, reason=self.reason or f"it is the {self.words}", remedy=remedy)
        if hasattr(value, "check_itself"):  # a law of one's own may be none
            value.check_itself(name)
        return value


def _exceeds(value: Any, bound: float) -> bool:
    """Whether something is a number, and too large a one."""
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) > bound


def declared(declaration: Declaration) -> Mapping[str, Declaration]:
    """The metadata of a field with this declaration."""
    return {KEY: declaration}


def declarations(thing: Any) -> dict[str, Declaration]:
    """The declared fields of a dataclass or of one of its objects, by name, in their order."""
    return {field.name: field.metadata[KEY] for field in dataclasses.fields(thing) if KEY in field.metadata}


class Declared:
    """Checks the declared fields of a frozen dataclass when an object of it is made."""

    def __post_init__(self) -> None:
        for name, declaration in declarations(self).items():
            object.__setattr__(self, name, declaration.checked(name, getattr(self, name)))
        self.check_together()

    def check_together(self) -> None:
        """Check what no single field says: override it where fields depend on each other."""
