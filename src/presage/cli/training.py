"""The finite networks: `presage simulate` trains and measures them, `presage compare` sets them beside the theory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from presage.cli.errors import CommandError, InterruptionError
from presage.cli.keeping import Keep, KeptIn, check_kept, write_kept
from presage.cli.options import Accuracy, Given, takes_problem
from presage.cli.output import (
    Csv,
    Json,
    Plot,
    check_format,
    check_picture,
    emit,
    say,
    silent,
    table,
    tell_caveats,
)
from presage.protocol import numbers
from presage.protocol.model import Model, found, models
from presage.protocol.observables import Observable
from presage.protocol.trainer import handed_in

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "simulate": (
        "presage simulate --noise 0.5 --d 20 --seeds 4",
        "presage simulate --model quadratic --d 20 --seeds 3 --trainer lbfgs --csv",
        "presage simulate --d 20 --seeds 4 --keep weights --out weights.npz",
    ),
    "compare": (
        "presage compare --noise 0.5 --d 50,100 --seeds 8",
        "presage compare --model quadratic --noise 0.5 --d 20,40 --seeds 4 --json",
    ),
}
PANEL = "The training"
EXPLAINED = "z counts standard errors, fewer where they rest on few seeds (Student's law); below 3 is agreement."


def trainer_names() -> list[str]:
    """Names of the trainers of every model."""
    return list(dict.fromkeys(name for model in models() for name in model.trainers))


def _trainers() -> str:
    """The trainers in the help: all, and which is the default of which model."""
    first: dict[str, list[str]] = {}
    for model in models():
        if model.trainers:
            first.setdefault(next(iter(model.trainers)), []).append(model.name)
    (usual, _), *others = first.items()
    also = "; ".join(f"{', '.join(names)} {name}" for name, names in others)
    return f"{', '.join(trainer_names())}. Default {usual}{f' ({also})' if also else ''}."


USUAL, USUAL_PAIR = "100", "50,100"  # dimensions of networks where the problem has none of its own
Dimension = Annotated[
    str | None,
    typer.Option(
        "--d",
        help="Dimension: of a token, or what the model calls so.",
        metavar="INTEGER",
        show_default=USUAL,
        rich_help_panel=PANEL,
    ),
]
Dimensions = Annotated[
    str | None,
    typer.Option(
        "--d",
        help="Dimensions to train; several are extrapolated as a + b/d.",
        show_default=USUAL_PAIR,
        rich_help_panel=PANEL,
    ),
]
Seeds = Annotated[
    str,
    typer.Option("--seeds", help="Networks to train, on independent data; or the seeds: 0,1,2.", rich_help_panel=PANEL),
]
TrainerName = Annotated[
    str | None,
    typer.Option(
        "--trainer",
        help=_trainers(),
        metavar="NAME",
        show_default=False,
        autocompletion=lambda incomplete: [name for name in trainer_names() if name.startswith(incomplete)],
        rich_help_panel=PANEL,
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="What is fitted: label (the attention matrix, the default) or sequence (the output tokens).",
        metavar="NAME",
        show_default=False,
        autocompletion=lambda incomplete: [name for name in ("label", "sequence") if name.startswith(incomplete)],
        rich_help_panel=PANEL,
    ),
]
Precision = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        help="Precision of the tokens: float64 (the default) or float32, in half the memory.",
        metavar="NAME",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Storage = Annotated[
    str | None,
    typer.Option(
        "--storage",
        help="Where the tokens are: memory (the default) or disk.",
        metavar="NAME",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Networks or cells at a time. Default: all cores.", show_default=False),
]
Eigenvalues = Annotated[
    bool, typer.Option("--eigenvalues", help="Put every eigenvalue, or singular value, into --json too.")
]


@takes_problem
def simulate(
    given: Given,
    d: Dimension = None,
    seeds: Seeds = "8",
    trainer: TrainerName = None,
    task: Task = None,
    dtype: Precision = None,
    storage: Storage = None,
    workers: Workers = None,
    eigenvalues: Eigenvalues = False,
    keep: Keep = None,
    out: KeptIn = None,
    json: Json = False,
    csv: Csv = False,
    plot: Plot = None,
) -> None:
    """Train networks of dimension d on sampled data, one a seed, and measure what they learned."""
    check_format(json, csv)
    check_picture(plot)
    if eigenvalues and not json:
        raise CommandError("`--eigenvalues` is for --json, which alone has room for them. Add --json, or leave it out.")
    size = _one_dimension(given, d)
    from presage.protocol.tabulated import networks_of

    others = {"task": task, "processes": workers, "dtype": dtype, "storage": storage, "keep": check_kept(keep, out)}
    planned = plan(given, trainer, others)
    given = given if planned.minimises else given.without_what_plays_no_part_in("bayes_optimal")
    ensemble = _train(planned, size, seed_numbers(seeds))
    measured = ensemble.measured
    means = {one.name: numbers.Measured(ensemble.mean(one.name), ensemble.standard_error(one.name)) for one in measured}
    done = len(ensemble.seeds) - len(ensemble.failures)
    single = ["one network has no standard error: use more --seeds."] if done == 1 else silent(means)
    caveats = [*given.idle, *ensemble.caveats, *single]

    def human(console: Console) -> None:
        say(console, given.title())
        say(console, f"{done} {ensemble.noun} of d = {size}, trained by {type(ensemble.trainer).__name__}")
        lines = [(one.name, *numbers.cells(means[one.name]), one.words) for one in measured]
        table(console, ("observable", "mean", "± s.e.", "meaning"), lines, words=("observable", "meaning"))
        tell_caveats(console, caveats)

    content = {
        "problem": given.described(),
        "d": size,
        "trainer": str(ensemble.trainer),
        **means,
        "seeds": networks_of(ensemble, ensemble.arrays if eigenvalues else ()),
    }
    emit({**content, "caveats": caveats}, networks_of(ensemble), human, json=json, csv=csv)
    if out is not None:
        write_kept(ensemble, out, quiet=json or csv)
    draw(plot, given, ensemble, quiet=json or csv)


def draw(plot: Path | None, given: Given, result: Any, *, quiet: bool) -> None:
    """The picture of a result, where one was asked for."""
    if plot is None:
        return
    from presage.cli import pictures
    from presage.plots.plot import panels_of

    pictures.draw(plot, given.title(), lambda: panels_of(result), quiet=quiet)


class Plan(NamedTuple):
    """What is trained, and how."""

    problem: Any
    minimises: bool  # whether the trainer looks for a minimum of the loss, not for a posterior mean
    options: dict[str, Any]  # of `simulate`, beside d and the seeds
    measured: tuple[Observable, ...]  # what such networks show

    @property
    def verb(self) -> str:
        """The verb whose prediction such networks are set beside."""
        return "solve" if self.minimises else "bayes_optimal"


def plan(given: Given, trainer: str | None, others: dict[str, Any], **at: float) -> Plan:
    """Choose the trainer and the options; what the model does not take is refused by name."""
    import presage as ps

    model: Model = given.chosen.model or given.problem(**at).model
    kind = trainer_kind(trainer, model)
    minimises = getattr(kind, "minimises", True)
    if minimises:
        given.must_answer("simulate")
    problem = given.problem(**at)
    options = given.taken(ps.simulate, others, problem)
    measured = model.measured
    if not minimises:  # what needs no minimum of the loss is what the prediction of the posterior mean has too
        prediction = ps.bayes_optimal(problem)
        measured = tuple(one for one in measured if hasattr(prediction, one.name))
        options["trainer"] = kind(_handed_in(kind, prediction, trainer))
    elif trainer is not None:
        options["trainer"] = kind()
    return Plan(problem, minimises, options, measured)


def _handed_in(kind: Any, prediction: Any, trainer: str | None) -> Any:
    """What a trainer of a posterior mean gets of the theory; refuse it where the theory has none of that here."""
    name = handed_in(kind)
    try:
        return getattr(prediction, name)
    except AttributeError as error:
        raise CommandError(f"`--trainer {trainer}` has no {name} here: {error} Choose another trainer.") from None


def trainer_kind(name: str | None, model: Model, trainers: Mapping[str, Any] | None = None) -> Any:
    """The class of a trainer of the model, or of those given; by default the first. None where there is none."""
    known = model.trainers if trainers is None else trainers
    if name is None:
        return found(next(iter(known.values()))) if known else None
    if name not in known:
        has = f"one of {', '.join(known)}" if known else "left out: this model has one way to train"
        use = f" Use {next(iter(known))}." if known else ""
        raise CommandError(f"`--trainer` must be {has}. Got --trainer {name!r}.{use}")
    return found(known[name])


def _train(planned: Plan, d: int, seeds: int | list[int]) -> Any:
    """Train an ensemble; Ctrl-C says what is lost."""
    import presage as ps

    try:
        return ps.simulate(planned.problem, d=d, seeds=seeds, **planned.options)
    except KeyboardInterrupt:
        raise InterruptionError(
            "Interrupted; the networks trained so far are lost. "
            "`presage sweep simulate --store FOLDER` keeps what is done and goes on."
        ) from None


def dimensions(given: Given, text: str | None, usual: str) -> list[int]:
    """Dimensions such as ``50,100``, each once; one that is none is refused before the first is trained.

    Where none is written they are the usual ones, or the only one that the problem can have.
    """
    from presage.protocol.problem import checked_dimension

    if text is None:
        own = given.own_dimension
        text = usual if own is None else str(own)
    return list(dict.fromkeys(checked_dimension(size) for size in _whole("--d", text, "50,100")))


def _one_dimension(given: Given, text: str | None) -> int:
    """The dimension of a command that trains one."""
    first, *others = dimensions(given, text, USUAL)
    if others:
        raise CommandError(
            f"`--d` must be one whole number here: one dimension is trained. Got --d {text}. "
            "`presage compare` and `presage sweep simulate` take several."
        )
    return first


def seed_numbers(text: str) -> int | list[int]:
    """How many seeds, or which: ``8`` or ``0,1,2``."""
    from presage.protocol import ensemble

    counts = _whole("--seeds", text, "8")
    written = counts if len(counts) > 1 else counts[0]
    ensemble.seed_numbers(written)
    return written


def compared_seeds(text: str) -> int | list[int]:
    """The same for networks that are set beside a prediction, of which there must be two."""
    networks = seed_numbers(text)
    if networks == 1:
        raise CommandError(
            "`--seeds` must be at least 2 here: one network has no standard error to compare by. "
            f"Got --seeds {text}. Use for example --seeds 8."
        )
    return networks


def _whole(name: str, text: str, example: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise CommandError(
            f"`{name}` must be whole numbers. Got {name} {text!r}. Use for example {name} {example}."
        ) from None


@takes_problem
def compare(
    given: Given,
    d: Dimensions = None,
    seeds: Seeds = "8",
    trainer: TrainerName = None,
    task: Task = None,
    dtype: Precision = None,
    storage: Storage = None,
    accuracy: Accuracy = None,
    workers: Workers = None,
    json: Json = False,
    csv: Csv = False,
    plot: Plot = None,
) -> None:
    """Predict, train, and say for every observable whether the two agree."""
    check_format(json, csv)
    check_picture(plot)
    import presage as ps
    from presage.protocol.comparison_table import compared, headings

    sizes, networks = dimensions(given, d, USUAL_PAIR), compared_seeds(seeds)
    planned = plan(given, trainer, {"task": task, "processes": workers, "dtype": dtype, "storage": storage})
    given = given if planned.minimises else given.without_what_plays_no_part_in("bayes_optimal")
    given.must_answer(planned.verb)
    verb = getattr(ps, planned.verb)
    prediction = verb(planned.problem, **given.taken(verb, {"accuracy": accuracy}, planned.problem))
    # The least comes first: a dimension that is too small for the model is refused before a large one is trained.
    ensembles = [_train(planned, size, networks) for size in sorted(sizes)]
    found = ps.compare(prediction, *ensembles)
    rows = compared(found)

    def human(out: Console) -> None:
        say(out, given.title())
        head = headings(found)
        lines = [[_cell(row[name]) for name in head] for row in rows]
        *_, trained, z, _ = head.values()
        sizes = [title for name, title in head.items() if name.startswith("d_")]
        table(out, list(head.values()), lines, words=("observable", "verdict"), first_out=[*sizes, trained, z])
        say(out, EXPLAINED)
        for spectrum in found.spectra:
            out.print(spectrum.sentence)
        tell_caveats(out, [*given.idle, *found.caveats])

    content = {
        "problem": given.described(),
        "agrees": found.agrees,
        "rows": rows,
        "spectra": [spectrum._asdict() for spectrum in found.spectra],
        "caveats": [*given.idle, *found.caveats, *(line for row in rows for line in silent(row))],
    }
    emit(content, rows, human, json=json, csv=csv)
    draw(plot, given, found, quiet=json or csv)


def _cell(value: Any) -> numbers.Cell:
    """A column of a comparison: a number with its error bar, words, or the score."""
    from presage.protocol.comparison_table import score

    if isinstance(value, str):
        return value
    return numbers.cell(value) if isinstance(value, numbers.Measured) else score(value)
