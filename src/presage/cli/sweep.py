"""`presage sweep`: one function over any number of grids, on this machine or on a cluster."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import answers, cells, pictures, runs, trainers
from presage.cli.mistakes import CommandError, ComputationError, in_options
from presage.cli.output import Csv, Json, check_format, console, emit, say, tell_caveats
from presage.cli.problem_options import Given, takes_problem
from presage.sweeps.outcome import FAILED

if TYPE_CHECKING:
    from rich.console import Console

PANEL = "Where it runs"
EXAMPLES = (
    "presage sweep solve --alpha 0.05:40:60log --noise 0,0.5 --store runs",
    "presage sweep simulate --alpha 0.5,1 --d 50,100 --seeds 8 --store trained",
    "presage sweep solve --alpha 0.05:40:600log --store runs --slurm 20",
    "presage sweep solve --alpha 0.1,1 --store runs --slurm-script sweep.sh",
)
Run = Annotated[
    str, typer.Argument(help=f"What to compute: {', '.join(runs.RUNS)}.", metavar="RUN", autocompletion=runs.complete)
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
    typer.Option("--d", help="Dimensions to train. Default 100.", show_default=False, rich_help_panel=trainers.PANEL),
]
Seeds = Annotated[
    int | None,
    typer.Option("--seeds", help="Networks a cell. Default 8.", show_default=False, rich_help_panel=trainers.PANEL),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task", help="label or sequence.", metavar="NAME", show_default=False, rich_help_panel=trainers.PANEL
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
TASKS = 10  # of a script, where --slurm is left out


@takes_problem
def sweep(
    given: Given,
    run: Run,
    store: Store = None,
    retry_failed: Retry = False,
    d: Dimensions = None,
    seeds: Seeds = None,
    trainer: trainers.TrainerName = None,
    task: Task = None,
    workers: trainers.Workers = None,
    dask: Dask = None,
    part: Part = None,
    slurm: Slurm = None,
    slurm_script: Script = None,
    slurm_option: SlurmOption = None,
    json: Json = False,
    csv: Csv = False,
    plot: pictures.Plot = None,
) -> None:
    """Compute over grids such as --alpha 0.05:40:60log, as many as you like; with a --store it can go on."""
    check_format(json, csv)
    pictures.check_picture(plot)
    import presage as ps

    function = runs.function(run)
    if run not in runs.WITHOUT_TRAINING and trainer != trainers.BAYES:
        given.must_be_trainable()
    given = given.without(*answers.UNUSED.get(run, ()))
    grids = given.grids()
    problem = given.problem(**{name: values[0] for name, values in grids.items()})
    options = runs.training(run, problem, given.model.rectangular, d, seeds, trainer, task)
    if not grids and not any(isinstance(value, list) for value in options.values()):
        raise CommandError("`presage sweep` goes over grids, and there is none. Use for example --alpha 0.05:40:60log.")
    _check_places(dask, slurm, slurm_script, slurm_option, workers, part)
    shown = trainers.measured(trainer) if trainer == trainers.BAYES else cells.SHOWN
    if plot is not None:
        from presage.cli import sweep_picture

        if part is not None or slurm_script is not None:
            raise CommandError("`--plot` draws the whole table, and this has a part. Use it when all is computed.")
        sweep_picture.check_curves(grids | options)
    if slurm_script is not None:
        written = {"--d": d, "--seeds": seeds, "--trainer": trainer, "--task": task, "--workers": workers}
        count = prod(len(value) for value in (*grids.values(), *options.values()) if isinstance(value, list))
        command = _command(given, run, store, written, retry_failed)
        _write_script(slurm_script, command, slurm or TASKS, count, slurm_option or [])
        return
    with _executor(dask, slurm, slurm_option or []) as executor:
        found = ps.sweep(
            problem,
            function,
            store=store,
            executor=executor,
            processes=workers,
            progress=console(stderr=True).is_terminal,
            part=_part(part),
            retry_failed=retry_failed,
            **grids,
            **options,
        )
    rows = cells.rows(found)
    failed = [row["outcome"] for row in rows if row["outcome"].startswith(FAILED)]
    if plot is not None and len(failed) < len(rows):
        pictures.save(sweep_picture.draw(f"{run}: {given.title()}", found, shown, given), plot)

    def human(out: Console) -> None:
        say(out, f"{run}: {given.title()}")
        cells.show(out, list(map(str, found.sizes)), rows, shown)
        say(out, cells.summary(rows))
        tell_caveats(out, [in_options(str(found.attrs["damaged"]))] if "damaged" in found.attrs else [])
        if store is not None and part is None:
            say(out, f"table: {store / 'result.nc'}")
        if plot is not None and len(failed) < len(rows):
            say(out, f"drawn: {plot}")

    content = {"problem": given.described(), "run": run, "version": found.attrs["version"], "rows": rows}
    emit(content, rows, human, json=json, csv=csv)
    if len(failed) == len(rows):
        raise ComputationError(f"Every cell failed; the first {failed[0]}")


def _check_places(
    dask: str | None,
    slurm: int | None,
    script: Path | None,
    options: list[str] | None,
    workers: int | None,
    part: str | None,
) -> None:
    if dask is not None and (slurm is not None or script is not None):
        raise CommandError("`--dask` and `--slurm` exclude each other: cells run in one place. Leave one out.")
    if options and slurm is None and script is None:
        raise CommandError("`--slurm-option` is for SLURM jobs, and there are none. Add for example --slurm 10.")
    if script is not None and part is not None:
        raise CommandError(
            "`--part` makes no sense with --slurm-script: each task of the array does a part of its own. Leave it out."
        )
    if workers is not None and script is None and (dask is not None or slurm is not None):
        place, instead = ("--dask", "") if slurm is None else ("--slurm", " or use --slurm-option=--cpus-per-task=4")
        raise CommandError(
            f"`--workers` is for cells computed on this machine: with {place} the cluster says how many are computed "
            f"at a time. Leave it out{instead}."
        )


def _part(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    first, _, last = text.partition("/")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise CommandError(f"`--part` must be I/N with 1 <= I <= N. Got --part {text!r}. Use for example --part 3/10.")
    return int(first), int(last)


@contextlib.contextmanager
def _executor(dask: str | None, slurm: int | None, options: list[str]) -> Iterator[Any]:
    if slurm is None:
        yield dask
        return
    from presage.sweeps.slurm import cluster

    with cluster(jobs=slurm, options=options) as client:
        yield client


def _command(given: Given, run: str, store: Path | None, options: dict[str, Any], retry_failed: bool) -> list[str]:
    """The sweep as every task of an array runs it."""
    if store is None:
        raise CommandError(
            "`--slurm-script` needs a --store: its tasks share nothing else. Use for example --store runs."
        )
    written = {**given.written(), **options, "--store": str(store.absolute())}
    words = [word for option, value in written.items() if value is not None for word in (option, str(value))]
    return [sys.executable, "-m", "presage", "sweep", run, *words, *(["--retry-failed"] if retry_failed else [])]


def _write_script(path: Path, command: list[str], asked: int, count: int, options: list[str]) -> None:
    from presage.sweeps.slurm import script
    from presage.whole_file import whole_file

    jobs = min(asked, count)  # a task without a cell would wait in the queue for nothing
    text = script(command, jobs=jobs, options=options)
    if not path.absolute().parent.is_dir():
        raise CommandError(
            f"`--slurm-script` must be in a folder that exists. Got --slurm-script {path}. Make it first."
        )
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")
    out = console()
    few = "" if jobs == asked else ", one for each cell"
    out.print(f"written: {path}, an array of {jobs} tasks{few}")
    out.print(f"submit it with:  sbatch {shlex.quote(str(path))}", soft_wrap=True)
    out.print(f"then gather with:  {shlex.join(command)}", soft_wrap=True)
