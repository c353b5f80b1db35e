"""`presage sweep`: one function over any number of grids, on this machine or on a cluster."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import isnan, prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import places, training
from presage.cli.errors import CommandError, FailedError
from presage.cli.options import Accuracy, Given, takes_problem
from presage.cli.output import (
    Csv,
    Json,
    Plot,
    check_format,
    check_picture,
    check_place,
    console,
    emit,
    heading,
    say,
    silent,
    table,
    tell_caveats,
)
from presage.protocol import numbers
from presage.protocol.observables import Observable
from presage.sweeps.outcome import FAILED, NOT_YET

if TYPE_CHECKING:
    from rich.console import Console

PANEL = "Where it runs"
EXAMPLES = {
    "sweep": (
        "presage sweep solve --alpha 0.05:40:60log --noise 0,0.5 --store runs",
        "presage sweep simulate --alpha 0.5,1 --noise 0.5 --d 50,100 --store trained",
        "presage sweep solve --alpha 0.05:40:600log --store runs --slurm 20",
        "presage sweep solve --alpha 0.1,1 --store runs --slurm-script sweep.sh",
    ),
}
RUNS = {  # what can be computed over a grid, and the verb of the library that does it
    "solve": "solve",
    "simulate": "simulate",
    "bayes": "bayes_optimal",
    "ridgeless": "ridgeless",
    "optimal": "optimal_regularization",
    "thresholds": "thresholds",
    "scaling": "scaling",
}


def complete(incomplete: str) -> list[str]:
    """Names for the shell."""
    return [name for name in RUNS if name.startswith(incomplete)]


Run = Annotated[
    str, typer.Argument(help=f"What to compute: {', '.join(RUNS)}.", metavar="RUN", autocompletion=complete)
]
Store = Annotated[
    Path | None,
    typer.Option(
        "--store", help="A folder that keeps finished cells; the same command goes on from it.", metavar="FOLDER"
    ),
]
Retry = Annotated[bool, typer.Option("--retry-failed", help="Compute cells that failed again.")]
Dimensions = Annotated[
    str | None,
    typer.Option("--d", help="Dimensions to train. Default 100.", show_default=False, rich_help_panel=training.PANEL),
]
Seeds = Annotated[
    str | None,
    typer.Option("--seeds", help="Networks a cell. Default 8.", show_default=False, rich_help_panel=training.PANEL),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task", help="label or sequence.", metavar="NAME", show_default=False, rich_help_panel=training.PANEL
    ),
]
Dask = Annotated[
    str | None,
    typer.Option("--dask", help="Address of a dask scheduler to use.", metavar="ADDRESS", rich_help_panel=PANEL),
]
Part = Annotated[
    str | None,
    typer.Option(
        "--part",
        help="Only the i-th of n parts, for machines that share a store.",
        metavar="I/N",
        rich_help_panel=PANEL,
    ),
]
Slurm = Annotated[
    int | None,
    typer.Option(
        "--slurm", help="Start so many SLURM jobs through dask-jobqueue.", metavar="JOBS", min=1, rich_help_panel=PANEL
    ),
]
Script = Annotated[
    Path | None,
    typer.Option(
        "--slurm-script",
        help="Write a script for sbatch --array of --slurm tasks instead.",
        metavar="FILE",
        rich_help_panel=PANEL,
    ),
]
SlurmOption = Annotated[
    list[str] | None,
    typer.Option(
        "--slurm-option",
        help='Handed to sbatch, such as "--partition=main"; may be repeated.',
        metavar="OPTION",
        rich_help_panel=PANEL,
    ),
]
MOST_ROWS = 40  # of a table; the middle of a longer one is left out


@takes_problem
def sweep(
    given: Given,
    run: Run,
    store: Store = None,
    retry_failed: Retry = False,
    d: Dimensions = None,
    seeds: Seeds = None,
    trainer: training.TrainerName = None,
    task: Task = None,
    dtype: training.Precision = None,
    storage: training.Storage = None,
    accuracy: Accuracy = None,
    workers: training.Workers = None,
    dask: Dask = None,
    part: Part = None,
    slurm: Slurm = None,
    slurm_script: Script = None,
    slurm_option: SlurmOption = None,
    json: Json = False,
    csv: Csv = False,
    plot: Plot = None,
) -> None:
    """Compute over grids such as --alpha 0.05:40:60log, as many as you like; with a --store it can go on."""
    check_format(json, csv)
    check_picture(plot)
    if slurm_script is not None:
        check_place(slurm_script, "--slurm-script")
    import presage as ps

    if run not in RUNS:
        raise CommandError(f"RUN must be one of {', '.join(RUNS)}. Got {run!r}. Use `presage sweep solve`.")
    verb = RUNS[run]
    given = given.without_what_plays_no_part_in(verb)
    trained = {"--trainer": trainer, "--task": task, "--dtype": dtype, "--storage": storage}
    grids = given.grids()
    first = {name: values[0] for name, values in grids.items()}
    shown: Sequence[Observable]
    if run == "simulate":
        _refuse_theory(accuracy)
        planned = training.plan(given, trainer, {"task": task, "dtype": dtype, "storage": storage}, **first)
        problem, options = planned.problem, {**planned.options, **_networks(given, d, seeds)}
        shown = planned.measured
    else:
        counted_at = given.samples.n is not None  # what --d is beside --n
        _refuse_training(run, {"--d": None if counted_at else d, "--seeds": seeds, **trained})
        given.must_answer(verb)
        problem = given.problem(**first)
        options = given.taken(getattr(ps, verb), {"accuracy": accuracy}, problem)
        shown = given.observables(verb)
    if not grids and not any(isinstance(value, list) for value in options.values()):
        raise CommandError(f"`presage sweep` goes over grids, and there is none. {given.example_of_a_grid()}")
    places.check(dask, slurm, slurm_script, slurm_option, workers, part)
    if plot is not None:
        from presage.cli import pictures

        if part is not None or slurm_script is not None:
            raise CommandError("`--plot` draws the whole table, and this has a part. Use it when all is computed.")
        pictures.check_curves(grids | options)
    if slurm_script is not None:
        from presage.sweeps.grid import check_count

        written = {"--d": d, "--seeds": seeds, **trained, "--accuracy": accuracy, "--workers": workers}
        lengths = {name: len(value) for name, value in (grids | options).items() if isinstance(value, list)}
        check_count(lengths)
        count = prod(lengths.values())
        command = places.command(given, run, store, written, retry_failed)
        places.write_script(slurm_script, command, slurm or places.TASKS, count, slurm_option or [])
        return
    with places.executor(dask, slurm, slurm_option or []) as executor:
        found = ps.sweep(
            problem,
            getattr(ps, verb),
            store=store,
            executor=executor,
            processes=workers,
            progress=console(stderr=True).is_terminal,
            part=places.part_of(part),
            retry_failed=retry_failed,
            **grids,
            **options,
        )
    rows = rows_of(found)
    told = [{**row, "caveats": " ".join([*given.idle, *filter(None, [row["caveats"]])])} for row in rows]
    shown = [one for one in shown if one.brief] or _with_bars(rows)
    failed = [row["outcome"] for row in rows if row["outcome"].startswith(FAILED)]

    def human(out: Console) -> None:
        say(out, f"{run}: {given.title()}")
        _show(out, list(map(str, found.sizes)), rows, shown)
        say(out, _summary(rows))
        tell_caveats(out, [*given.idle, *([str(found.attrs["damaged"])] if "damaged" in found.attrs else [])])
        if store is not None and part is None:
            say(out, f"table: {store / 'result.nc'}")

    content = {"problem": given.described(), "run": run, "version": found.attrs["version"], "rows": told}
    emit(content, told, human, json=json, csv=csv)
    if len(failed) == len(rows):
        raise FailedError(f"Every cell failed; the first {failed[0]}")
    if plot is not None:
        title = f"{run}: {given.title()}"
        pictures.draw(
            plot, title, lambda: pictures.sweep(given, found, shown), quiet=json or csv, said=pictures.told(found)
        )


def _networks(given: Given, d: str | None, seeds: str | None) -> dict[str, Any]:
    """Dimension and seeds of `simulate`; several dimensions are one more grid, one that cells have is left out."""
    found: dict[str, Any] = {}
    if d is not None or given.own_dimension is None:
        sizes = training.dimensions(given, d, training.USUAL)
        found["d"] = sizes if len(sizes) > 1 else sizes[0]
    if seeds is None:
        return found
    networks = training.seed_numbers(seeds)
    if isinstance(networks, list):
        raise CommandError(
            "`--seeds` must be one number here: it is how many networks a cell has, seeds 0, 1, ... "
            f"Got --seeds {seeds}. Use for example --seeds 8."
        )
    return {**found, "seeds": networks}


def _refuse_training(run: str, written: dict[str, str | None]) -> None:
    """Refuse the options of `simulate` where nothing is trained."""
    for option, value in written.items():
        if value is not None:
            raise CommandError(f"`{option}` is for `presage sweep simulate`: {run} trains no network. Leave it out.")


def _refuse_theory(accuracy: float | None) -> None:
    """Refuse the options of a prediction where networks are trained."""
    if accuracy is not None:
        raise CommandError("`--accuracy` is of a prediction, and `presage sweep simulate` makes none. Leave it out.")


def _with_bars(rows: list[dict[str, Any]]) -> list[Observable]:
    """The numbers with error bars, where the model does not declare which are asked for."""
    return [Observable(name, name) for name in rows[0] if f"{name}_bar" in rows[0]]


def rows_of(found: Any) -> list[dict[str, Any]]:
    """One row a cell: its place in the grid, its numbers, its outcome and its caveats; arrays are left out."""
    axes = [str(name) for name in found.dims if name in found.coords]
    flat = [str(name) for name in found.data_vars if set(found[name].dims) <= set(axes)]
    held = [name for name in flat if name not in ("outcome", "caveats")]
    # Each variable is read once: taking cells out of the table one by one is slow for thousands of them.
    columns = {name: _column(found, name, axes) for name in flat}
    places = itertools.product(*(found[axis].values.tolist() for axis in axes))
    gathered = []
    for cell, place in enumerate(places):
        row = dict(zip(axes, place, strict=True)) | {name: columns[name][cell] for name in held}
        outcome, caveats = str(columns["outcome"][cell]), _joined(str(columns["caveats"][cell]).splitlines())
        if not outcome.startswith((FAILED, NOT_YET)):
            caveats = " ".join([*([caveats] if caveats else []), _joined(silent(row))]).strip()
        gathered.append({**row, "outcome": outcome, "caveats": caveats})
    return gathered


def _joined(sentences: Sequence[str]) -> str:
    """Caveats as one text, each with a capital."""
    return " ".join(f"{line[:1].upper()}{line[1:]}" for line in sentences)


def _column(found: Any, name: str, axes: list[str]) -> list[Any]:
    """The values of a variable, one a cell, in the order of the cells."""
    return list(found[name].broadcast_like(found["outcome"]).transpose(*axes).values.ravel().tolist())


def _show(out: Console, axes: Sequence[str], cells: list[dict[str, Any]], shown: Sequence[Observable]) -> None:
    """A table of the cells, the middle of a long one left out."""
    places = [name for name in cells[0] if name in axes]
    columns = [one for one in shown if any(one.name in cell for cell in cells)]
    half = MOST_ROWS // 2
    chosen: list[dict[str, Any] | None] = list(cells)
    if len(cells) > MOST_ROWS:
        chosen = [*cells[:half], None, *cells[-half:]]
    lines: list[list[numbers.Cell]] = [
        ["..."] * (len(places) + len(columns)) if cell is None else _line(cell, places, columns) for cell in chosen
    ]
    # The numbers of a kind are told in words, under the name of the kind.
    names = [one.axis if one.stands_for else one.name for one in columns]
    table(out, [heading(name) for name in (*places, *names)], lines, stay=len(places) + 1)


def _summary(cells: list[dict[str, Any]]) -> str:
    """How the cells ended, in a sentence."""
    failed = [cell["outcome"] for cell in cells if cell["outcome"].startswith(FAILED)]
    later = sum(cell["outcome"] == NOT_YET for cell in cells)
    warned = sum(bool(cell["caveats"]) for cell in cells)
    said = f"{len(cells)} cells: {len(cells) - len(failed) - later} done"
    said += f", {len(failed)} failed ({failed[0].removeprefix(f'{FAILED}: ').rstrip('.')})" if failed else ""
    said += f", {later} {NOT_YET}" if later else ""
    said += f"; {warned} have caveats, which --csv and --json list" if warned else ""
    return said + "."


def _line(cell: dict[str, Any], places: list[str], columns: list[Observable]) -> list[numbers.Cell]:
    return [*(place(cell[name]) for name in places), *(_number(cell, one) for one in columns)]


def _number(cell: dict[str, Any], one: Observable) -> numbers.Cell:
    name = one.name
    value = cell.get(name)
    if value is None or isnan(value):
        if cell["outcome"].startswith(FAILED):
            return FAILED
        return "" if cell["outcome"] == NOT_YET else "not known"
    if one.stands_for:
        return one.stands_for[int(value)]
    bar = cell.get(f"{name}_bar")
    return numbers.cell(value if bar is None else numbers.Measured(value, bar))


def place(value: Any) -> str:
    """A point of a grid: a number, or the name of a trainer or task."""
    return numbers.text(value) if isinstance(value, float) else str(value)
