"""A problem: what is learned, from how much data, with what noise. Frozen, and checked when it is made."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

from presage.protocol import checks
from presage.protocol.fields import Declaration, Declared, declarations
from presage.protocol.model import Model, found
from presage.protocol.recorded import IN_HTML


class LearningProblem(Declared):
    """Base of the problems of every model: a frozen dataclass of declared fields, and the model that it is of."""

    model: ClassVar[Model]
    parts: ClassVar[tuple[str, ...]] = ()  # fields with fields of their own, in the order of looking a name up

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some numbers or choices changed.

        Names of the problem itself (``alpha``, ``noise`` ...) and of its parts (``beta``, ``kappa_0`` ...) are
        understood alike; `names` lists them.
        """
        own = {field.name for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        direct = {name: value for name, value in changes.items() if name in own}
        left = {name: value for name, value in changes.items() if name not in own}
        for part in self.parts:
            current = direct.get(part, getattr(self, part))
            inner = {name: left.pop(name) for name in _field_names(current) if name in left}
            if inner:
                replaced = getattr(current, "replaced", None)  # a part may know what else changes with a number
                direct[part] = replaced(**inner) if replaced else dataclasses.replace(current, **inner)
        if left:
            raise checks.complaint(
                "replace",
                "be given names that the problem has",
                "a misspelt name would silently change nothing",
                ", ".join(left),
                f"This problem has {', '.join(self.names())}.",
            )
        return dataclasses.replace(self, **direct)  # type: ignore[type-var]

    @property
    def notes(self) -> tuple[str, ...]:
        """What its parts have to say, such as a law of eigenvalues of which some are rounding: caveats of an answer."""
        parts = [getattr(self, field.name) for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return tuple(line for part in parts for line in getattr(part, "notes", ()))

    def _repr_html_(self) -> str:
        """A table of the fields with their meanings, for a notebook."""
        return str(found(IN_HTML)(self))

    def declaration(self, name: str) -> Declaration | None:
        """What is declared of a field, of the problem itself or of one of its parts; None where nothing is."""
        things = [self, *(getattr(self, part) for part in self.parts)]
        found = (declarations(thing).get(name) for thing in things if dataclasses.is_dataclass(thing))
        return next(filter(None, found), None)

    def names(self) -> list[str]:
        """Names that `replace` understands: of the problem's own fields and of those of its parts, each once."""
        things = [self, *(getattr(self, part) for part in self.parts)]
        return list(dict.fromkeys(name for thing in things for name in _field_names(thing)))


def _field_names(thing: Any) -> list[str]:
    """Names of the fields of a dataclass; a thing of another kind has none."""
    return [field.name for field in dataclasses.fields(thing)] if dataclasses.is_dataclass(thing) else []
