"""How figures look: readable in grey, at column width and by colour-blind eyes; bands, dots, thresholds, caveats."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from presage.plots import colours
from presage.sweeps.outcome import FAILED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from presage.figures.catalogue import Parts

BLACK, BLUE, ORANGE, GREEN, PINK, SKY = colours.BLACK, *colours.COLOURS[:5]
COLOURS, LINES, MARKERS, GREY = colours.COLOURS, colours.LINES, colours.MARKERS, colours.GREY
COLUMN, PAGE = 3.4, 7.0  # inches: one column of a journal, and both
NUMBER = re.compile(r"\d[\d.]*(e[+-]?\d+)?")
SEED = re.compile(r"\bseed \d+:? ")  # before what one seed of many says
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


def caveats(parts: Parts) -> list[str]:
    """What the numbers say against themselves: each failed cell and each caveat once, with how often it occurs.

    Failed cells come first. Sentences that differ only in their numbers are one, and its first wording stands for all.
    """
    said: dict[str, list[str]] = {}
    for variable in ("outcome", "caveats"):
        for name, table in parts.items():
            if variable not in table:
                continue
            for words in map(str, np.ravel(table[variable].values)):
                if words and (variable == "caveats" or words.startswith(FAILED)):
                    sentence = f"{name}: {_by_seed(words, table)}"
                    said.setdefault(NUMBER.sub("#", sentence), []).append(sentence)
    return [_counted(alike) for alike in said.values()]


def _by_seed(words: str, table: Any) -> str:
    """A caveat that lists what single seeds say, with a count of those that say the same in its place."""
    first, *listed = SEED.split(words)
    if not listed:
        return words
    said: dict[str, list[str]] = {}
    for sentence in listed:
        said.setdefault(NUMBER.sub("#", sentence), []).append(sentence.strip())
    counts = [f"{len(alike)} of {table.attrs['seeds']} seeds: {alike[0]}" for alike in said.values()]
    return " ".join([first.strip(), *counts]).strip()


def _counted(alike: list[str]) -> str:
    if len(alike) == 1:
        return alike[0]
    return f"{alike[0]} ({len(alike)} cells{', with other numbers' if len(set(alike)) > 1 else ''})"


def print_caveats(figure: Figure, parts: Parts, *, most: int = 3) -> None:
    """Write the caveats under the picture, the first few in full."""
    said = caveats(parts)
    if not said:
        return
    shown = said[:most] + ([f"... and {len(said) - most} more"] if len(said) > most else [])
    width = int(figure.get_figwidth() * 23)
    text = "\n".join(textwrap.fill(f"caveat: {words}", width, subsequent_indent="   ") for words in shown)
    figure.supxlabel(text, fontsize=5.5, color=GREY, x=0.01, ha="left")


def legend_above(axis: Any, *, columns: int = 2, **options: Any) -> None:
    """A legend over the panel, where it hides nothing."""
    place: Any = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": columns, "columnspacing": 1.2}
    axis.legend(**place, **options)
