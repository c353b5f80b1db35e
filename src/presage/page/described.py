"""What the models declare, for the browser: menus, sliders, observables. No model is named here."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from presage.cli import models, targets
from presage.cli.models import Chosen
from presage.cli.problem_options import begins
from presage.page.bounds import BOUNDS
from presage.page.symbols import in_letters
from presage.protocol.fields import Choice, Declaration, Form, Number, Part, declarations
from presage.protocol.model import found
from presage.protocol.numbers import short
from presage.protocol.observables import Observable

# What is asked of a problem: what training ends in, or where nothing is trained the best that can be known.
MAIN = ("solve", "bayes_optimal")
BESIDE = {  # curves beside that of the problem itself
    "bayes_optimal": "Bayes-optimal",
    "ridgeless": "vanishing regularisation",
    "optimal_regularization": "best regularisation",
}


def described(own: Iterable[str] = ()) -> dict[str, Any]:
    """Every problem that a model names and those of one's own, `module:name`, as plain numbers and words."""
    import presage

    problems = {**models.known(), **{name: models.choose(name) for name in own}}
    shown = {name: chosen for name, chosen in problems.items() if main_verb(chosen) is not None}
    return {
        "version": presage.__version__,
        "default": next(iter(own), models.default()),
        "bounds": {name: bound.most for name, bound in BOUNDS.items()},
        "models": [_model(chosen) for chosen in shown.values()],
    }


def main_verb(chosen: Chosen) -> str | None:
    """The verb that answers what is learned; None where the model has no such answer."""
    return next((verb for verb in MAIN if chosen.lacks(verb) is None), None)


def _model(chosen: Chosen) -> dict[str, Any]:
    verb = str(main_verb(chosen))
    model = chosen.model
    trainers = _trainers(chosen)
    return {
        "name": chosen.name,
        "words": chosen.problem.words,
        "dimension": "" if model is None else model.dimension,
        "fields": [_field(chosen, name, field) for name, field in chosen.problem.fields.items()],
        "verb": verb,
        # A model of one's own need not declare what an answer shows: then it is what networks show.
        "observables": [shown_observable(one) for one in model.observables.get(verb) or model.measured]
        if model
        else [],
        "beside": [
            {"name": other, "words": words}
            for other, words in BESIDE.items()
            if other != verb and chosen.lacks(other) is None
        ],
        "followed": _followed(chosen),
        "ways": _ways(chosen),
        "trainers": trainers,
        "untrainable": None if trainers else chosen.lacks("simulate"),  # a model may train in one way without a name
    }


def _followed(chosen: Chosen) -> list[dict[str, Any]]:
    """What a training shows after every step; nothing where that is not predicted."""
    if chosen.model is None or chosen.lacks("trajectory") is not None:
        return []
    return [shown_observable(one) for one in chosen.model.observables.get("trajectory", ())]


def _ways(chosen: Chosen) -> list[dict[str, str]]:
    """Trainers that can be followed by name, where a model says so, each with its numbers as they begin."""
    if chosen.model is None or chosen.lacks("trajectory") is not None:
        return []
    return [{"name": name, "numbers": _begin(found(place)())} for name, place in chosen.model.ways.items()]


def _begin(trainer: Any) -> str:
    """The numbers of a trainer that have a value to begin with, but for its steps, which have a box of their own."""
    values = {field.name: getattr(trainer, field.name) for field in dataclasses.fields(trainer)}
    numbers = {name: value for name, value in values.items() if name != "steps" and isinstance(value, int | float)}
    return ",".join(f"{name}={value:g}" for name, value in numbers.items())


def _trainers(chosen: Chosen) -> list[str]:
    """How it can be trained; where there is no minimum to look for, by what looks for none."""
    if chosen.model is None or "simulate" not in chosen.model.verbs:
        return []
    able = chosen.lacks("simulate") is None
    places = chosen.model.trainers
    return [name for name, place in places.items() if able or not getattr(found(place), "minimises", True)]


def shown_observable(one: Observable) -> dict[str, Any]:
    """An observable as the browser has it: its words, and how it is drawn."""
    return {
        "name": one.name,
        "words": one.words,
        "label": in_letters(one.axis),
        "fraction": one.fraction,
        "brief": one.brief,
    }


def _field(chosen: Chosen, name: str, field: Declaration) -> dict[str, Any]:
    begin = begins(chosen, name)
    said: dict[str, Any] = {"name": name, "words": field.words, "begin": begin}
    if isinstance(field, Number):
        return {**said, "kind": "number", **_number(name, field, begin)}
    if isinstance(field, Choice):
        return {**said, "kind": "choice", "options": list(field.options)}
    family = targets.family(field) if isinstance(field, Part) else None
    if family is None:  # made in Python only: it stays as the problem begins with it
        return {**said, "kind": "fixed"}
    return {
        **said,
        "kind": "law",
        "of": family.of,
        "forms": [_form(kind, form, begin) for kind, form in family.forms.items()],
    }


def _number(name: str, field: Number, begin: str | None) -> dict[str, Any]:
    low, high = field.span_about(1.0 if begin is None else float(begin))
    return {
        "symbol": in_letters(field.symbol),
        "label": in_letters(field.label) or name.replace("_", " "),
        "scale": field.scale,
        "low": low,
        "high": high,
        "whole": field.whole,
        "optional": field.optional and begin is None,
    }


def _form(kind: str, form: Form, begin: str | None) -> dict[str, Any]:
    """A way to write a law: the numbers that it takes, as the problem begins with them or as in the example."""
    import presage as ps

    text = begin if begin is not None and begin.partition(":")[0] == kind else form.example
    made_by = getattr(ps, form.made_by) if form.made_by and not form.listed else None
    # A form may take fewer numbers than its class: a head has no product of another aspect.
    fields = {} if made_by is None else dict([*declarations(made_by).items()][: form.most])
    rest = text.partition(":")[2]
    written = rest.split(",") if rest else []
    begins = [*written, *(short(getattr(made_by, name)) for name in [*fields][len(written) :])]
    numbers = [
        {"name": name, "words": field.words, "begin": start, **_number(name, field, start)}
        for (name, field), start in zip(fields.items(), begins, strict=False)
        if isinstance(field, Number)
    ]
    return {"kind": kind, "words": form.words, "example": text, "numbers": numbers, "listed": form.listed}
