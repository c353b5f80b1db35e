"""What `--plot` draws: curves, spectra, trained networks and sweeps, labelled by the declarations."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Iterable, Sequence
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from presage.cli.errors import CommandError
from presage.cli.numbers import Measured
from presage.cli.options import Given
from presage.cli.sweep import place
from presage.figures.style import (
    BLACK,
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    ORANGE,
    canvas,
    dots,
    key,
    line,
    print_caveats,
    style,
)
from presage.protocol.largest_by_rank import largest_by_rank
from presage.protocol.observables import Observable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Band = list[tuple[float, float]]
FEWEST, MOST = 8, 40  # bins
MOST_PANELS = 4
MOST_CURVES = len(COLOURS)  # more cannot be told apart
STYLES = (":", "--", "-.", (0, (1, 3)))  # of thresholds, in their order


def _caption(figure: Any, title: str, width: int = 88, size: int = 9) -> None:
    """A title broken into lines that fit."""
    figure.suptitle("\n".join(textwrap.wrap(title, width)), fontsize=size)


def curve(
    given: Given,
    name: str,
    rows: list[dict[str, Any]],
    shown: Sequence[Observable],
    marks: Iterable[tuple[Observable, float]],
) -> Figure:
    """One panel an observable: a line with its error band, the best of all methods, and the thresholds."""
    figure, panels = canvas(1, len(shown), width=4.2 * len(shown) + 0.6, height=3.9, squeeze=False)
    thresholds = list(zip(marks, itertools.cycle(STYLES), strict=False))
    for index, (axis, observable) in enumerate(zip(panels[0], shown, strict=True)):
        _line(axis, name, observable.name, rows, (BLUE, ORANGE, GREEN, BLACK)[index % 4], "predicted", "-")
        _line(axis, name, f"bayes_{observable.name}", rows, GREY, "best of all methods", "--")
        for (threshold, at), dashes in thresholds:
            axis.axvline(at, color=GREY, linestyle=dashes, linewidth=1, label=threshold.axis)
        axis.set(xlabel=given.axis(name), ylabel=observable.axis)
        if given.is_logarithmic(name):
            axis.set_xscale("log")
        axis.grid(alpha=0.3)
        if observable.fraction:
            axis.set_ylim(0.0, 1.02)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(frameon=False, fontsize=8)
    _caption(figure, given.title(), 22 + 50 * len(shown))
    return figure


def _line(
    axis: Any, name: str, observable: str, rows: list[dict[str, Any]], colour: str, label: str, dashes: str
) -> None:
    known = [(row[name], row[observable]) for row in rows if isinstance(row.get(observable), Measured | float)]
    pairs = [(x, y if isinstance(y, Measured) else Measured(y, 0.0)) for x, y in known]
    points = [(x, number) for x, number in pairs if isfinite(number.value)]
    if not points:
        return
    x, value, bar = (np.array(column) for column in zip(*((x, *number) for x, number in points), strict=True))
    marker = "o" if len(points) < 12 else None
    axis.plot(x, value, color=colour, linestyle=dashes, marker=marker, markersize=3, label=label)
    finite = np.isfinite(bar)
    axis.fill_between(x[finite], (value - bar)[finite], (value + bar)[finite], color=colour, alpha=0.25, linewidth=0)


def density_bands(law: Any, bulks: Sequence[dict[str, float]], points: int) -> list[Band]:
    """The density inside every bulk, closer together at the edges, where it rises like a root."""
    found = []
    for bulk in bulks:
        left, right = bulk["left"], bulk["right"]
        x = 0.5 * (left + right) - 0.5 * (right - left) * np.cos(np.pi * (np.arange(points) + 0.5) / points)
        found.append([(float(at), float(height)) for at, height in zip(x, law.density(x), strict=True)])
    return found


def spectrum(given: Given, kind: str, bands: list[Band], zero: float, outliers: list[float]) -> Figure:
    """The density of what is not zero, with outliers as strokes and the fraction of zeros in words."""
    figure, axis = canvas(width=6.4, height=4.0)
    _shade(axis, bands)
    top = axis.get_ylim()[1]
    for index, at in enumerate(outliers):
        label = f"{len(outliers)} outlier{'s' if len(outliers) > 1 else ''}" if index == 0 else None
        axis.plot([at, at], [0.0, 0.25 * top], color=ORANGE, linewidth=1, label=label)
    axis.plot([], [], " ", label=f"zero: {100 * zero:.3g} %")
    edges = np.array([*(x for band in bands for x, _ in band), *outliers, 0.0])
    axis.set_xlim(min(0.0, 1.05 * edges.min()), 1.05 * edges.max() or 1.0)
    axis.set(xlabel=kind.removesuffix("s"), ylabel="density", ylim=(0.0, top))
    axis.axvline(0.0, color=BLACK, linewidth=0.8)
    axis.legend(frameon=False)
    axis.grid(alpha=0.3)
    _caption(figure, given.title())
    return figure


def _shade(axis: Any, bands: list[Band]) -> None:
    """Fill the area under a density, band by band."""
    for index, band in enumerate(bands):
        x, height = np.array(band).T
        axis.fill_between(x, height, color=BLUE, alpha=0.3, linewidth=0)
        axis.plot(x, height, color=BLUE, linewidth=1.2, label="predicted" if index == 0 else None)


def networks(given: Given, ensembles: Sequence[Any], prediction: Any, bulks: Sequence[dict[str, float]]) -> Figure:
    """Trained networks beside the prediction, where there is one: their spectra, or else their observables."""
    if ensembles[0].arrays:
        return _histogram(given, ensembles, prediction, bulks)
    return _by_dimension(given, ensembles, prediction)


def _histogram(given: Given, ensembles: Sequence[Any], prediction: Any, bulks: Sequence[dict[str, float]]) -> Figure:
    """Histograms of what is not zero, one a dimension, over the predicted density."""
    figure, axis = canvas(width=6.4, height=4.0)
    if bulks:
        _shade(axis, density_bands(prediction.spectrum, bulks, 400))
    kind = ensembles[0].arrays[0]
    fraction = next((o.name for o in ensembles[0].observables if o.fraction), None)  # of the values that are not zero
    nonzero = [_not_zero(ensemble, kind, fraction) for ensemble in ensembles]
    together = np.concatenate(nonzero)
    bins = np.histogram_bin_edges(together, int(np.clip(np.sqrt(together.size), FEWEST, MOST)))
    for ensemble, values, colour in zip(ensembles, nonzero, (BLACK, ORANGE, GREEN) * len(ensembles), strict=False):
        counts, _ = np.histogram(values, bins)
        whole = max(ensemble.values(kind).size, 1)
        zero = f"; zero: {100 * (1 - values.size / whole):.3g} %" if fraction else ""
        axis.stairs(counts / (whole * np.diff(bins)), bins, color=colour, label=f"trained, d = {ensemble.d}{zero}")
    if fraction and hasattr(prediction, fraction):
        axis.plot([], [], " ", label=f"zero, predicted: {100 * (1 - getattr(prediction, fraction)):.3g} %")
    axis.set(xlabel=kind.replace("_", " "), ylabel="density", ylim=(0.0, None))
    axis.legend(frameon=False, fontsize=8)
    axis.grid(alpha=0.3)
    _caption(figure, given.title())
    return figure


def _not_zero(ensemble: Any, kind: str, fraction: str | None) -> Any:
    """The values of each network that are not zero, as many as it says; all where it says nothing."""
    rows = ensemble.values(kind)
    fractions = ensemble.values(fraction) if fraction else np.ones(len(rows))
    found = [largest_by_rank(row, part) for row, part in zip(rows, fractions, strict=True)]
    return np.concatenate([np.zeros(0), *found])


def _by_dimension(given: Given, ensembles: Sequence[Any], prediction: Any) -> Figure:
    """One panel an observable: every network at its dimension, and the prediction as a line."""
    shown = ensembles[0].measured[:MOST_PANELS]
    figure, panels = canvas(1, len(shown), width=3.2 * len(shown) + 0.6, height=3.6, squeeze=False)
    for axis, observable in zip(panels[0], shown, strict=True):
        for ensemble in ensembles:
            values = ensemble.values(observable.name)
            axis.plot(np.full(len(values), ensemble.d), values, "o", color=BLACK, markersize=3, alpha=0.6)
        axis.plot([], [], "o", color=BLACK, markersize=3, label="trained")
        if hasattr(prediction, observable.name):
            axis.axhline(float(getattr(prediction, observable.name)), color=BLUE, linewidth=1.2, label="predicted")
        axis.set(xlabel="d", ylabel=observable.axis, xticks=sorted({ensemble.d for ensemble in ensembles}))
        axis.margins(x=0.3)
        axis.legend(frameon=False, fontsize=8)
        axis.grid(alpha=0.3)
    _caption(figure, given.title(), 22 + 38 * len(shown))
    return figure


def check_curves(options: dict[str, Any]) -> None:
    """Refuse what could not be drawn of a sweep, before anything is computed."""
    axes = {name: value for name, value in options.items() if isinstance(value, list)}
    along = _along(axes)
    curves = prod(len(values) for name, values in axes.items() if name != along)
    if curves > MOST_CURVES:
        raise CommandError(
            f"`--plot` draws at most {MOST_CURVES} curves along {along}: more cannot be told apart. Got {curves}. "
            "Use shorter grids, or --csv."
        )


def sweep(title: str, found: Any, shown: Sequence[Observable], given: Given) -> Figure:
    """One panel an observable; lines are predictions with their error bands, dots are trained networks."""
    axes = {str(name): found[name].values.tolist() for name in found.dims if name in found.coords}
    along = _along(axes)
    others = {name: values for name, values in axes.items() if name != along}
    observables = [one for one in shown if one.name in found and found[one.name].notnull().any()][:MOST_PANELS]
    trained = "n_seeds" in found
    with style():
        figure, panels = canvas(1, len(observables), width=2.9 * len(observables) + 0.6, height=3.1, squeeze=False)
        handles = []
        for number, values in enumerate(itertools.product(*others.values())):
            at = dict(zip(others, values, strict=True))
            for axis, observable in zip(panels[0], observables, strict=True):
                mark = {} if trained or len(axes[along]) > 11 else {"marker": "o"}
                (dots if trained else line)(axis, found.sel(at), along, observable.name, number=number, **mark)
            words = ", ".join(f"{name.replace('_', ' ')} {place(value)}" for name, value in at.items())
            handles.append(key(number, words, **({"linestyle": "none"} if trained else {"marker": ""})))
        for axis, observable in zip(panels[0], observables, strict=True):
            axis.set(xlabel=given.axis(along), ylabel=observable.axis)
            if along in given.grids() and given.is_logarithmic(along):
                axis.set_xscale("log")
        if others:
            panels[0][0].legend(handles=handles)
        _caption(figure, title, 22 + 40 * len(observables), size=8)
        print_caveats(figure, {"sweep": found})
    return figure


def _along(axes: dict[str, list[Any]]) -> str:
    """The longest grid of numbers."""
    numbers = {name: values for name, values in axes.items() if all(isinstance(value, int | float) for value in values)}
    return max(numbers, key=lambda name: len(numbers[name]))
