"""A problem as the page asks about it: the name of a model and the text of every field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property, lru_cache
from math import isfinite
from typing import Any, final

from presage.cli import models, targets
from presage.cli.errors import CommandError
from presage.cli.models import Chosen
from presage.cli.options import Given
from presage.page.bounds import BOUNDS, beyond
from presage.page.described import BESIDE, main_verb
from presage.protocol import checks
from presage.protocol.fields import Declaration, Number, Part, declarations
from presage.protocol.numbers import short

LAWS = 32  # that are remembered
LONGEST = 60  # letters of a law that a sentence repeats


class FieldError(Exception):
    """What is wrong with one field, in a sentence."""

    def __init__(self, field: str | None, message: str) -> None:
        super().__init__(message)
        self.field, self.message = field, message

    def __reduce__(self) -> tuple[type[FieldError], tuple[str | None, str]]:
        return type(self), (self.field, self.message)


@final
@dataclass(frozen=True)
class Asked:
    """A model by name and its fields as texts; an optional field that is not there is left out."""

    model: str
    fields: Mapping[str, str]

    @cached_property
    def chosen(self) -> Chosen:
        """The problem that is named."""
        try:
            chosen = models.choose(self.model)
        except CommandError as error:
            raise FieldError("model", str(error)) from None
        unknown = [name for name in self.fields if name not in chosen.problem.fields]
        if unknown:
            has = ", ".join(chosen.problem.fields)
            raise FieldError(None, f"`{unknown[0]}` is no field of {self.model}, which has {has}. Leave it out.")
        return chosen

    @property
    def given(self) -> Given:
        """The same as a command would have it: its title, its words."""
        every = {*self.chosen.problem.fields, "atoms"}  # hints go to the browser, not to standard error
        return Given(self.chosen, dict(self.fields), hinted=every)

    @property
    def verb(self) -> str:
        """The verb that says what is learned."""
        verb = main_verb(self.chosen)
        if verb is None:
            raise FieldError("model", f"{self.model} has no answer that a page can show. Choose another model.")
        return verb

    def number(self, name: str) -> Number:
        """The declaration of a field along which one can go."""
        field = self.chosen.problem.fields.get(name)
        if not isinstance(field, Number):
            numbers = [one for one, field in self.chosen.problem.fields.items() if isinstance(field, Number)]
            raise FieldError(None, f"`{name}` is no number of {self.model}. Use one of {', '.join(numbers)}.")
        return field

    def problem(self, at: Mapping[str, float] | None = None) -> Any:
        """The problem itself, with some of its numbers at other values."""
        fields = self.chosen.problem.fields
        # What is left out begins as the command line does.
        texts = {**self.given.texts(), **{name: repr(value) for name, value in (at or {}).items()}}
        return self.chosen.problem(**{name: _value(name, fields[name], text) for name, text in texts.items()})


def verbs_beside(asked: Asked, verbs: Sequence[str]) -> list[str]:
    """The verbs whose curves stand beside that of the problem; one that there is no answer to is refused by name."""
    for verb in verbs:
        reason = asked.chosen.lacks(verb) if verb in BESIDE else f"there are {', '.join(BESIDE)}"
        if reason is not None:
            raise FieldError(None, f"`{verb}` cannot be drawn beside {asked.model}: {reason}. Leave it out.")
    return [verb for verb in verbs if verb != asked.verb]


def _value(name: str, field: Declaration, text: str) -> Any:
    if isinstance(field, Number):
        return _number(name, field, text)
    if isinstance(field, Part):
        return _law(name, field, text)
    return text


def _number(name: str, field: Number, text: str) -> float | int:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not isfinite(value) or "_" in text:
        shown = text if len(text) <= 40 else f"{text[:37]}..."
        example = short(field.example if field.example is not None else 1.0)
        reason = f"it is the {field.words}"
        raise checks.complaint(name, "be a number", reason, shown, f"Use for example {example}.")
    return int(value) if field.whole and value.is_integer() else value


def _law(name: str, field: Part, text: str) -> Any:
    if not field.forms and text.endswith(".npy"):  # the command line opens it, and the page reaches nothing on the disk
        raise FieldError(name, f"`{name}` cannot name a file here. Drop the file on the page, or paste its numbers.")
    if text.count(",") >= BOUNDS["values"].most:
        raise beyond("values", text.count(",") + 1)
    try:
        law = _read(name, field, text)
    except CommandError as error:
        shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."
        raise FieldError(name, str(error).replace(text, shown)) from None
    counted = [getattr(law, one) for one, number in _counts(law)]
    if any(count > BOUNDS["values"].most for count in counted):
        raise beyond("values", max(counted))
    return law


def _counts(law: Any) -> list[tuple[str, Number]]:
    """The numbers of a law that count its values: a power law has as many as one writes."""
    declared = declarations(law) if is_dataclass(law) else {}
    return [(name, one) for name, one in declared.items() if isinstance(one, Number) and one.whole]


@lru_cache(maxsize=LAWS)
def _read(name: str, field: Part, text: str) -> Any:
    return targets.law(name, text, field)
