"""The options that describe a problem: made of the fields that the models declare, in one wording for every command.

They depend on the --model that is named, so that they are made when a command is read.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from presage.cli import grids, models, samples, targets
from presage.cli.errors import (
    COMMANDS,
    CommandError,
    FailedError,
    InterruptionError,
    in_options,
    option,
    spelled,
    told,
    wants_traceback,
)
from presage.cli.left_out import sparing
from presage.cli.output import printing
from presage.cli.problem_options import begins, problem_options, sample_options
from presage.cli.samples import NOTHING, Samples
from presage.protocol.errors import ComputationError, InputError
from presage.protocol.fields import Declaration, Number, Part
from presage.protocol.numbers import short
from presage.protocol.observables import Observable
from presage.protocol.problem import marked_hints

# Where the context of a command keeps the problem that was named, its options, and what was written for them.
CHOSEN, MADE, WRITTEN = "presage.chosen", "presage.made", "presage.written"
COMMON = ("d", "seeds", "trainer")  # options of networks, whatever the model
ANSWERS = {  # what a verb gives, in words
    "bayes_optimal": "the Bayes-optimal answer",
    "thresholds": "the thresholds",
    "scaling": "the scaling law",
    "trajectory": "the steps of the training",
    "ridgeless": "the limit of vanishing regularisation",
    "optimal_regularization": "the answer at the best regularisation, which is searched for",
}
ARGUMENTS = {"workers": "processes", "dask": "executor"}  # parameters of commands that the library names otherwise


Accuracy = Annotated[
    float | None,
    typer.Option(
        "--accuracy",
        help="Relative standard error to aim at, where the theory takes averages: 1e-3 is quick.",
        metavar="NUMBER",
        show_default=False,
    ),
]


@dataclasses.dataclass(frozen=True)
class Given:
    """What was written on the command line about the problem; None is what was left out."""

    chosen: models.Chosen
    written: Mapping[str, str | None]  # by the names of fields
    unused: frozenset[str] = frozenset()  # numbers that play no part in the answer, and are not told
    verb: str = ""  # that does not depend on them
    samples: Samples = NOTHING
    hinted: set[str] = dataclasses.field(default_factory=set, compare=False)  # what a line on standard error was about

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

    def taken(self, verb: Callable[..., Any], written: Mapping[str, Any], problem: Any) -> dict[str, Any]:
        """Those options of a verb that were written; one that the model does not take is refused by name."""
        import presage as ps

        known = ps.option_names(verb, problem)
        options = {name: value for name, value in written.items() if value is not None}
        for name in (name for name in options if name not in known):
            other = ", ".join(option(each) for each in (*COMMON, *written) if each in known)
            has = f"which takes {other}" if other else "which takes no such options"
            where = COMMANDS.get(verb.__name__, verb.__name__)
            raise CommandError(
                f"`{option(name)}` is no option of `{where}` with --model {self.chosen.name}, {has}. Leave it out."
            )
        return options

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
        """Whether a grid was written to be evenly spaced in its logarithm: then it is drawn so."""
        return grids.is_logarithmic((self.samples.n if name == samples.ALPHA else None) or self.texts()[name])

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
        for law in (values[name] for name, field in self.fields.items() if isinstance(field, Part) and name in values):
            self._say_once("atoms", targets.how_long(law))
        problem = self.chosen.problem(**values)
        for name, text in marked_hints(problem).items():
            self._say_once(name, f"hint: {spelled(text)}")
        return problem

    @property
    def own_dimension(self) -> int | None:
        """The only dimension that networks of the problem can have, at the first point of its grids; None if free."""
        own: int | None = self.problem(**next(grids.corners(self.grids()))).own_dimension
        return own

    def counted(self, problem: Any) -> dict[str, int]:
        """The samples of a problem at the --d that was written; nothing where none was, or no alpha counts them."""
        d = self.samples.d
        return {} if d is None or samples.ALPHA not in self.fields else {"n": problem.samples(d)}

    def _say_once(self, about: str, text: str | None) -> None:
        """A line on standard error, before anything is computed: what may not be meant, or takes long."""
        if text is not None and about not in self.hinted:
            self.hinted.add(about)
            sys.stderr.write(f"{text}\n")

    def without_what_plays_no_part_in(self, verb: str) -> Given:
        """The same problem for an answer that does not depend on some of its numbers; a grid is told all the same."""
        numbers = {name: field for name, field in self.fields.items() if isinstance(field, Number)}
        unused = frozenset(name for name, number in numbers.items() if verb in number.plays_no_part_in)
        return dataclasses.replace(self, unused=unused, verb=verb)

    @property
    def idle(self) -> list[str]:
        """A sentence for every number that was written and plays no part in the answer."""
        names = [name for name in self.fields if name in self.unused and self.written.get(name) is not None]
        written = ["n" if name == samples.ALPHA and self.samples.n is not None else name for name in names]
        return [f"{option(name)} plays no part in {ANSWERS.get(self.verb, 'this answer')}." for name in written]

    def described(self) -> dict[str, Any]:
        """The whole problem, defaults included, by the names of the library."""
        found: dict[str, Any] = {"model": self.chosen.name}
        for name, text in self.texts().items():
            if not isinstance(self.fields[name], Number) or grids.is_grid(text):
                found[name] = text
            elif name not in self.unused:
                found[name] = self._whole(grids.number(option(name), text), name)
        if self.samples.n is not None and grids.is_grid(self.samples.n):
            del found[samples.ALPHA]
        return found | samples.told(self)

    def title(self) -> str:
        """The whole problem in a line."""
        model, *said = self.described().items()
        return ", ".join([model[1], *(f"{self._title_of(name)} {short(value)}" for name, value in said)])

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
        return found if self.samples.n is None else {**found, option(samples.ALPHA): None, "--n": self.samples.n}

    def _whole(self, value: float, name: str) -> float | int:
        field = self.fields[name]
        return int(value) if isinstance(field, Number) and field.whole and value.is_integer() else value

    def _title_of(self, name: str) -> str:
        """A number by its label, unless that is a formula; then by its option."""
        label = field.label if isinstance(field := self.fields.get(name), Number) else ""
        return label if label and "$" not in label else option(name).strip("-").replace("-", " ")


class Command(TyperCommand):
    """A command whose errors speak of its options."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The options and arguments of the command."""
        return sparing(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options; refuse one that is written twice, and a file without a name."""
        try:
            written, _, order = self.make_parser(ctx).parse_args(list(args))
        except Exception as error:
            if hasattr(error, "ctx"):  # what is wrong with an option is looked up in the help of its own command
                error.ctx = error.ctx or ctx
            raise
        left = super().parse_args(ctx, args)
        if not ctx.resilient_parsing:  # a shell that completes a word
            _refuse_twice(order)
            _refuse_nameless(order, written, ctx.params)
        return left

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help."""
        with printing():
            super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run it; what the library says against it is told in the words of the command line."""
        written = {**ctx.params, **ctx.meta.get(WRITTEN, {})}
        params = self.get_params(ctx)
        options = [str(param.name) for param in params if param.param_type_name == "option"]
        places = {str(param.name): str(param.metavar) for param in params if param.param_type_name == "argument"}
        with told({ARGUMENTS.get(name, name): written.get(name) for name in options}, places):
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
        own = {param.name for param in params}
        if MADE not in ctx.meta:
            chosen: models.Chosen | None = ctx.meta.get(CHOSEN)
            for name in own & ({*chosen.problem.fields} if chosen else set()):
                raise CommandError(
                    f"`--model {chosen.name if chosen else ''}` has a field {name}, and `{ctx.command_path}` has an "
                    "option of that name. Give the field another."
                )
            ctx.meta[MADE] = [*problem_options(chosen), *sample_options(chosen, own)]
        arguments = [param for param in params if param.param_type_name == "argument"]
        return [*arguments, *ctx.meta[MADE], *(param for param in params if param not in arguments)]


def _refuse_twice(order: Sequence[Any]) -> None:
    """Refuse an option with a value that is written twice, of which all but the last would be dropped."""
    valued = [param for param in order if param.param_type_name == "option" and not (param.multiple or param.is_flag)]
    for param in valued:
        if valued.count(param) > 1:
            raise CommandError(
                f"`{param.opts[0]}` must be written once: it has one value. Got it {valued.count(param)} times. "
                "Leave the others out; where several values are taken they are one list with commas."
            )


def _refuse_nameless(order: Sequence[Any], written: Mapping[str, Any], read: Mapping[str, Any]) -> None:
    """Refuse a file or folder of no name, which would be the folder that one is in."""
    for param in order:
        if written.get(param.name) == "" and isinstance(read.get(param.name), Path):
            raise CommandError(f"`{param.opts[0]}` must have a name: it is empty. Give one, or leave it out.")


def takes_problem(command: Callable[..., None]) -> Callable[..., None]:
    """A command of a `ProblemCommand`: the options of the problem arrive as its first argument, a `Given`."""
    hints = typing.get_type_hints(command, include_extras=True)
    _, *own = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def run(context: typer.Context, **values: Any) -> None:
        written = dict(context.meta[WRITTEN])
        chosen = models.choose(written.pop("model"))
        n, d = (None if name in chosen.problem.fields else written.pop(name, None) for name in ("n", "d"))
        if n is not None and "d" in values and is_written(context, "d"):
            d = values["d"]  # of the networks that the command trains
        command(_with_samples(Given(chosen, written), Samples(n, samples.dimension(d))), **values)

    first = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    kept = [p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in own]
    kept = [first, *kept]
    run.__signature__ = inspect.Signature(kept)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in kept}
    del run.__wrapped__  # typer reads the signature of what it wraps, if there is such
    return run


def is_written(context: typer.Context, name: str) -> bool:
    """Whether a parameter of a command was written, and is not its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _with_samples(given: Given, written: Samples) -> Given:
    """The problem at the alpha of the samples that were written, where they were."""
    if written.n is None:
        return dataclasses.replace(given, samples=written)
    texts = {**given.written, samples.ALPHA: samples.alphas(given, written)}
    return dataclasses.replace(given, written=texts, samples=written)


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
