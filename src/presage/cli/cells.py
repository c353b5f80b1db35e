"""The cells of a sweep as rows: for tables, JSON and CSV."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

from presage.cli import numbers
from presage.cli.output import heading, silent, table
from presage.sweeps.outcome import FAILED, NOT_YET

if TYPE_CHECKING:
    from rich.console import Console

MOST_ROWS = 40
MOST_COLUMNS = 6  # of a table of 80 columns
DIGITS = 7


def rows(found: Any) -> list[dict[str, Any]]:
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
        outcome, caveats = str(columns["outcome"][cell]), str(columns["caveats"][cell])
        if not outcome.startswith((FAILED, NOT_YET)):
            caveats = " ".join([*([caveats] if caveats else []), *silent(row)])
        gathered.append({**row, "outcome": outcome, "caveats": caveats})
    return gathered


def _column(found: Any, name: str, axes: list[str]) -> list[Any]:
    """The values of a variable, one a cell, in the order of the cells."""
    return list(found[name].broadcast_like(found["outcome"]).transpose(*axes).values.ravel().tolist())


def show(out: Console, axes: Sequence[str], cells: list[dict[str, Any]], shown: Sequence[str]) -> None:
    """A table of the cells, the middle of a long one left out."""
    places = [name for name in cells[0] if name in axes]
    columns = [name for name in shown if any(name in cell for cell in cells)][: max(MOST_COLUMNS - len(places), 2)]
    half = MOST_ROWS // 2
    chosen: list[dict[str, Any] | None] = list(cells)
    if len(cells) > MOST_ROWS:
        chosen = [*cells[:half], None, *cells[-half:]]
    lines = [
        ["..."] * (len(places) + len(columns)) if cell is None else _line(cell, places, columns) for cell in chosen
    ]
    table(out, [heading(name) for name in (*places, *columns)], lines)


def summary(cells: list[dict[str, Any]]) -> str:
    """How the cells ended, in a sentence."""
    failed = [cell["outcome"] for cell in cells if cell["outcome"].startswith(FAILED)]
    later = sum(cell["outcome"] == NOT_YET for cell in cells)
    warned = sum(bool(cell["caveats"]) for cell in cells)
    said = f"{len(cells)} cells: {len(cells) - len(failed) - later} done"
    said += f", {len(failed)} failed ({failed[0].removeprefix(f'{FAILED}: ').rstrip('.')})" if failed else ""
    said += f", {later} {NOT_YET}" if later else ""
    said += f"; {warned} have caveats, which --csv and --json list" if warned else ""
    return said + "."


def _line(cell: dict[str, Any], places: list[str], columns: list[str]) -> list[str]:
    return [*(place(cell[name]) for name in places), *(_number(cell, name) for name in columns)]


def _number(cell: dict[str, Any], name: str) -> str:
    value = cell.get(name)
    if value is None or isnan(value):
        if cell["outcome"].startswith(FAILED):
            return FAILED
        return "" if cell["outcome"] == NOT_YET else "not known"
    bar = cell.get(f"{name}_bar")
    return numbers.text(value) if bar is None else numbers.with_bar(numbers.Measured(value, bar), DIGITS)


def place(value: Any) -> str:
    """A point of a grid: a number, or the name of a trainer or task."""
    return numbers.text(value) if isinstance(value, float) else str(value)
