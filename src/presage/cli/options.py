"""The options that describe a problem: made of the fields that the models declare, in one wording for every command.

They depend on the --model that is named, so that they are made when a command is read.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from presage.cli import grids, models, targets
from presage.cli.errors import (
    COMMANDS,
    CommandError,
    FailedError,
    InterruptionError,
    in_options,
    option,
    told,
    wants_traceback,
)
from presage.protocol.errors import ComputationError, InputError
from presage.protocol.fields import Choice, Declaration, Number, Part
from presage.protocol.observables import Observable

PANEL = "The problem"
# Where the context of a command keeps the problem that was named, its options, and what was written for them.
CHOSEN, MADE, WRITTEN = "presage.chosen", "presage.made", "presage.written"
ARGUMENTS = {"workers": "processes", "dask": "executor"}  # parameters of commands that the library names otherwise
FEW = 3  # names that are listed in the help of an option


@dataclasses.dataclass(frozen=True)
class Given:
    """What was written on the command line about the problem; None is what was left out."""

    chosen: models.Chosen
    written: Mapping[str, str | None]  # by the names of fields
    unused: frozenset[str] = frozenset()  # numbers that play no part in the answer, and are not told

    def __post_init__(self) -> None:
        for name, text in self.written.items():
            if text is not None and name not in self.fields:
                has = ", ".join(option(field) for field in self.fields)
                raise CommandError(
                    f"`{option(name)}` is no option of --model {self.chosen.name}, which has {has}. "
                    f"Leave it out or name another model."
                )

    @property
    def fields(self) -> Mapping[str, Declaration]:
        """The declared fields of the problem, by name."""
        return self.chosen.problem.fields

    def texts(self) -> dict[str, str]:
        """Every field as written, or as a view begins; one that is not there and has no text is left out."""
        begin = {name: begins(self.chosen, name) for name in self.fields}
        written = {name: text for name, text in self.written.items() if text is not None}
        found = {name: written.get(name, begin[name]) for name in self.fields}
        return {name: text for name, text in found.items() if text is not None}

    def numbers(self) -> dict[str, str]:
        """The texts of numbers."""
        return {name: text for name, text in self.texts().items() if isinstance(self.fields[name], Number)}

    def must_answer(self, verb: str) -> None:
        """Refuse a verb that the problem has no answer to, before anything is computed."""
        reason = self.chosen.lacks(verb)
        if reason is None:
            return
        own = self.chosen.model.verbs if self.chosen.model else ()
        others = [f"`{COMMANDS[other]}`" for other in COMMANDS if other in own and self.chosen.lacks(other) is None]
        known = models.known()
        named = [name for name in (models.default(), *known) if known[name].lacks(verb) is None]
        instead = " or ".join([*others[:1], *(f"--model {name}" for name in named[:1])])
        raise CommandError(f"--model {self.chosen.name} has no `{COMMANDS[verb]}`: {reason}. Use {instead}.")

    def observables(self, verb: str) -> tuple[Observable, ...]:
        """What the answer to a verb shows; a model of one's own need not declare it."""
        model = self.chosen.model
        if model is None:
            return ()
        return model.measured if verb == "simulate" else tuple(model.observables.get(verb, ()))

    def grids(self) -> dict[str, list[float]]:
        """The numbers that are grids, by their names in the library."""
        return {
            name: [self._whole(value, name) for value in grids.grid(option(name), text)]
            for name, text in self.numbers().items()
            if grids.is_grid(text)
        }

    def example_of_a_grid(self) -> str:
        """What to write for a grid of the first number that there is."""
        first = next(iter(self.numbers()), None)
        return "" if first is None else f"Use for example {option(first)} 0.05:40:60log."

    def is_logarithmic(self, name: str) -> bool:
        """Whether a grid is evenly spaced in its logarithm."""
        return grids.is_logarithmic(self.texts()[name])

    def problem(self, **at: float) -> Any:
        """The problem, at one point of its grids."""
        texts = self.texts()
        values: dict[str, Any] = {
            name: at[name] if name in at else self._whole(grids.number(option(name), text), name)
            for name, text in self.numbers().items()
        }
        for name, field in self.fields.items():  # laws come last: they wait for NumPy, and a number may be wrong
            if isinstance(field, Part) and (name in texts or name not in self.chosen.problem.begin):
                values[name] = targets.law(option(name), texts.get(name, ""), field)
            elif name in texts and name not in values:
                values[name] = texts[name]
        return self.chosen.problem(**values)

    def without_what_plays_no_part_in(self, verb: str) -> Given:
        """The same problem for an answer that does not depend on some of its numbers; a grid is told all the same."""
        numbers = {name: field for name, field in self.fields.items() if isinstance(field, Number)}
        unused = frozenset(name for name, number in numbers.items() if verb in number.plays_no_part_in)
        return dataclasses.replace(self, unused=unused)

    def described(self) -> dict[str, Any]:
        """The whole problem, defaults included, by the names of the library."""
        found: dict[str, Any] = {"model": self.chosen.name}
        for name, text in self.texts().items():
            if not isinstance(self.fields[name], Number) or grids.is_grid(text):
                found[name] = text
            elif name not in self.unused:
                found[name] = self._whole(grids.number(option(name), text), name)
        return found

    def title(self) -> str:
        """The whole problem in a line."""
        model, *said = self.described().items()
        return ", ".join([model[1], *(f"{self._title_of(name)} {_short(value)}" for name, value in said)])

    def axis(self, name: str) -> str:
        """The label of an axis along a field."""
        field = self.fields.get(name)
        return field.axis(name) if isinstance(field, Number) else name.replace("_", " ")

    def words_of_command(self) -> dict[str, str | None]:
        """The options as they were written; a file by its full name, for use from elsewhere."""
        found: dict[str, str | None] = {"--model": self.chosen.name}
        for name, text in self.written.items():
            is_file = isinstance(self.fields.get(name), Part) and text is not None and text.endswith(".npy")
            found[option(name)] = str(Path(str(text)).absolute()) if is_file else text
        return found

    def _whole(self, value: float, name: str) -> float | int:
        field = self.fields[name]
        return int(value) if isinstance(field, Number) and field.whole and value.is_integer() else value

    def _title_of(self, name: str) -> str:
        """A number by its label, unless that is a formula; then by its option."""
        label = field.label if isinstance(field := self.fields[name], Number) else ""
        return label if label and "$" not in label else option(name).strip("-").replace("-", " ")


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def begins(chosen: models.Chosen, name: str) -> str | None:
    """What a view begins with, as one writes it; None where the field is left to its default, or is not there."""
    field, begin = chosen.problem.fields[name], chosen.problem.begin
    if name in begin:
        return _short(begin[name]) if isinstance(begin[name], str | int | float) else None
    if isinstance(field, Number):
        number = field.example if field.default is None else field.default
        return None if number is None else _short(number)
    if isinstance(field, Choice):
        return field.options[0] if field.default is None else str(field.default)
    return targets.in_words(field.example) if isinstance(field, Part) and targets.syntax(field) else None


class Command(TyperCommand):
    """A command whose errors speak of its options."""

    def invoke(self, ctx: Any) -> Any:
        """Run it; what the library says against it is told in the words of the command line."""
        written = {**ctx.params, **ctx.meta.get(WRITTEN, {})}
        options = [str(param.name) for param in self.get_params(ctx) if param.param_type_name == "option"]
        with told({ARGUMENTS.get(name, name): written.get(name) for name in options}):
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as error:  # told apart here, since typer turns it into a mere exit
                raise InterruptionError(in_options(error) or "Interrupted.") from None
            except (InputError, ComputationError) as error:
                if wants_traceback():
                    raise
                if isinstance(error, InputError):
                    raise CommandError(in_options(error)) from error
                raise FailedError(f"The computation failed: {in_options(error)}") from error


class ProblemCommand(Command):
    """A command about a problem: it has the options of the --model that is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Look which model is named before the options are read: they depend on it."""
        name = _named(args)
        ctx.meta.pop(MADE, None)
        try:
            ctx.meta[CHOSEN] = None if name is None else models.choose(name)
        except CommandError:
            if not ctx.resilient_parsing:  # a shell that completes a word asks too
                raise
        left = super().parse_args(ctx, args)
        # They are kept apart from the parameters of the command, which typer knows by name.
        ctx.meta[WRITTEN] = {param.name: ctx.params.pop(param.name, None) for param in ctx.meta[MADE]}
        return left

    def get_params(self, ctx: Any) -> list[Any]:
        """The options of the problem, then those of the command; its arguments come first."""
        params = super().get_params(ctx)
        if MADE not in ctx.meta:
            chosen: models.Chosen | None = ctx.meta.get(CHOSEN)
            for name in {param.name for param in params} & ({*chosen.problem.fields} if chosen else set()):
                raise CommandError(
                    f"`--model {chosen.name if chosen else ''}` has a field {name}, and `{ctx.command_path}` has an "
                    "option of that name. Give the field another."
                )
            ctx.meta[MADE] = problem_options(chosen)
        arguments = [param for param in params if param.param_type_name == "argument"]
        return [*arguments, *ctx.meta[MADE], *(param for param in params if param not in arguments)]


def takes_problem(command: Callable[..., None]) -> Callable[..., None]:
    """A command of a `ProblemCommand`: the options of the problem arrive as its first argument, a `Given`."""
    hints = typing.get_type_hints(command, include_extras=True)
    _, *own = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def run(context: typer.Context, **values: Any) -> None:
        written = dict(context.meta[WRITTEN])
        command(Given(models.choose(written.pop("model")), written), **values)

    first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    kept = [p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    kept = [first, *kept]
    run.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in kept}
    del run.__wrapped__  # typer reads the signature of what it wraps, if there is such
    return run


def _named(args: Sequence[str]) -> str | None:
    """The --model of a command line, the last one where there are several; None where there is none."""
    found = None
    for word, after in itertools.zip_longest(args, args[1:]):
        if word == "--":
            break
        if word == "--model":
            found = after
        elif word.startswith("--model="):
            found = word.removeprefix("--model=")
    return found


@cache
def _all() -> tuple[models.Chosen, ...]:
    return tuple(models.known().values())


def problem_options(chosen: models.Chosen | None) -> list[Any]:
    """The options of the problem that was named; those that others have are read too, and not listed."""
    shown = _all() if chosen is None else (chosen,)
    fields: dict[str, bool] = dict.fromkeys((name for one in shown for name in one.problem.fields), True)
    fields |= {name: False for one in _all() for name in one.problem.fields if name not in fields}
    parameters = [_parameter("model", models.default(), _model_option())]
    for name, listed in fields.items():
        having = shown if listed else tuple(one for one in _all() if name in one.problem.fields)
        parameters.append(_parameter(name, None, _field_option(name, having, hidden=not listed)))

    def stub(**values: Any) -> None:
        """What typer reads the options of."""

    stub.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    stub.__annotations__ = {p.name: p.annotation for p in parameters}
    app = typer.Typer(add_completion=False)
    app.command()(stub)
    return list(get_command(app).params)


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
    kind = type(having[0].problem.fields[name])
    return typer.Option(
        option(name),
        help=_help(name, having, len(shown)),
        metavar={Number: "NUMBER", Part: "LAW"}.get(kind, "WHICH"),
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
