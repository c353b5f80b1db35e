"""The numbers of a result as bars, each with its value and error bar in words."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from presage.plots.colours import BLACK, BLUE
from presage.plots.panel import Panel
from presage.plots.scales import set_logarithmic, spans_decades
from presage.protocol.numbers import Measured, plus_minus


class Value(NamedTuple):
    """A number, its label and how far it may be off."""

    label: str
    value: float
    bar: float  # nan where it has none

    @property
    def words(self) -> str:
        """The number and its bar."""
        return plus_minus(Measured(self.value, self.bar))


def values_panel(values: Sequence[Value], title: str = "") -> Panel:
    """One bar a number; by their logarithms where they are of very different size."""

    def draw(axes: Any) -> None:
        known = [one.value if isfinite(one.value) else 0.0 for one in values]
        places = np.arange(len(values))[::-1]
        finite = [one.value for one in values if isfinite(one.value)]
        logarithmic = spans_decades(finite) and len(finite) == len(values)
        left = 0.5 * min(finite) if logarithmic else 0.0
        axes.barh(places, np.array(known) - left, left=left, height=0.55, color=BLUE, alpha=0.45)
        bars = [one.bar if isfinite(one.bar) else 0.0 for one in values]
        axes.errorbar(known, places, xerr=bars, fmt=".", color=BLACK, elinewidth=1.0, capsize=2.0, markersize=3.0)
        if logarithmic:
            set_logarithmic(axes, "x")
        for place, one in zip(places, values, strict=True):
            axes.annotate(
                one.words, (1.02, place), xycoords=("axes fraction", "data"), va="center", ha="left", fontsize="small"
            )
        axes.set_yticks(places, [one.label for one in values])
        axes.set(ylim=(-0.6, len(values) - 0.4), title=title)
        axes.margins(x=0.02)
        axes.grid(visible=False, axis="y")

    return Panel("values", draw, 5.8, 0.9 + 0.38 * max(len(values), 2))
