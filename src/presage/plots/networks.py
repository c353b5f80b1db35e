"""Trained networks: a histogram of what they learned, or their observables, seed by seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from presage.plots.colours import BLACK, BLUE, GREEN, ORANGE, SKY
from presage.plots.learned import Learned
from presage.plots.panel import Panel
from presage.plots.spectrum import ceiling, one_of, percent, shade
from presage.protocol.ensemble import Floats
from presage.protocol.largest_by_rank import largest_by_rank
from presage.protocol.observables import Observable

FEWEST, MOST = 8, 40  # bins
STEPS = (BLACK, ORANGE, GREEN, SKY)


class Histogram(NamedTuple):
    """What networks of one dimension learned: densities between edges, and the part that is zero where it is known."""

    edges: Floats
    heights: Floats
    zero: float | None


def histogram(ensemble: Any, edges: Floats | None = None) -> Histogram:
    """The histogram of what is not zero; its area is the part of all that is not zero."""
    kind = ensemble.arrays[0]
    values = _not_zero(ensemble, kind)
    edges = _edges(values) if edges is None else edges
    counts, _ = np.histogram(values, edges)
    whole = max(ensemble.values(kind).size, 1)
    zero = None if _fraction(ensemble) is None else 1.0 - values.size / whole
    return Histogram(edges, counts / (whole * np.diff(edges)), zero)


def histogram_panel(ensembles: Sequence[Any], learned: Learned | None = None) -> Panel:
    """Histograms of what is not zero, one a dimension, over the predicted density where there is one."""
    kind = ensembles[0].arrays[0]

    def draw(axes: Any) -> None:
        if learned is not None:
            shade(axes, learned, f"predicted (zero: {percent(learned.zero)})")
        edges = _edges(np.concatenate([_not_zero(ensemble, kind) for ensemble in ensembles]))
        top = 0.0 if learned is None else ceiling([learned])
        for index, ensemble in enumerate(ensembles):
            found = histogram(ensemble, edges)
            zero = "" if found.zero is None else f" (zero: {percent(found.zero)})"
            label = f"trained, d = {ensemble.d}{zero}"
            axes.stairs(found.heights, edges, color=STEPS[index % len(STEPS)], linewidth=1.2, label=label)
            top = max(top, 1.08 * float(found.heights.max(initial=0.0)))
        axes.set(xlabel=one_of(kind.replace("_", " ")), ylabel="density", ylim=(0.0, top or 1.0))

    return Panel("spectrum", draw, 5.8, 3.6)


def _edges(values: Floats) -> Floats:
    return np.histogram_bin_edges(values, int(np.clip(np.sqrt(values.size), FEWEST, MOST)))


def _fraction(ensemble: Any) -> str | None:
    """The observable that says how many of the values are not zero, where these networks have one."""
    return next((one.name for one in ensemble.measured if one.fraction), None)


def _not_zero(ensemble: Any, kind: str) -> Floats:
    """The values of each network that are not zero, as many as it says; all where it says nothing."""
    rows, fraction = ensemble.values(kind), _fraction(ensemble)
    fractions = ensemble.values(fraction) if fraction else np.ones(len(rows))
    found = [largest_by_rank(row, part) for row, part in zip(rows, fractions, strict=True)]
    return np.concatenate([np.zeros(0), *found])


def seeds_panel(ensemble: Any, observable: Observable) -> Panel:
    """Every network as a dot, their mean as a line with two standard errors."""

    def draw(axes: Any) -> None:
        values = ensemble.values(observable.name)
        done = [seed for seed in ensemble.seeds if seed not in ensemble.failures]
        mean, error = ensemble.mean(observable.name), ensemble.standard_error(observable.name)
        axes.plot(range(len(done)), values, "o", color=BLACK, label="a network")
        axes.axhline(mean, color=BLUE, linewidth=1.2, label="their mean")
        if np.isfinite(error):
            axes.axhspan(mean - 2.0 * error, mean + 2.0 * error, color=BLUE, alpha=0.2, linewidth=0)
        step = max(1, -(-len(done) // 8))
        axes.set_xticks(range(0, len(done), step), [str(seed) for seed in done[::step]])
        axes.set(xlabel=f"seed (d = {ensemble.d})", ylabel=observable.axis)
        axes.margins(x=0.1)

    return Panel(observable.name, draw, 4.6, 3.2)
