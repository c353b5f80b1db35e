"""One function over a grid of problems."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import presage
from presage.protocol import checks
from presage.protocol.errors import in_python
from presage.protocol.progress import with_progress
from presage.sweeps import engines
from presage.sweeps.cells import Work
from presage.sweeps.grid import Cell, Grid
from presage.sweeps.identity import canonical, identity
from presage.sweeps.store import Record, Store, Writer, unwritable
from presage.sweeps.table import table

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 64  # cells of a chain: what is given to a process at a time
WARM = 8  # a chain of warm starts shorter than this costs more by its cold start than it gains
SHARE = 8  # chains a process: the last ones to end then wait for little


class SweepInterrupted(KeyboardInterrupt):
    """A sweep was interrupted. Finished cells are in its store: the same sweep goes on from there."""

    def __init__(self, text: str) -> None:
        super().__init__(in_python(text))
        self.text = text


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
            `trainer` ...). A list or an array is an axis of the table, a single value is the same everywhere. A name
            that both have is the function's.

    Returns:
        A dataset whose dimensions are the axes: every observable, its error bar under ``<name>_bar``, and for each
        cell `outcome` (how it ended, in words), `caveats` and `seconds`. A cell that failed is NaN, with the reason in
        `outcome`. An observable that has the name of an axis is under ``<name>_found``. The attributes name the
        problem, the function, the version and the seeds, and under `damaged` what of the store could not be read.

    Raises:
        SweepInterrupted: on Ctrl-C; what had ended is in the store.
    """
    points = Grid.of(problem, run, grid)
    share = (1, 1) if part is None else _check_part(part, store)
    cells = points.cells
    attributes = _attributes(points)
    folder = None if store is None else Store(_folder(store))
    done: dict[str, Record] = {}
    with engines.connected(executor) as client:
        if folder is not None:
            manifest = {"version": presage.__version__, "run": identity(run), "problem": identity(problem)}
            folder.open(manifest, points.names)
            done, damaged = folder.records()
            if damaged:
                attributes["damaged"] = " ".join(damaged)
        kept = {key: record for key, record in done.items() if not (retry_failed and record["failed"])}
        found = {cell.key: kept[cell.key] for cell in cells if cell.key in kept}
        missing = {cell.key for cell in cells} - found.keys()
        workers = _workers(points, processes, client, len(missing))
        chains = _chains(points, missing, workers, share)
        work = Work(
            run,
            None if folder is None else folder.folder,
            "" if folder is None else folder.mark,
            points.warm is not None,
            _fitting(points, executor, processes),
        )
        records = _kept(_engine(work, chains, workers, client), folder)
        show = sys.stderr.isatty() if progress is None else progress
        try:
            count = sum(map(len, chains))
            for record in with_progress(records, count, words="sweep", unit="cells", show=show):
                found[record["key"]] = record
        except KeyboardInterrupt:
            raise _interrupted(cells, found, folder) from None
    result = table(points, found, attributes)
    if folder is not None and part is None:
        folder.write_result(result)
    return result


def _interrupted(cells: list[Cell], found: dict[str, Record], folder: Store | None) -> SweepInterrupted:
    """What is left of a sweep that was interrupted."""
    ended = found.keys() if folder is None else folder.records()[0].keys()
    count = len({cell.key for cell in cells} & ended)
    rest = 'there was no store, so they are lost: pass <store="runs"> next time.'
    if folder is not None:
        rest = f"they are in {folder.folder}: the same sweep goes on from there."
    return SweepInterrupted(f"The sweep was interrupted; {count} of {len(cells)} cells had ended, and {rest}")


def _kept(records: Iterable[Record], folder: Store | None) -> Iterator[Record]:
    """Records as they come; what a worker could not store, because it does not see the folder, is stored here."""
    writer: Writer | None = None
    for record in records:
        stored = record.pop("stored")
        if folder is not None and not stored:
            writer = writer or folder.writer()
            try:
                writer.add(record)
            except OSError as error:
                raise unwritable(folder.folder, error, "Cells that were written before are whole") from error
        yield record


def _engine(work: Work, chains: list[list[Cell]], workers: int, client: Any) -> Iterator[Record]:
    if client is not None:
        return engines.on_dask(work, chains, client)
    return engines.here(work, chains) if workers == 1 else engines.local(work, chains, workers)


def _attributes(points: Grid) -> dict[str, Any]:
    """What made the table."""
    return {
        "problem": canonical(points.problem),
        "run": canonical(points.run),
        "version": presage.__version__,
        "seeds": _seeds(points),
    }


def _seeds(points: Grid) -> str:
    """The seeds of the random numbers behind the table: of data sets, or of the points at which averages are taken."""
    names = points.options
    options = {**getattr(points.run, "keywords", {}), **points.fixed}
    if "seeds" in names:
        return str(options.get("seeds", "those that the function takes by itself"))
    if "solver" in names:
        return str(getattr(options.get("solver"), "seed", 0))
    return "none"


def _folder(store: Any) -> Path:
    if not isinstance(store, str | Path) or not str(store):
        reason, remedy = "finished cells are kept in a folder", 'Use for example <store="runs">.'
        raise checks.complaint("store", "be the name of a folder", reason, store, remedy)
    folder = Path(store).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        reason, remedy = "there is a file of that name", 'Use for example <store="runs">.'
        raise checks.complaint("store", "be the name of a folder", reason, str(store), remedy)
    return folder


def _workers(points: Grid, processes: Any, client: Any, missing: int) -> int:
    """Processes that compute cells. A function with processes of its own, such as simulate, gets one cell at a time."""
    if processes is not None:
        reason, remedy = "it is how many processes compute cells", "Leave it out to use all cores."
        processes = checks.integer("processes", processes, at_least=1, reason=reason, remedy=remedy)
    if client is not None:
        return engines.threads(client)
    if "processes" in points.options:
        return 1
    from presage.protocol.machine import available_cores

    few = points.warm is not None and missing <= WARM
    return 1 if few else max(1, min(processes or available_cores(), missing))


def _chains(points: Grid, missing: set[str], workers: int, share: tuple[int, int]) -> list[list[Cell]]:
    """What is to be done, in chains: long enough for warm starts to pay, short enough to keep all busy to the end.

    The parts of a sweep are cut out of the whole grid, whatever is done of it, so that they are the same on every
    machine and at every time. They are so small that none is empty, as long as there are cells enough.
    """
    i, n = share
    cells = points.cells
    if n > 1:
        cuts = points.chains(cells, min(_length(points, len(cells), n), max(1, len(cells) // n)))
        cells = list(itertools.chain(*itertools.islice(cuts, i - 1, None, n)))
    left = [cell for cell in cells if cell.key in missing]
    return list(points.chains(left, _length(points, len(left), workers)))


def _length(points: Grid, count: int, workers: int) -> int:
    """Cells of a chain, for `count` cells on so many workers."""
    if points.warm is None and "processes" in points.options:
        return 1
    return min(LONGEST, max(count // (SHARE * workers), WARM if points.warm is not None else 1))


def _check_part(part: Any, store: Any) -> tuple[int, int]:
    reason, remedy = "it names one of the parts of a sweep, counted from 1", "Use for example <part=(3, 10)>."
    whole = isinstance(part, tuple) and len(part) == 2 and all(type(number) is int for number in part)
    if not whole or not 1 <= part[0] <= part[1]:
        raise checks.complaint("part", "be two whole numbers (i, n) with 1 <= i <= n", reason, part, remedy)
    if store is None:
        reason, remedy = "the parts of a sweep meet in a store, and there is none", 'Use for example <store="runs">.'
        raise checks.complaint("part", "come with a store", reason, part, remedy)
    return part[0], part[1]


def _fitting(points: Grid, executor: Any, processes: Any) -> dict[str, Any]:
    """Options by which a function with a bar and processes of its own fits into a sweep: no bar; on a cluster, one."""
    names = points.options
    options: dict[str, Any] = {"progress": False} if "progress" in names else {}
    if "processes" in names:
        options["processes"] = processes if executor is None else 1
    return options
