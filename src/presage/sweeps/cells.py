"""The work of a sweep: a chain of cells, each computed, described and put into the store before the next begins."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

from presage.protocol.errors import SolveError
from presage.sweeps.grid import Cell
from presage.sweeps.observed import caveats, meaning_of_bars, message, observed
from presage.sweeps.outcome import FAILED
from presage.sweeps.store import Record, Store, Writer

FAULTS = (LookupError, TypeError, AttributeError, NameError)


@final
@dataclass(frozen=True)
class Work:
    """What every cell of a sweep has in common. It travels to other processes and machines."""

    run: Callable[..., Any]
    store: Path | None
    mark: str  # of the store: another machine may have another folder of that name
    warm: bool
    options: dict[str, Any] = field(default_factory=dict)  # of every cell, where the cell does not say otherwise
    parent: int | None = None  # the process that this one works for

    def __call__(self, chain: list[Cell]) -> list[Record]:
        """All cells of a chain."""
        return list(self.records(chain))

    def records(self, chain: list[Cell]) -> Iterator[Record]:
        """Cells of a chain as they are done, each started from the solution of the one before."""
        writer = _writer(self.store, self.mark)
        neighbour = None
        for cell in chain:
            if self.parent not in {None, os.getppid()}:
                os._exit(1)  # the sweep was killed: without this its processes would go on beside the next one
            record, neighbour = self._cell(cell, neighbour)
            yield {**record, "stored": _stored(record, writer)}
        if writer is not None:
            with contextlib.suppress(OSError):  # of a disk that is full; the cells that it took are read back as whole
                writer.sync()

    def _cell(self, cell: Cell, neighbour: Any) -> tuple[Record, Any]:
        started = time.perf_counter()
        options = {**self.options, **cell.options}
        result = None
        said: Record
        try:
            result = self._warm_or_cold(cell, options, neighbour)
            said = {
                "values": observed(result),
                "bars": meaning_of_bars(result),
                "outcome": message(result),
                "caveats": caveats(result),
                "failed": False,
            }
        except Exception as failure:  # a cell that fails is a row with its reason
            words = f"{FAILED}: {_reason(failure)}"
            said = {"values": {}, "outcome": words, "caveats": "", "failed": True}
        return {"key": cell.key, **said, "seconds": time.perf_counter() - started}, result

    def lost(self, cell: Cell) -> Record:
        """What is said of a cell that ended every process that computed it; not stored, so that it is tried again."""
        reason = "the processes that computed it were killed one after the other, most often for lack of memory"
        return {
            "key": cell.key,
            "values": {},
            "outcome": f"{FAILED}: {reason}",
            "caveats": "",
            "failed": True,
            "seconds": float("nan"),
            "stored": True,
        }

    def _warm_or_cold(self, cell: Cell, options: dict[str, Any], neighbour: Any) -> Any:
        if not self.warm or neighbour is None:
            return self.run(cell.problem, **options)
        try:
            return self.run(cell.problem, init=neighbour, **options)
        except SolveError:  # a neighbour can be a bad start: the point may still have a solution of its own
            return self.run(cell.problem, **options)


def _reason(failure: Exception) -> str:
    """Why a cell failed; of a fault in the program its kind too, since its text alone may be a mere name."""
    said = str(failure) or type(failure).__name__
    return f"{type(failure).__name__}: {said}" if isinstance(failure, FAULTS) else said


def _stored(record: Record, writer: Writer | None) -> bool:
    """Put a record into the store. What cannot be written here is left to the process that gathers the records."""
    if writer is None:
        return False
    try:
        writer.add(record)
    except OSError:
        return False
    return True


_writers: dict[tuple[int, Path], Writer] = {}


def _writer(folder: Path | None, mark: str) -> Writer | None:
    """The file of this process in the store; None without a store, or where this machine does not see its folder."""
    if folder is None or not mark or Store(folder).mark != mark:
        return None
    # By process as well: one that was forked must not write to the file of its parent.
    return _writers.setdefault((os.getpid(), folder), Store(folder).writer())
