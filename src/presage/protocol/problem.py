"""A problem: what is learned, from how much data, with what noise. Frozen, and checked when it is made."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

from presage.protocol import checks
from presage.protocol.errors import in_python
from presage.protocol.fields import Declaration, Declared, Number, declarations
from presage.protocol.model import Model, found
from presage.protocol.recorded import IN_HTML

MOST_SAMPLES = 10**15


class LearningProblem(Declared):
    """Base of the problems of every model: a frozen dataclass of declared fields, and the model that it is of."""

    model: ClassVar[Model]
    parts: ClassVar[tuple[str, ...]] = ()  # fields with fields of their own, in the order of looking a name up

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some numbers or choices changed.

        Names of the problem itself (``alpha``, ``noise`` ...) and of its parts (``beta``, ``kappa_0`` ...) are
        understood alike; `names` lists them. Where a part is a problem of its own, a name that both have is that of
        the whole; the part's has the name of the part before it (``pretraining_alpha``).
        """
        own = {field.name for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        direct = {name: value for name, value in changes.items() if name in own}
        left = {name: value for name, value in changes.items() if name not in own}
        for part in self.parts:
            current = direct.get(part, getattr(self, part))
            spelled = _spelled(part, current, own)
            inner = {name: left.pop(written) for written, name in spelled.items() if written in left}
            if inner:
                direct[part] = _changed(current, inner)
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

    @property
    def draft_accuracy(self) -> float | None:
        """Relative accuracy of a first, quick answer where one can be asked for; None where it is as good as any."""
        return 1e-2

    def _repr_html_(self) -> str:
        """A table of the fields with their meanings, for a notebook."""
        return str(found(IN_HTML)(self))

    def declaration(self, name: str) -> Declaration | None:
        """What is declared of a field, of the problem itself or of one of its parts; None where nothing is."""
        thing, inner = self._home(name)
        if isinstance(thing, LearningProblem) and thing is not self:
            return thing.declaration(inner)
        return declarations(thing).get(inner) if dataclasses.is_dataclass(thing) else None

    def value(self, name: str) -> Any:
        """The value of a field, of the problem itself or of one of its parts, by one of the `names`."""
        thing, inner = self._home(name)
        return thing.value(inner) if isinstance(thing, LearningProblem) and thing is not self else getattr(thing, inner)

    def _home(self, name: str) -> tuple[Any, str]:
        """Where a name is at home, the problem itself or a part of it, and what it is called there."""
        own = _field_names(self)
        if name not in own:
            for part in self.parts:
                spelled = _spelled(part, getattr(self, part), {*own})
                if name in spelled:
                    return getattr(self, part), spelled[name]
        return self, name

    @property
    def own_dimension(self) -> int | None:
        """The one dimension that its networks can have, where the fields of the problem say it; None if d is free."""
        return None

    def samples_at_one(self, d: int) -> int:
        """Samples that ``alpha = 1`` stands for at dimension d: d^2 for a square matrix, d for a vector.

        Each model says so for itself, since alpha is the number of samples over what it counts by.
        """
        reason = "alpha is the number of samples over some count, which only the model knows"
        remedy = "Define samples_at_one(self, d) in its class, for example d * d for a matrix."
        raise checks.complaint("problem", "say what its alpha counts by", reason, self, remedy)

    def samples(self, d: int) -> int:
        """The number of samples at dimension d, which `simulate` trains on."""
        alpha: float = self.alpha  # type: ignore[attr-defined] # a model that counts samples has it
        return round(alpha * self.samples_at_one(checked_dimension(d)))

    def must_have_samples(self, d: int) -> None:
        """Complain where alpha is so small that no sample is left at dimension d."""
        count = self.samples_at_one(d)
        if self.samples(d) < 1:
            raise checks.complaint(
                "alpha",
                f"be above {0.5 / count:.2g} at d = {d}",
                f"alpha times {count} is the number of samples, and there must be one",
                self.alpha,  # type: ignore[attr-defined] # as in `samples`
                "Use a larger <d> or <alpha>.",
            )

    def with_samples(self, n: int, *, d: int) -> Self:
        """The same problem with the alpha of `n` samples at dimension d."""
        reason, remedy = "it is a number of samples", "Use for example <n=20000>."
        n = checks.integer("n", n, at_least=1, at_most=MOST_SAMPLES, reason=reason, remedy=remedy)
        return self.replace(alpha=n / self.samples_at_one(checked_dimension(d)))

    @property
    def hints(self) -> tuple[str, ...]:
        """Sentences about numbers that are allowed and look as if another unit were meant."""
        return tuple(in_python(text) for text in marked_hints(self).values())

    def names(self) -> list[str]:
        """Names that `replace` understands: of the problem's own fields and of those of its parts, each once."""
        own = _field_names(self)
        inner = (_spelled(part, getattr(self, part), {*own}) for part in self.parts)
        return list(dict.fromkeys([*own, *(name for spelled in inner for name in spelled)]))


def marked_hints(problem: LearningProblem) -> dict[str, str]:
    """The hints of a problem by the names of its numbers, marked for who spells them in another way than Python."""
    declared = {name: problem.declaration(name) for name in problem.names()}
    numbers = {name: number for name, number in declared.items() if isinstance(number, Number)}
    found = {name: number.hinted(name, problem.value(name)) for name, number in numbers.items()}
    return {name: text for name, text in found.items() if text is not None}


def checked_dimension(d: int) -> int:
    """A dimension, or a complaint."""
    return checks.integer("d", d, at_least=1, reason="it is a dimension", remedy="Use for example <d=100>.")


def _spelled(part: str, thing: Any, own: set[str]) -> dict[str, str]:
    """How the names of a part are written from outside: what is written, and what it is inside.

    Those of a part that is a problem of its own, and that the whole has too, have the name of the part before them.
    """
    if not isinstance(thing, LearningProblem):
        return {name: name for name in _field_names(thing)}
    return {f"{part}_{name}" if name in own else name: name for name in thing.names()}


def _changed(part: Any, changes: dict[str, Any]) -> Any:
    """A part with some of its numbers changed; it may know what else changes with them."""
    if isinstance(part, LearningProblem):
        return part.replace(**changes)
    replaced = getattr(part, "replaced", None)
    return replaced(**changes) if replaced else dataclasses.replace(part, **changes)


def _field_names(thing: Any) -> list[str]:
    """Names of the fields of a dataclass; a thing of another kind has none."""
    return [field.name for field in dataclasses.fields(thing) if field.init] if dataclasses.is_dataclass(thing) else []
