"""The table of a sweep: curves along its longest grid of numbers, or a map over two grids."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from presage.plots.colours import COLOURS
from presage.plots.curves import Curve, Ruler, curves_panel
from presage.plots.panel import Panel
from presage.plots.phase_diagram import Side, map_panel
from presage.plots.scales import is_logarithmic
from presage.protocol import checks
from presage.protocol.numbers import short
from presage.sweeps.outcome import FAILED

MOST_CURVES = len(COLOURS)  # more cannot be told apart
MOST_PANELS = 4
NO_OBSERVABLES = ("outcome", "caveats", "seconds", "n_seeds")


def table_panels(table: Any, show: Sequence[str]) -> list[Panel]:
    """One panel an observable: those named, or the first few that the table declares to be asked for."""
    axes = {str(name): table[name].values.tolist() for name in table.dims if name in table.coords}
    names = show or _asked_for(table, [*axes])[:MOST_PANELS]
    for name in names:
        _must_be_drawable(table, name, [*axes])
    if not names:
        raise _nothing(table)
    two = map_axes(axes)
    if two is not None:
        return [_map(table, name, *two) for name in names]
    along, count = curves_along(axes)
    if count > MOST_CURVES:
        must = f"have at most {MOST_CURVES} curves along {along}, or two grids of numbers alone"
        remedy = "Draw a part of it, for example plot(table.isel(...)), or use shorter grids."
        raise checks.complaint("result", must, "more curves cannot be told apart", count, remedy)
    return [_curves(table, name, axes, along) for name in names]


def map_axes(axes: Mapping[str, Sequence[Any]]) -> tuple[str, str] | None:
    """The two grids of numbers of a map: where there are no others, and more curves than can be told apart."""
    long = [name for name, values in axes.items() if len(values) > 1]
    if len(long) != 2 or not all(_are_numbers(axes[name]) for name in long):
        return None
    across, up = sorted(long, key=lambda name: -len(axes[name]))
    return (across, up) if len(axes[up]) > MOST_CURVES else None


def curves_along(axes: Mapping[str, Sequence[Any]]) -> tuple[str, int]:
    """The longest grid of numbers, and how many curves along it there are."""
    numbers = [name for name, values in axes.items() if _are_numbers(values)]
    if not numbers:
        reason, got = "a picture goes along a grid of numbers", ", ".join(axes) or "no grid"
        remedy = "Sweep a number too, for example <alpha=[0.1, 1.0, 10.0]>."
        raise checks.complaint("result", "have a grid of numbers", reason, got, remedy)
    along = max(numbers, key=lambda name: len(axes[name]))
    return along, prod(len(values) for name, values in axes.items() if name != along)


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _asked_for(table: Any, axes: Sequence[str]) -> list[str]:
    """Observables that are declared, or else those with error bars, or else every number of a cell; no empty ones."""
    flat = [str(name) for name, values in table.data_vars.items() if set(values.dims) <= {*axes}]
    numbers = [name for name in flat if table[name].dtype.kind in "iuf" and name not in NO_OBSERVABLES]
    numbers = [name for name in numbers if not name.endswith("_bar") and bool(np.isfinite(table[name]).any())]
    declared = [name for name in numbers if table[name].attrs.get("brief")]
    barred = [name for name in numbers if f"{name}_bar" in table]
    return declared or barred or numbers


def _must_be_drawable(table: Any, name: str, axes: Sequence[str]) -> None:
    remedy = f"Use one of {', '.join(_asked_for(table, axes)) or 'none: every cell failed'}."
    if name not in table.data_vars:
        raise checks.complaint("show", "name numbers of the table", "there is no other", name, remedy)
    if not set(table[name].dims) <= {*axes} or table[name].dtype.kind not in "iuf":
        raise checks.complaint("show", "name numbers, one a cell", "that is what a curve is made of", name, remedy)
    if not bool(np.isfinite(table[name]).any()):
        raise checks.complaint("show", "name what is known somewhere", "no cell has this number", name, remedy)


def _nothing(table: Any) -> ValueError:
    words = [str(text) for text in np.ravel(table["outcome"].values)] if "outcome" in table else []
    failed = [text for text in words if text.startswith(FAILED)]
    held = ", ".join(map(str, table.data_vars)) or "nothing"
    got = f"a table whose cells {failed[0]}" if failed else f"a table of {held}"
    remedy = "Sweep a function that returns numbers, or mend what failed."
    return checks.complaint("result", "have a number to draw", "a picture shows numbers of cells", got, remedy)


def ruler(table: Any, name: str) -> Ruler:
    """The axis along a grid of the table, by what the table says of it."""
    said = table[name].attrs
    label = str(said.get("long_name", name.replace("_", " ")))
    return Ruler(label, is_logarithmic(table[name].values, str(said.get("scale", "linear"))))


def _kinds(table: Any, name: str) -> list[str]:
    """What the numbers 0, 1, ... of an observable stand for, where they do."""
    return str(table[name].attrs.get("flag_meanings", "")).split()


def _label(table: Any, name: str) -> str:
    return str(table[name].attrs.get("long_name", name.replace("_", " ")))


def _curves(table: Any, name: str, axes: Mapping[str, Sequence[Any]], along: str) -> Panel:
    others = {other: values for other, values in axes.items() if other != along}
    sorted_table = table.sortby(along)
    curves = []
    for values in itertools.product(*others.values()):
        at = dict(zip(others, values, strict=True))
        line = sorted_table.sel(at)
        bars = line[f"{name}_bar"].values if f"{name}_bar" in line else np.full(len(axes[along]), np.nan)
        label = ", ".join(f"{other.replace('_', ' ')} {short(value)}" for other, value in at.items())
        numbers = np.broadcast_to(line[name].values, len(axes[along])).astype(np.float64)
        x = line[along].values.astype(np.float64)
        curves.append(Curve(x, numbers, np.asarray(bars, dtype=np.float64), label, "n_seeds" in table))
    fraction = bool(table[name].attrs.get("fraction"))
    kinds = _kinds(table, name)
    return curves_panel(name, curves, ruler(table, along), _label(table, name), fraction=fraction, kinds=kinds)


def _map(table: Any, name: str, across: str, up: str) -> Panel:
    ordered = table.sortby([across, up]).squeeze()
    right, top = (Side(ordered[side].values.astype(np.float64), ruler(ordered, side)) for side in (across, up))
    values = ordered[name].transpose(up, across).values.astype(np.float64)
    fraction = bool(table[name].attrs.get("fraction"))
    return map_panel(name, values, right, top, _label(table, name), fraction=fraction, kinds=_kinds(table, name))
