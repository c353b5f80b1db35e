"""The picture of a curve: lines with error bands, the Bayes curve, and the thresholds."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

import presage as ps
from presage.cli.digits import Measured
from presage.cli.pictures import caption
from presage.cli.problem_options import Given
from presage.cli.thresholds import values as threshold_values
from presage.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, canvas

LABELS = {
    "test_error": "test error",
    "train_loss": "training loss / d²",
    "train_error": "training error",
    "estimation_error": "estimation error",
    "rank": "rank / d",
    "replicon": "replicon",
}
AXES = {
    "alpha": "samples  $\\alpha = n/d^2$",
    "weight_decay": "weight decay",
    "n_tokens": "tokens",
    "kappa": "width of the student  $m/d$",
}
MARKS = {
    "interpolation": ("interpolation", ":"),
    "perfect_recovery": ("recovery", "--"),
    "strong_recovery": ("recovery (best method)", "-."),
    "bayes_recovery": ("recovery (best method)", "-."),
    "minimal_nuclear_norm": ("recovery", "--"),
}
COLOURS = (BLUE, ORANGE, GREEN, BLACK)


def draw(given: Given, name: str, rows: list[dict[str, Any]], shown: list[str]) -> Any:
    """One panel an observable."""
    figure, panels = canvas(1, len(shown), width=4.2 * len(shown) + 0.6, height=3.9, squeeze=False)
    marks = _marks(given, name, [row[name] for row in rows])
    for index, (axis, observable) in enumerate(zip(panels[0], shown, strict=True)):
        _line(axis, name, observable, rows, COLOURS[index % len(COLOURS)], "predicted", "-")
        _line(axis, name, f"bayes_{observable}", rows, GREY, "best of all methods", "--")
        for label, style, at in marks:
            axis.axvline(at, color=GREY, linestyle=style, linewidth=1, label=label)
        axis.set(xlabel=AXES.get(name, name.replace("_", " ")), ylabel=LABELS[observable])
        if given.is_logarithmic(name):
            axis.set_xscale("log")
        axis.grid(alpha=0.3)
        if observable == "rank":
            axis.set_ylim(0.0, 1.02)
        axis.legend(frameon=False, fontsize=8)
    figure.suptitle(caption(given.title(), 22 + 50 * len(shown)), fontsize=9)
    return figure


def _line(
    axis: Any, name: str, observable: str, rows: list[dict[str, Any]], colour: str, label: str, style: str
) -> None:
    points = [(row[name], row[observable]) for row in rows if isinstance(row.get(observable), Measured)]
    points = [(x, number) for x, number in points if isfinite(number.value)]
    if not points:
        return
    x, value, bar = (np.array(column) for column in zip(*((x, *number) for x, number in points), strict=True))
    marker = "o" if len(points) < 12 else None
    axis.plot(x, value, color=colour, linestyle=style, marker=marker, markersize=3, label=label)
    finite = np.isfinite(bar)
    axis.fill_between(x[finite], (value - bar)[finite], (value + bar)[finite], color=colour, alpha=0.25, linewidth=0)


def _marks(given: Given, name: str, values: list[float]) -> list[tuple[str, str, float]]:
    """Thresholds within the picture, where they are known; recovery is that of clean labels."""
    if name != "alpha":
        return []
    problem = given.problem(alpha=values[0])
    try:
        found = threshold_values(ps.thresholds(problem))
    except ValueError:  # a channel whose thresholds are not known
        return []
    low, high = min(values), max(values)
    known = [(*MARKS[threshold], at) for threshold, at in found.items() if threshold in MARKS and low <= at <= high]
    return [mark for mark in known if mark[0] == "interpolation" or problem.noise == 0.0]
