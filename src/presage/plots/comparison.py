"""Theory and training, observable by observable: means against the dimension, the line through them, the prediction."""

from __future__ import annotations

from math import isfinite, isnan
from typing import Any

import numpy as np

from presage.plots.colours import BLACK, BLUE, GREEN, ORANGE
from presage.plots.curves import FLAT, ROUNDING
from presage.plots.panel import Panel
from presage.protocol.comparison_row import Row
from presage.protocol.extrapolation import over

ERRORS = 2.0  # standard errors that a bar stands for


def row_panel(row: Row, label: str) -> Panel:
    """Trained networks at each d, what is left of them as d grows, and the prediction; z in the title."""

    def draw(axes: Any) -> None:
        _predicted(axes, row)
        inverse = 1.0 / np.array(row.d, dtype=np.float64) ** row.correction
        bars = {"color": BLACK, "capsize": 2.0, "elinewidth": 1.0, "linestyle": "none"}
        errors = ERRORS * np.nan_to_num(row.standard_error)
        axes.errorbar(inverse, row.mean, errors, marker="o", label="trained", **bars)
        if len(row.d) > 1:
            x = np.array([0.0, inverse.max()])
            axes.plot(
                x,
                row.a + row.b * x,
                color=BLACK,
                linestyle=":",
                linewidth=1.0,
                label=f"a + b{over(row.correction)[1:]}",
            )
            limit = {**bars, "color": ORANGE, "label": "their limit a"}
            axes.errorbar([0.0], [row.a], [ERRORS * row.a_error], marker="s", markerfacecolor="white", **limit)
        ticks = {0.0: "∞"} if len(row.d) > 1 else {}
        ticks |= {float(at): str(d) for at, d in zip(inverse, row.d, strict=True)}
        axes.set_xticks(list(ticks), list(ticks.values()))
        ends = (-0.08, 1.12) if len(row.d) > 1 else (0.5, 1.5)
        axes.set_xlim(ends[0] * inverse.max(), ends[1] * inverse.max())
        axes.set(xlabel="dimension d", ylabel=label)
        axes.set_title(_verdict(row), color=BLACK if isnan(row.z) else GREEN if row.agrees else ORANGE)
        axes.margins(y=0.15)
        low, high = axes.get_ylim()
        if high - low < ROUNDING * max(abs(low), abs(high)):  # all that differs is rounding
            axes.set_ylim(row.prediction - FLAT * abs(row.prediction), row.prediction + FLAT * abs(row.prediction))

    return Panel(row.name, draw, 4.8, 3.2)


def _predicted(axes: Any, row: Row) -> None:
    axes.axhline(row.prediction, color=BLUE, linewidth=1.3, label="predicted")
    if isfinite(row.error_bar):
        low, high = row.prediction - row.error_bar, row.prediction + row.error_bar
        axes.axhspan(low, high, color=BLUE, alpha=0.2, linewidth=0)


def _verdict(row: Row) -> str:
    if isnan(row.z):
        return "no error bar to compare by"
    return f"z = {row.z:+.1f}: {'they agree' if row.agrees else 'they differ'}"
