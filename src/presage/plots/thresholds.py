"""Thresholds as marks along the number of samples."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from math import isfinite
from typing import Any

import numpy as np

from presage.plots.colours import BLACK, BLUE, GREY, ORANGE
from presage.plots.panel import Panel
from presage.plots.scales import is_logarithmic, set_logarithmic
from presage.protocol.fields import Number, declarations
from presage.protocol.observables import Observable

ALONG = "alpha"  # what a threshold is a number of
WIDTH = 30  # letters of a line beside the picture
FAR = 4.0  # how many times beyond the marks the problem's own number of samples is still drawn


def thresholds_panel(found: Any, shown: Sequence[Observable]) -> Panel:
    """One row a threshold: what happens there in words, a mark, and the number."""

    def draw(axes: Any) -> None:
        values = {one.name: float(getattr(found, one.name)) for one in shown}
        finite = [value for value in values.values() if isfinite(value)]
        problem = getattr(found, "problem", None)
        noisy = getattr(problem, "noise", 0.0) > 0.0
        for row, one in enumerate(reversed(shown)):
            _mark(axes, row, values[one.name], clean=noisy and one.clean_only)
        field = declarations(problem).get(ALONG) if problem is not None else None
        number = field if isinstance(field, Number) else None
        axes.set_yticks(range(len(shown)), [textwrap.fill(one.words, WIDTH) for one in reversed(shown)])
        here = _own(axes, problem, finite)
        if is_logarithmic([*finite, *here], "linear" if number is None else number.scale):
            low, high = min(*finite, *here), max(*finite, *here)
            axes.set_xlim(low / 1.6, high * 1.6)
            set_logarithmic(axes, "x")
        else:
            axes.set_xlim(0.0, 1.3 * max([*finite, *here, 0.0]) or 1.0)
        axes.set(ylim=(-0.6, len(shown) - 0.4), xlabel=ALONG if number is None else number.axis(ALONG))
        axes.grid(visible=False, axis="y")

    return Panel("thresholds", draw, 6.4, 1.1 + 0.5 * max(len(shown), 2))


def _mark(axes: Any, row: int, value: float, *, clean: bool) -> None:
    words = f"{value:.4g}" if isfinite(value) else "not known" if np.isnan(value) else f"no {ALONG}"
    if isfinite(value):
        axes.hlines(row, 0.0, value, color=GREY, linewidth=0.7, alpha=0.5)
        axes.plot([value], [row], "D", color=BLUE, markerfacecolor="white" if clean else BLUE)
    place = (1.02, row)
    axes.annotate(
        words + (" (clean labels)" if clean else ""),
        place,
        xycoords=("axes fraction", "data"),
        va="center",
        ha="left",
        fontsize="small",
        color=BLACK if isfinite(value) else GREY,
    )


def _own(axes: Any, problem: Any, finite: Sequence[float]) -> list[float]:
    """The number of samples of the problem itself as a line, where it is near the marks."""
    at = getattr(problem, ALONG, None)
    if not isinstance(at, float) or not finite or not min(finite) / FAR <= at <= FAR * max(finite):
        return []
    axes.axvline(at, color=ORANGE, linestyle="--", linewidth=1.0, label=f"this problem, {ALONG} = {at:g}")
    return [at]
