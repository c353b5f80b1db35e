"""One number over two: a map in colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from presage.plots.colours import GREY
from presage.plots.curves import Ruler
from presage.plots.panel import Panel
from presage.plots.scales import edges_between, set_logarithmic, spans_decades, tick
from presage.protocol.ensemble import Floats


class Side(NamedTuple):
    """One side of a map: its places, increasing, and its ruler."""

    places: Floats
    ruler: Ruler


def map_panel(
    name: str, values: Floats, across: Side, up: Side, label: str, *, fraction: bool = False, kinds: Sequence[str] = ()
) -> Panel:
    """A cell for each pair of places, `values` with one row a place of `up`; a cell that failed is grey.

    Numbers that stand for `kinds` are drawn as such: a colour each, with its name on the map.
    """

    def draw(axes: Any) -> None:
        import matplotlib as mpl
        from matplotlib.colors import LogNorm, Normalize
        from matplotlib.ticker import FuncFormatter

        logarithmic = not fraction and not kinds and spans_decades(values)
        known = values[np.isfinite(values)]
        low, high = (0.0, 1.0) if fraction else (float(known.min()), float(known.max()))
        norm = (LogNorm if logarithmic else Normalize)(low, high)
        edges = [edges_between(side.places, side.ruler.logarithmic) for side in (across, up)]
        axes.set_facecolor(GREY)
        axes.grid(visible=False)
        shown = np.ma.masked_invalid(values)
        colours = mpl.colormaps["viridis"]
        if kinds:
            colours, norm = mpl.colormaps["viridis"].resampled(len(kinds)), Normalize(-0.5, len(kinds) - 0.5)
        mesh = axes.pcolormesh(*edges, shown, norm=norm, cmap=colours, rasterized=True)
        bar = axes.figure.colorbar(mesh, ax=axes, label=label)
        if kinds:
            bar.set_ticks(range(len(kinds)), labels=list(kinds))
            bar.ax.minorticks_off()
            _write_names(axes, values, across, up, kinds)
        if logarithmic:
            bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick(value)))
            bar.ax.minorticks_off()
        axes.set(xlabel=across.ruler.label, ylabel=up.ruler.label)
        for side, letter in ((across, "x"), (up, "y")):
            if side.ruler.logarithmic:
                set_logarithmic(axes, letter)  # type: ignore[arg-type]
        if np.isnan(values).any():
            axes.plot([], [], "s", color=GREY, label="no number")

    return Panel(name, draw, 5.6, 4.0)


def _write_names(axes: Any, values: Floats, across: Side, up: Side, kinds: Sequence[str]) -> None:
    """Each kind by its name, at the cell of it that is nearest to the middle of them all."""
    for number, kind in enumerate(kinds):
        cells = np.argwhere(values == number)
        if len(cells):
            row, column = cells[np.argmin(((cells - cells.mean(axis=0)) ** 2).sum(axis=1))]
            colour = "black" if number > 0.6 * len(kinds) else "white"
            place = across.places[column], up.places[row]
            axes.text(*place, kind, ha="center", va="center", color=colour, fontsize="small", fontweight="bold")
