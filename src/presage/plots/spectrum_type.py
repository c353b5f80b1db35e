"""The type of a spectrum: a histogram with the fitted bulk and what stands out, and the tail on logarithmic axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.plots.colours import BLACK, BLUE, GREEN, GREY, ORANGE
from presage.plots.networks import FEWEST, MOST
from presage.plots.panel import Panel
from presage.plots.spectrum import percent
from presage.protocol.ensemble import Floats
from presage.spectra.bulks.bulk_fit import BulkFit
from presage.spectra.spectrum_type import HEAVY, RANDOM, SpectrumType

HISTOGRAM, TAIL = "spectrum", "tail"
ANGLES = np.cos(np.pi * (np.arange(400) + 0.5) / 400)  # closer together at the edges, where a bulk rises like a root
STROKE = 0.25  # height of a spike, over that of the picture
WIDE = 3.0  # spans of the bulk: what stands out further is marked at the edge of the picture
ROOM = 1.15  # above the highest bin
CROWDED = 2.5  # a density is cut at so many times the highest bin, where it has a pole at zero


def spectrum_type_panels(found: SpectrumType) -> list[Panel]:
    """The histogram, and beside it the tail where one was looked for."""
    panels = [Panel(HISTOGRAM, lambda axes: _histogram(axes, found), 5.8, 3.6)]
    if found.tail is not None:
        panels.append(Panel(TAIL, lambda axes: _tail(axes, found), 5.8, 3.6))
    return panels


def _histogram(axes: Any, found: SpectrumType) -> None:
    """Steps over the bulk, the law that was fitted to it, a stroke for each value that stands out."""
    nonzero = found.values[found.values != 0.0]
    spikes = np.array([] if found.bulk is None else [spike.value for spike in found.bulk.spikes])
    inside = np.setdiff1d(nonzero, spikes) if len(spikes) else nonzero
    axes.set(xlabel="eigenvalue", ylabel="density")
    axes.set_title(found.kind, color=GREEN if found.kind == RANDOM else BLACK)
    label = f"{found.n} eigenvalues (zero: {percent(found.zero_mass)})"
    if found.bulk is None:
        _few(axes, nonzero, label)
        return
    bins = np.histogram_bin_edges(inside, int(np.clip(np.sqrt(inside.size), FEWEST, MOST)))
    heights = np.histogram(inside, bins)[0] / (found.n * np.diff(bins))
    axes.stairs(heights, bins, color=BLACK, linewidth=1.2, label=label)
    top = ROOM * float(heights.max())
    top = max(top, _bulk(axes, found.bulk, found.n, top))
    edge = found.bulk.bulk.edge
    low, high = min(0.0, float(inside[0]), found.bulk.bulk.left), max(float(inside[-1]), edge)
    low, high = _spikes(axes, found, spikes, (low, high), top)
    room = 0.04 * (high - low) or 1.0
    axes.set(xlim=(low - (room if low < 0.0 else 0.0), high + room), ylim=(0.0, top))
    axes.axvline(0.0, color=BLACK, linewidth=0.8)


def _few(axes: Any, nonzero: Floats, label: str) -> None:
    """A stroke for each value, where there are too few for a bulk."""
    axes.plot([], [], " ", label=label)
    axes.set(ylabel="", yticks=[], ylim=(0.0, 1.0))
    if len(nonzero):
        axes.vlines(nonzero, 0.0, STROKE, color=BLACK, linewidth=1.2, label=f"{len(nonzero)} that are not zero")
    axes.axvline(0.0, color=BLACK, linewidth=0.8)


def _bulk(axes: Any, fit: BulkFit, n: int, top: float) -> float:
    """The law of the bulk, as a fraction of all eigenvalues; the room that it needs."""
    bulk = fit.bulk
    x = 0.5 * (bulk.left + bulk.edge) - 0.5 * (bulk.edge - bulk.left) * ANGLES
    height = bulk.density(x) * bulk.size / n
    fits = "as near as noise" if fit.strict else "near" if fit.loose else "the nearest law, which is far"
    axes.plot(x, height, color=BLUE, linewidth=1.2, label=f"{bulk.name} ({fits})")
    axes.fill_between(x, height, color=BLUE, alpha=0.2, linewidth=0)
    return ROOM * min(float(height.max()), CROWDED * top)


def _spikes(axes: Any, found: SpectrumType, spikes: Floats, ends: tuple[float, float], top: float) -> Any:
    """Strokes for what stands out, those too far away in words; the ends of the picture.

    Where there is no bulk nothing stands out of one: what is beyond the edge of its nearest law is not drawn, and told.
    """
    (low, high), span = ends, WIDE * (ends[1] - ends[0])
    near = (spikes >= low - span) & (spikes <= high + span) & found.has_bulk
    far, shown = spikes[~near], spikes[near]
    if len(shown):
        label = f"{len(spikes)} stand{'s' if len(spikes) == 1 else ''} out"
        axes.vlines(shown, 0.0, STROKE * top, color=ORANGE, linewidth=1.2, label=label)
        low, high = min(low, float(shown.min())), max(high, float(shown.max()))
    if len(far):
        where = f"{far.min():.3g}" if len(far) == 1 else f"{far.min():.3g} to {far.max():.3g}"
        words = f"{len(far)}{' of them' if len(shown) else ''} further out, at {where}"
        axes.plot([], [], color=ORANGE, marker=">", linestyle=" ", label=words)
        for marker, at, there in (("<", low, far.min() < low), (">", high, far.max() > high)):
            if there:
                axes.plot([at], [0.5 * STROKE * top], color=ORANGE, marker=marker, linestyle=" ", clip_on=False)
    return low, high


def _tail(axes: Any, found: SpectrumType) -> None:
    """How many eigenvalues are at or above x, against x, and the power law that was fitted."""
    tail = found.tail
    assert tail is not None
    positive = found.values[found.values > 0.0]
    above = np.arange(len(positive), 0, -1)
    axes.plot(positive, above, ".", color=GREY, markersize=3.0, label=f"{len(positive)} positive eigenvalues")
    x = np.geomspace(tail.start, positive[-1], 50)
    line = tail.size * (x / tail.start) ** (1.0 - tail.exponent)
    colour = ORANGE if found.kind == HEAVY else BLUE
    words = f"density $x^{{-{tail.exponent:.3g}}}$ [{tail.low:.3g}, {tail.high:.3g}] of {tail.size}"
    axes.plot(x, line, color=colour, label=words)
    axes.set(xscale="log", yscale="log", xlabel="eigenvalue x", ylabel="eigenvalues at or above x")
    axes.set_ylim(0.7, 1.5 * len(positive))
    p_value = "not tested" if np.isnan(tail.p_value) else f"p = {tail.p_value:.2g}"
    axes.set_title(f"{'a power law' if found.kind == HEAVY else 'best power law'}: {p_value}")
