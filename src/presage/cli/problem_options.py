"""The options of a problem, made of the fields that the models declare, in one wording for every command."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Sequence
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from presage.cli import models, targets
from presage.cli.errors import option
from presage.protocol.fields import Choice, Declaration, Number, Part
from presage.protocol.numbers import short

PANEL = "The problem"
FEW = 3  # names that are listed in the help of an option


def begins(chosen: models.Chosen, name: str) -> str | None:
    """What a view begins with, as one writes it; None where the field is left to its default, or is not there."""
    field, begin = chosen.problem.fields[name], chosen.problem.begin
    if name in begin:
        return short(begin[name]) if isinstance(begin[name], str | int | float) else None
    if isinstance(field, Number):
        number = field.example if field.default is None else field.default
        return None if number is None else short(number)
    if isinstance(field, Choice):
        return field.options[0] if field.default is None else str(field.default)
    return targets.in_words(field.example) if isinstance(field, Part) and targets.syntax(field) else None


@cache
def _all() -> tuple[models.Chosen, ...]:
    return tuple(models.known().values())


def sample_options(chosen: models.Chosen | None, own: Collection[str | None]) -> list[Any]:
    """The number of samples and the dimension, where neither the command nor the problem has such an option."""
    taken = {*own, *(chosen.problem.fields if chosen is not None else ())}
    said = {
        "n": "Number of samples, in place of --alpha, at dimension --d.",
        "d": "Dimension at which samples are counted.",
    }
    kinds = {"n": "NUMBER", "d": "WHOLE"}
    return _read(
        [
            _parameter(
                name,
                None,
                typer.Option(option(name), help=help_, metavar=kinds[name], show_default=False, rich_help_panel=PANEL),
            )
            for name, help_ in said.items()
            if name not in taken
        ]
    )


def problem_options(chosen: models.Chosen | None) -> list[Any]:
    """The options of the problem that was named; those that others have are read too, and not listed."""
    shown = _all() if chosen is None else (chosen,)
    fields: dict[str, bool] = dict.fromkeys((name for one in shown for name in one.problem.fields), True)
    fields |= {name: False for one in _all() for name in one.problem.fields if name not in fields}
    parameters = [_parameter("model", models.default(), _model_option())]
    for name, listed in fields.items():
        having = shown if listed else tuple(one for one in _all() if name in one.problem.fields)
        parameters.append(_parameter(name, None, _field_option(name, having, hidden=not listed)))

    return _read(parameters)


def _read(parameters: Sequence[inspect.Parameter]) -> list[Any]:
    """The options of parameters, as typer makes them."""

    def stub(**values: Any) -> None:
        """What typer reads the options of."""

    stub.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    stub.__annotations__ = {p.name: p.annotation for p in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(stub)
    params: list[Any] = list(get_command(app).params)
    for param in params:
        param.process_value = _as_written
    return params


def _as_written(context: Any, value: str | None) -> str | None:
    """The text of an option of a problem: what it means is for the field to say."""
    return value


def _parameter(name: str, default: str | None, described: Any) -> inspect.Parameter:
    annotation = Annotated[str | None, described]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _model_option() -> Any:
    return typer.Option(
        "--model",
        help=f"{', '.join(models.known())}, or {models.OWN} for a problem of your own.",
        metavar="NAME",
        autocompletion=models.complete,
        rich_help_panel=PANEL,
    )


def _field_option(name: str, shown: Sequence[models.Chosen], *, hidden: bool) -> Any:
    having = [one for one in shown if name in one.problem.fields]
    field = having[0].problem.fields[name]
    metavar = field.noun.upper() if isinstance(field, Part) else "NUMBER" if isinstance(field, Number) else "WHICH"
    return typer.Option(
        option(name),
        help=_help(name, having, len(shown)),
        metavar=metavar,
        show_default=False,  # it is None, so that what was left out can be told from what was written
        hidden=hidden,
        rich_help_panel=PANEL,
    )


def _help(name: str, having: Sequence[models.Chosen], count: int) -> str:
    """What a field means and begins with; where problems differ, those that are not like the first by their names."""
    said: dict[str, dict[str | None, list[str]]] = {}
    for one in having:
        said.setdefault(_words(one.problem.fields[name]), {}).setdefault(begins(one, name), []).append(one.name)
    sentences: list[str] = []
    for words, defaults in said.items():
        names = [each for alike in defaults.values() for each in alike]
        rare = count > 1 and (sentences or len(having) <= FEW)
        sentences.append(f"{', '.join(names)}: {words}." if rare else f"{words[0].upper()}{words[1:]}.")
        (usual, _), *others = defaults.items()
        also = "; ".join(f"{', '.join(alike)} {begin}" for begin, alike in others if begin is not None)
        default = f"Default {usual}{f' ({also})' if also else ''}."
        if usual is not None and default not in sentences:
            sentences.append(default)
    return " ".join(sentences)


def _words(field: Declaration) -> str:
    if isinstance(field, Choice):
        return f"{field.words}: {', '.join(field.options[:-1])} or {field.options[-1]}"
    ways = targets.syntax(field) if isinstance(field, Part) else ""
    return f"{field.words}: {ways}" if ways else field.words
