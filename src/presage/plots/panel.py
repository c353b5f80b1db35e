"""Panels of a picture, and how they are laid out: on a new figure, or on axes that are given."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from presage.protocol import checks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COLUMNS = 3
LETTERS = 15.0  # of a legend or a title to the inch
TITLE = 9.0  # points


@final
@dataclass(frozen=True)
class Panel:
    """One part of a picture: its name, what draws it into axes, and how large it likes to be, in inches."""

    name: str
    draw: Callable[[Any], None]
    width: float = 5.4
    height: float = 3.6


@contextmanager
def look() -> Iterator[None]:
    """Draw inside this block: small letters, a faint grid, nothing that stays set afterwards."""
    import matplotlib as mpl

    settings: Any = {
        "font.size": 9.0,
        "axes.labelsize": 9.0,
        "axes.titlesize": 9.0,
        "legend.fontsize": 8.0,
        "xtick.labelsize": 8.0,
        "ytick.labelsize": 8.0,
        "lines.linewidth": 1.3,
        "lines.markersize": 4.0,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.alpha": 0.25,
        "grid.linewidth": 0.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.hashsalt": "presage",  # the same picture gives the same file
    }
    with mpl.rc_context(settings):
        yield


def size(panels: Sequence[Panel]) -> tuple[int, int, float, float]:
    """Rows, columns, width and height of a figure for these panels."""
    count = len(panels)
    columns = 2 if count == 4 else min(count, MOST_COLUMNS)
    rows = -(-count // columns)
    shrunk = 1.0 if columns == 1 else 0.72
    width = shrunk * columns * max(panel.width for panel in panels)
    height = (1.0 if rows == 1 else 0.85) * rows * max(panel.height for panel in panels)
    return rows, columns, width, height


def drawn_on(figure: Figure, panels: Sequence[Panel]) -> Any:
    """The panels on an empty figure; its axes, in the order of the panels."""
    rows, columns, _, _ = size(panels)
    every = figure.subplots(rows, columns, squeeze=False).ravel()
    for left_over in every[len(panels) :]:
        left_over.remove()
    axes = every[: len(panels)]
    for one, panel in zip(axes, panels, strict=True):
        panel.draw(one)
    _explain(figure, axes)
    return axes


def drawn_into(axes: Sequence[Any], panels: Sequence[Panel]) -> None:
    """The panels on axes that are given, each with its own legend."""
    for one, panel in zip(axes, panels, strict=True):
        panel.draw(one)
        if one.get_legend_handles_labels()[0]:
            one.legend(frameon=False, fontsize="small")


def picture(panels: Sequence[Panel], title: str = "", caveats: Sequence[str] = ()) -> Figure:
    """The panels on a figure that no window system knows, under a title, over the caveats."""
    from matplotlib.figure import Figure

    with look():
        _, _, width, height = size(panels)
        figure = Figure(figsize=(width, height), layout="constrained")
        drawn_on(figure, panels)
        if title:
            figure.suptitle("\n".join(textwrap.wrap(title, int(width * LETTERS))), fontsize=TITLE)
        if caveats:
            lines = [textwrap.fill(f"caveat: {line}", int(width * 20), subsequent_indent="   ") for line in caveats]
            figure.supxlabel("\n".join(lines), fontsize=6.0, color="0.35", x=0.01, ha="left")
    return figure


def _explain(figure: Figure, axes: Any) -> None:
    """Legends where they hide nothing: one below for all panels that say the same, else one above each panel."""
    width = figure.get_figwidth() / len({axis.get_subplotspec().colspan.start for axis in axes})
    told = [_entries(axis, int(0.85 * width * LETTERS)) for axis in axes]
    counts = Counter(tuple(words) for _, words in told if words)
    if not counts:
        return
    common, times = counts.most_common(1)[0]
    if times > 1:
        handles = next(handles for handles, words in told if tuple(words) == common)
        columns = _columns(common, figure.get_figwidth() * LETTERS)
        figure.legend(handles, common, loc="outside lower center", ncols=columns, frameon=False)
    for axis, (handles, words) in zip(axes, told, strict=True):
        if words and (times == 1 or tuple(words) != common):
            above = (0.0, 1.08 if axis.get_title() else 1.0)
            columns = _columns(words, 0.85 * width * LETTERS)
            axis.legend(handles, words, loc="lower left", bbox_to_anchor=above, ncols=columns, frameon=False)


def _entries(axes: Any, room: int) -> tuple[list[Any], list[str]]:
    """Entries of a legend, their words broken into lines that fit."""
    handles, words = axes.get_legend_handles_labels()
    return handles, [textwrap.fill(label, room - 6) for label in words]


def _columns(words: Sequence[str], room: float) -> int:
    """How many entries of a legend stand side by side."""
    longest = max(len(line) for label in words for line in label.splitlines())
    return int(np.clip(room // (longest + 6), 1, len(words)))


def given_axes(ax: Any, panels: Sequence[Panel]) -> list[Any]:
    """The axes that were given, as many as there are panels; complain about another number and about other things."""
    axes = list(np.ravel(ax))
    names = ", ".join(panel.name for panel in panels)
    if not all(hasattr(one, "plot") and hasattr(one, "get_legend_handles_labels") for one in axes):
        remedy = "Use for example <ax=plt.gca()>, or leave it out."
        raise checks.complaint("ax", "be matplotlib axes", "that is where a picture is drawn", ax, remedy)
    if len(axes) != len(panels):
        must = "be one axes" if len(panels) == 1 else f"be {len(panels)} axes"
        remedy = "Leave it out." if len(panels) == 1 else f'Use <show="{panels[0].name}"> for one, or leave it out.'
        raise checks.complaint("ax", must, f"this picture has the panels {names}", len(axes), remedy)
    return axes
