"""One function over a grid of problems."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import presage
from presage import _check
from presage.sweeps import engines
from presage.sweeps.cells import Work
from presage.sweeps.grid import Cell, Grid, option_names
from presage.sweeps.identity import canonical, identity
from presage.sweeps.store import Record, Store, Writer
from presage.sweeps.table import table

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 64  # cells of a chain: what is given to a process at a time
WARM = 8  # a chain of warm starts shorter than this costs more by its cold start than it gains
SHARE = 8  # chains a process: the last ones to end then wait for little


class SweepInterrupted(KeyboardInterrupt):
    """A sweep was interrupted. Finished cells are in its store: the same sweep goes on from there."""


def sweep(
    problem: Any,
    run: Callable[..., Any],
    *,
    store: str | Path | None = None,
    executor: Any = None,
    processes: int | None = None,
    progress: bool | None = None,
    part: tuple[int, int] | None = None,
    retry_failed: bool = False,
    **grid: Any,
) -> xr.Dataset:
    """Call `run` for every point of a grid of problems, and put what it says into one labelled table.

    Args:
        problem: the problem that is varied.
        run: `solve`, `simulate`, `bayes_optimal`, `ridgeless`, `thresholds`, or any function of a problem that returns
            a number, a dict of names to numbers, arrays or words, or a result of presage. One that takes `init`
            is started from its neighbour's result.
        store: a folder that remembers every finished cell. The same sweep, or one with more points, goes on from it.
        executor: None for processes of this machine; a `dask.distributed.Client` or the address of a scheduler to use
            the workers of a dask cluster.
        processes: how many processes of this machine; by default one a core.
        progress: whether to show a bar with the time left; by default when standard error is a terminal.
        part: ``(i, n)`` computes the i-th of n parts only (i = 1 ... n), for machines that share nothing but the store.
        retry_failed: whether cells that failed are computed again.
        **grid: parameters of the problem (`alpha`, `weight_decay`, `target` ...) and options of `run` (`d`, `seeds`,
            `trainer` ...). A list or an array is an axis of the table, a single value is the same everywhere.

    Returns:
        A dataset whose dimensions are the axes: every observable, its error bar under ``<name>_bar``, and for each
        cell `outcome` (how it ended, in words), `caveats` and `seconds`. A cell that failed is NaN, with the reason in
        `outcome`. The attributes name the problem, the function, the version and the seeds.

    Raises:
        SweepInterrupted: on Ctrl-C; what had ended is in the store.
    """
    points = Grid.of(problem, run, grid)
    cells = points.cells
    attributes = _attributes(points)
    folder = None if store is None else Store(_folder(store))
    done: dict[str, Record] = {}
    if folder is not None:
        manifest = {"version": presage.__version__, "run": identity(run), "problem": identity(problem)}
        folder.open(manifest, points.names)
        done, damaged = folder.records()
        if damaged:
            attributes["damaged"] = " ".join(damaged)
    kept = {key: record for key, record in done.items() if not (retry_failed and record["failed"])}
    missing = {cell.key for cell in cells} - kept.keys()
    workers = _workers(points, processes, executor, len(missing))
    chains = _chains(points, missing, workers, part)
    work = Work(
        run, None if folder is None else folder.folder, points.warm is not None, _fitting(run, executor, processes)
    )
    records = _engine(work, chains, workers, executor)
    found = {cell.key: kept[cell.key] for cell in cells if cell.key in kept}
    show = sys.stderr.isatty() if progress is None else progress
    try:
        for record in _with_bar(_kept(records, folder), sum(map(len, chains)), len(found), show):
            found[record["key"]] = record
    except KeyboardInterrupt:
        where = f"{len(found)} of {len(cells)} cells had ended"
        rest = "there was no store, so they are lost: pass store= next time."
        if folder is not None:
            rest = f"they are in {folder.folder}: the same sweep goes on from there."
        raise SweepInterrupted(f"The sweep was interrupted; {where}, and {rest}") from None
    result = table(points, found, attributes)
    if folder is not None and part is None:
        folder.write_result(result)
    return result


def _kept(records: Iterable[Record], folder: Store | None) -> Iterator[Record]:
    """Records as they come; what a worker could not store, because it does not see the folder, is stored here."""
    writer: Writer | None = None
    for record in records:
        stored = record.pop("stored")
        if folder is not None and not stored:
            writer = writer or folder.writer()
            writer.add(record)
        yield record


def _engine(work: Work, chains: list[list[Cell]], workers: int, executor: Any) -> Iterator[Record]:
    if executor is not None:
        return engines.on_dask(work, chains, executor)
    return engines.here(work, chains) if workers == 1 else engines.local(work, chains, workers)


def _attributes(points: Grid) -> dict[str, Any]:
    """What made the table."""
    attributes = {
        "problem": canonical(points.problem),
        "run": canonical(points.run),
        "version": presage.__version__,
        "seeds": "0",
    }
    options = {**getattr(points.run, "keywords", {}), **points.fixed}
    if "seeds" in option_names(points.run):
        attributes["seeds"] = str(options.get("seeds", "those that the function takes by itself"))
    return attributes


def _folder(store: Any) -> Path:
    if not isinstance(store, str | Path) or not str(store):
        reason, remedy = "finished cells are kept in a folder", 'Use for example store="runs".'
        raise _check.complaint("store", "be the name of a folder", reason, store, remedy)
    folder = Path(store).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        reason, remedy = "there is a file of that name", 'Use for example store="runs".'
        raise _check.complaint("store", "be the name of a folder", reason, str(store), remedy)
    return folder


def _workers(points: Grid, processes: Any, executor: Any, missing: int) -> int:
    """Processes of this machine. A function with processes of its own, such as simulate, gets one cell at a time."""
    if processes is not None:
        reason, remedy = "it is how many processes compute cells", "Leave it out to use all cores."
        processes = _check.integer("processes", processes, at_least=1, reason=reason, remedy=remedy)
    if executor is not None:
        return 1
    if "processes" in option_names(points.run):
        return 1
    from presage.experiment.machine import available_cores

    few = points.warm is not None and missing <= WARM
    return 1 if few else max(1, min(processes or available_cores(), missing))


def _chains(points: Grid, missing: set[str], workers: int, part: tuple[int, int] | None) -> list[list[Cell]]:
    """What is to be done, in chains: long enough for warm starts to pay, short enough to keep all busy to the end.

    The grid is cut before finished cells are left out, so that the parts of a sweep are the same on every machine.
    """
    i, n = (1, 1) if part is None else _check_part(part)
    if points.warm is None and "processes" in option_names(points.run):
        most = 1
    else:
        fair = len(points.cells) // (SHARE * (workers if part is None else n))
        most = min(LONGEST, max(fair, WARM if points.warm is not None else 1))
    mine = itertools.islice(points.chains(points.cells, most), i - 1, None, n)
    left = ([cell for cell in chain if cell.key in missing] for chain in mine)
    return [chain for chain in left if chain]


def _check_part(part: Any) -> tuple[int, int]:
    reason, remedy = "it names one of the parts of a sweep, counted from 1", "Use for example part=(3, 10)."
    whole = isinstance(part, tuple) and len(part) == 2 and all(isinstance(number, int) for number in part)
    if not whole or not 1 <= part[0] <= part[1]:
        raise _check.complaint("part", "be two whole numbers (i, n) with 1 <= i <= n", reason, part, remedy)
    return part[0], part[1]


def _fitting(run: Any, executor: Any, processes: Any) -> dict[str, Any]:
    """Options by which a function with a bar and processes of its own fits into a sweep: no bar; on a cluster, one."""
    names = option_names(run)
    options: dict[str, Any] = {"progress": False} if "progress" in names else {}
    if "processes" in names:
        options["processes"] = processes if executor is None else 1
    return options


def _with_bar(records: Iterator[Record], count: int, before: int, show: bool) -> Iterator[Record]:
    """Records as they come, with a bar on standard error that knows the time left."""
    if not show or count == 0:
        yield from records
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("sweep"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("cells, elapsed"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        # The time left is that of the cells to be done now: those of the store took none.
        task = bar.add_task("sweep", total=count)
        for record in records:
            bar.advance(task)
            yield record
