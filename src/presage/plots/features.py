"""Features of a target one by one: what is learned along each and its error, predicted and of networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from presage.plots.colours import BLACK, BLUE, GREY
from presage.plots.panel import Panel
from presage.plots.scales import is_logarithmic, set_logarithmic
from presage.protocol.feature_comparison import FeatureComparison
from presage.protocol.feature_table import FeatureTable

LEARNED, ERROR = "F", "e"
WORDS = {LEARNED: "learned along the feature, F", ERROR: "error of the feature, e"}
ERRORS = 2.0  # standard errors that a bar stands for
LONG = 12  # features from which on the axis is one of logarithms


def feature_panels(table: FeatureTable) -> list[Panel]:
    """What is learned along each feature beside its eigenvalue, and its error beside what is lost without it."""

    def draw(name: str) -> Any:
        def drawn(axes: Any) -> None:
            value, whole = table.column(name), table.s if name == LEARNED else table.s**2
            axes.plot(
                table.i, whole, color=GREY, linewidth=1.0, label="eigenvalue" if name == LEARNED else "its square"
            )
            kept = table.learned
            axes.plot(table.i[kept], value[kept], "o", color=BLUE, markersize=3.0, label="learned")
            open_dots = {"color": BLUE, "markerfacecolor": "white", "markersize": 3.0}
            axes.plot(table.i[~kept], value[~kept], "o", label="not learned", **open_dots)
            _scales(axes, table.i, [value, whole])
            axes.set(xlabel="feature, the largest first", ylabel=WORDS[name])

        return drawn

    return [Panel(name, draw(name), 5.0, 3.5) for name in WORDS]


def compared_panels(found: FeatureComparison) -> list[Panel]:
    """One panel a number of the features: the prediction as a line, the networks as dots with two standard errors."""

    def draw(name: str) -> Any:
        def drawn(axes: Any) -> None:
            predicted, mean = found.column(f"{name}_predicted"), found.column(f"{name}_trained")
            bars = ERRORS * found.column(f"{name}_error")
            axes.plot(found.i, predicted, color=BLUE, label="predicted", zorder=3)
            dots = {"linestyle": "none", "marker": "o", "markersize": 3.0, "color": BLACK, "elinewidth": 0.8}
            axes.errorbar(found.i, mean, bars, label=f"{found.networks} networks of d = {found.d}", **dots)
            _scales(axes, found.i, [predicted, mean])
            axes.set(xlabel="feature, the largest first", ylabel=WORDS.get(name, name))

        return drawn

    return [Panel(name, draw(name), 5.0, 3.5) for name in found.names]


def _scales(axes: Any, i: Any, values: Sequence[Any]) -> None:
    if len(i) > LONG:
        set_logarithmic(axes, "x")
    if is_logarithmic(np.concatenate(list(values)), "logarithmic"):
        set_logarithmic(axes, "y")
