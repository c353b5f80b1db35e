"""Where the cells of a sweep are computed: on this machine, on a cluster, or by the tasks of a script."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from presage.cli.errors import CommandError
from presage.cli.options import Given
from presage.cli.output import console, written_to

TASKS = 10  # of a script, where --slurm is left out


def check(
    dask: str | None,
    slurm: int | None,
    script: Path | None,
    options: list[str] | None,
    workers: int | None,
    part: str | None,
) -> None:
    """Refuse places that exclude each other, before anything is computed."""
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


def part_of(text: str | None) -> tuple[int, int] | None:
    """Which part of how many, of what was written as I/N."""
    if text is None:
        return None
    first, _, last = text.partition("/")
    if not (first.isdecimal() and last.isdecimal() and 1 <= int(first) <= int(last)):
        raise CommandError(f"`--part` must be I/N with 1 <= I <= N. Got --part {text!r}. Use for example --part 3/10.")
    return int(first), int(last)


@contextlib.contextmanager
def executor(dask: str | None, slurm: int | None, options: list[str]) -> Iterator[Any]:
    """What computes the cells: the address of a scheduler, SLURM jobs, or None for this machine."""
    if slurm is None:
        yield dask
        return
    from presage.sweeps.slurm import cluster

    with cluster(jobs=slurm, options=options) as client:
        yield client


def command(given: Given, run: str, store: Path | None, options: dict[str, Any], retry_failed: bool) -> list[str]:
    """The sweep as every task of an array runs it."""
    if store is None:
        raise CommandError(
            "`--slurm-script` needs a --store: its tasks share nothing else. Use for example --store runs."
        )
    written = {**given.words_of_command(), **options, "--store": str(store.absolute())}
    words = [word for option, value in written.items() if value is not None for word in (option, str(value))]
    return [sys.executable, "-m", "presage", "sweep", run, *words, *(["--retry-failed"] if retry_failed else [])]


def write_script(path: Path, command: list[str], asked: int, count: int, options: list[str]) -> None:
    """Write the script of an array whose tasks share the cells, and say how to use it."""
    from presage.sweeps.slurm import script

    jobs = min(asked, count)  # a task without a cell would wait in the queue for nothing
    text = script(command, jobs=jobs, options=options)
    with written_to("--slurm-script", path) as part:
        part.write_text(text, encoding="utf-8")
    out = console()
    few = "" if jobs == asked else ", one for each cell"
    out.print(f"written: {path}, an array of {jobs} tasks{few}")
    out.print(f"submit it with:  sbatch {shlex.quote(str(path))}", soft_wrap=True)
    out.print(f"then gather with:  {shlex.join(command)}", soft_wrap=True)
