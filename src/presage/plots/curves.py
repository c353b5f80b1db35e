"""Curves along a number: predictions as lines with error bands, trained networks as dots with bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from presage.plots.colours import BLACK, COLOURS, GREY, LINES, MARKERS
from presage.plots.panel import Panel
from presage.plots.scales import set_logarithmic, spans_decades
from presage.protocol.ensemble import Floats

FEW = 12  # points below which each is marked
FLAT = 0.05  # height of the picture of a constant, relative, on each side of it
ROUNDING = 1e-6
STYLES = (":", "--", "-.", (0, (1, 3)))  # of marks, in their order


@final
@dataclass(frozen=True)
class Curve:
    """Numbers along an axis, each with an error bar (nan where it has none); gaps where a point failed."""

    x: Floats
    value: Floats
    bar: Floats
    label: str = ""
    trained: bool = False  # dots with two standard errors; else a line with its band
    colour: str = ""
    dashes: Any = ""


@final
@dataclass(frozen=True)
class Ruler:
    """The axis along which curves are drawn: its label, and whether it is logarithmic."""

    label: str
    logarithmic: bool = False


def curves_panel(
    name: str,
    curves: Sequence[Curve],
    along: Ruler,
    label: str,
    *,
    fraction: bool = False,
    marks: Sequence[tuple[str, float]] = (),
    kinds: Sequence[str] = (),
) -> Panel:
    """All curves of one observable, and vertical lines at marks such as thresholds; kinds by their names."""

    def draw(axes: Any) -> None:
        for number, curve in enumerate(curves):
            (_dots if curve.trained else _line)(axes, curve, number)
        for number, (words, at) in enumerate(marks):
            style = STYLES[number % len(STYLES)]
            axes.axvline(at, color=GREY, linestyle=style, linewidth=1.0, label=words)
        axes.set(xlabel=along.label, ylabel=label)
        if along.logarithmic:
            set_logarithmic(axes, "x")
        if kinds:
            axes.set_yticks(range(len(kinds)), list(kinds))
        elif fraction:
            axes.set_ylim(0.0, 1.02)
        elif curves and _is_flat(axes):
            middle = sum(axes.get_ylim()) / 2.0
            axes.set_ylim(middle - FLAT * (abs(middle) or 1.0), middle + FLAT * (abs(middle) or 1.0))
        elif curves and spans_decades(np.concatenate([curve.value for curve in curves])):
            set_logarithmic(axes, "y")

    return Panel(name, draw, 5.2, 3.5)


def _is_flat(axes: Any) -> bool:
    """Whether all that differs is rounding, which an axis would show as mountains."""
    low, high = axes.get_ylim()
    return bool(high - low < ROUNDING * max(abs(low), abs(high)))


def _line(axes: Any, curve: Curve, number: int) -> None:
    colour = curve.colour or COLOURS[number % len(COLOURS)]
    marker = "o" if np.isfinite(curve.value).sum() < FEW else ""
    dashes = curve.dashes or LINES[number % len(LINES)]
    axes.plot(curve.x, curve.value, color=colour, linestyle=dashes, marker=marker, label=curve.label or None)
    bar = np.where(np.isfinite(curve.bar), curve.bar, 0.0)
    axes.fill_between(curve.x, curve.value - bar, curve.value + bar, color=colour, alpha=0.25, linewidth=0)


def _dots(axes: Any, curve: Curve, number: int) -> None:
    axes.errorbar(
        curve.x,
        curve.value,
        2.0 * np.where(np.isfinite(curve.bar), curve.bar, 0.0),
        linestyle="none",
        color=curve.colour or COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        markeredgecolor=BLACK,
        markeredgewidth=0.4,
        capsize=1.5,
        elinewidth=0.8,
        zorder=3,
        label=curve.label or None,
    )
