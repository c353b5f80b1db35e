"""How figures look: readable in grey, at column width and by colour-blind eyes; bands, dots, thresholds, footnotes."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from presage.plots import colours
from presage.plots.scales import Side, set_logarithmic
from presage.sweeps.outcome import FAILED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Parts

BLACK, BLUE, ORANGE, GREEN, PINK, SKY = colours.BLACK, *colours.COLOURS[:5]
COLOURS, LINES, MARKERS, GREY = colours.COLOURS, colours.LINES, colours.MARKERS, colours.GREY
COLUMN, PAGE = 3.4, 7.0  # inches: one column of a journal, and both
NUMBER = re.compile(r"\d[\d.]*(e[+-]?\d+)?")
SEED = re.compile(r"\bseed \d+:? ")  # before what one seed of many says
# Shipped data have the caveats of a cell in one line: they begin with a small letter, their further sentences do not.
NEXT = re.compile(r"(?<=\.) (?=[a-z])")
SMALL, LEADING = 5.5, 1.3  # size of footnotes in points, and the distance of their lines in sizes
OPEN: dict[str, Any] = {"markersize": 6.5, "markerfacecolor": "none", "markeredgewidth": 0.9}  # around filled dots


@contextmanager
def style() -> Iterator[None]:
    """Draw inside this block."""
    import matplotlib as mpl

    settings: Any = {
        "font.size": 8.0,
        "axes.labelsize": 8.0,
        "axes.titlesize": 8.5,
        "legend.fontsize": 7.0,
        "legend.frameon": False,
        "xtick.labelsize": 7.0,
        "ytick.labelsize": 7.0,
        "lines.linewidth": 1.2,
        "lines.markersize": 3.5,
        "axes.grid": True,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "savefig.dpi": 200,
        "svg.hashsalt": "presage",  # the same picture gives the same file
    }
    with mpl.rc_context(settings):
        yield


def canvas(
    rows: int = 1, columns: int = 1, *, width: float = PAGE, height: float = 2.6, **options: Any
) -> tuple[Figure, Any]:
    """An empty figure and its axes. No window system is involved."""
    figure = _empty(width, height)
    return figure, figure.subplots(rows, columns, **options)


def mosaic(
    layout: list[str], *, width: float = PAGE, height: float = 2.6, **options: Any
) -> tuple[Figure, dict[str, Any]]:
    """An empty figure whose rows have different panels, such as ``["0123", "eerr"]``, and its axes by letter."""
    figure = _empty(width, height)
    return figure, figure.subplot_mosaic("\n".join(layout), **options)


def _empty(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def line(axis: Any, table: Any, x: str, name: str, *, number: int = 0, **options: Any) -> None:
    """A prediction against `x` with its error band; points that failed leave a gap."""
    settings = {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number % len(LINES)], **options}
    values = table[name].values
    axis.plot(table[x].values, values, **settings)
    if f"{name}_bar" in table:
        bar = table[f"{name}_bar"].values
        axis.fill_between(table[x].values, values - bar, values + bar, color=settings["color"], alpha=0.25, linewidth=0)


def dots(axis: Any, table: Any, x: str, name: str, *, number: int = 0, **options: Any) -> None:
    """Trained networks against `x`: means with two standard errors."""
    settings = {**_mark(number), **options}
    bar = 2.0 * table[f"{name}_bar"].values
    axis.errorbar(
        table[x].values,
        table[name].values,
        bar,
        linestyle="none",
        capsize=1.5,
        elinewidth=0.8,
        zorder=3,
        **settings,
    )


def _mark(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "markeredgecolor": BLACK,
        "markeredgewidth": 0.4,
    }


def key(number: int, label: str, **options: Any) -> Any:
    """An entry of a legend for a line and the dots upon it: pass a list of them as its handles."""
    from matplotlib.lines import Line2D

    settings = {**_mark(number), "linestyle": LINES[number % len(LINES)], **options}
    return Line2D([], [], label=label, **settings)


def threshold(axis: Any, x: float, label: str, *, height: float = 0.97, **options: Any) -> None:
    """A vertical line at a threshold, with its name written along it."""
    settings = {"color": GREY, "linewidth": 0.9, "linestyle": "--", **options}
    axis.axvline(x, **settings)
    axis.annotate(
        label,
        (x, height),
        xycoords=("data", "axes fraction"),
        xytext=(2, 0),
        textcoords="offset points",
        rotation=90,
        va="top",
        ha="left",
        fontsize=6.5,
        color=settings["color"],
    )


def logarithmic(axis: Any, *names: Side) -> None:
    """Axes of logarithms, "x", "y" or both."""
    for name in names:
        set_logarithmic(axis, name)


def caveats(parts: Parts) -> list[str]:
    """What the numbers say against themselves: each failed cell and each caveat once, with where and how often.

    Failed cells come first. Sentences that differ only in their numbers are one, and its first wording stands for all.
    """
    said: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for variable in ("outcome", "caveats"):
        for name, table in parts.items():
            for cell, words in enumerate(map(str, np.ravel(table[variable].values)) if variable in table else ()):
                if variable == "caveats" or words.startswith(FAILED):
                    for sentence in _sentences(words, table):
                        said.setdefault((name, NUMBER.sub("#", sentence)), []).append((sentence, cell))
    return [_counted(name, parts[name], alike) for (name, _), alike in said.items()]


def _sentences(words: str, table: Any) -> list[str]:
    """The caveats of a cell one by one; what single seeds say alike is counted."""
    of_all: list[str] = []
    of_seeds: dict[str, list[str]] = {}
    for line in words.split("\n"):
        first, *listed = SEED.split(line)
        of_all += NEXT.split(first.strip()) if first.strip() else []
        for sentence in listed:
            of_seeds.setdefault(NUMBER.sub("#", sentence.strip()), []).append(sentence.strip())
    return [*of_all, *(f"{len(alike)} of {table.attrs['seeds']} seeds: {alike[0]}" for alike in of_seeds.values())]


def _counted(name: str, table: Any, alike: list[tuple[str, int]]) -> str:
    """One caveat for all cells that have it: the part of the figure, where in it, how often, and the sentence."""
    sentences = {sentence for sentence, _ in alike}
    cells = sorted({cell for _, cell in alike})
    count = f" ({len(cells)} points{', numbers vary' if len(sentences) > 1 else ''})" if len(cells) > 1 else ""
    return f"{name}{_where(table, cells)}{count}: {alike[0][0]}"


def _where(table: Any, cells: list[int]) -> str:
    """The range of these cells on each axis of a table that they do not fill."""
    said = table["caveats" if "caveats" in table else "outcome"]
    places = dict(zip(said.dims, np.unravel_index(cells, said.shape) if said.dims else (), strict=True))
    ranges = []
    for axis, at in places.items():
        seen = np.unique(at)
        if axis in table.coords and len(seen) < table.sizes[axis]:
            values = [_value(table[axis].values[k]) for k in (seen[0], seen[-1])]
            ranges.append(f"{axis} = {values[0]}" if len(seen) == 1 else f"{axis} from {values[0]} to {values[1]}")
    return f" at {', '.join(ranges)}" if ranges else ""


def _value(label: Any) -> str:
    return f"{label:.3g}" if np.asarray(label).dtype.kind == "f" else str(label)


def _escaped(words: str) -> str:
    return words.replace("$", r"\$")  # a formula to matplotlib otherwise


def print_caveats(figure: Figure, parts: Parts, *, most: int = 6) -> None:
    """Write the caveats as numbered footnotes under the picture, which grows by them: its panels keep their size."""
    said = caveats(parts)
    if not said:
        return
    shown = said[:most]
    width = int(figure.get_figwidth() * 23)
    notes = [
        textwrap.fill(f"$^{{{k}}}$ {_escaped(words)}", width, subsequent_indent="   ")
        for k, words in enumerate(shown, 1)
    ]
    if len(said) > most:
        notes.append(f"   and {len(said) - most} more, which the table lists in its caveats and outcomes")
    text = "\n".join(notes)
    lines = text.count("\n") + 1
    figure.set_figheight(figure.get_figheight() + (lines + 1) * LEADING * SMALL / 72.0)
    figure.supxlabel(text, fontsize=SMALL, color=GREY, x=0.01, ha="left", linespacing=LEADING)


def legend_above(axis: Any, *, columns: int = 2, **options: Any) -> None:
    """A legend over the panel, where it hides nothing."""
    place: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": columns, "columnspacing": 1.2}
    axis.legend(**place, **options)
