"""The heads of a model: a map of layers and heads, every spectrum over the band of random heads; one head by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from presage.checkpoints.head_report import HeadReport
from presage.checkpoints.nulls.noise_table import noise_table
from presage.checkpoints.verdicts import RANDOM
from presage.checkpoints.weights_report import WeightsReport
from presage.plots.colours import BLACK, BLUE, GREEN, GREY, ORANGE
from presage.plots.panel import Panel, picture
from presage.protocol import checks

MAP, SPECTRA, HEAD = "map", "spectra", "spectrum"
RANGE = 3.0  # powers of two of the map on either side
BAND = (0.005, 0.995)
MOST_NAMED = 40  # rows of a map that have a name each
SUFFIXES = (".png", ".pdf", ".svg")


def weights_panels(report: WeightsReport) -> list[Panel]:
    """The map of heads, and beside it their spectra."""
    if not report.every_head:
        reason, remedy = "a map has a square a head, and there are none", "Give a file with attention."
        raise checks.complaint("result", "have heads", reason, repr(report), remedy)
    rows = len(_places(report))
    height = float(np.clip(0.18 * rows + 1.4, 3.6, 9.0))
    return [
        Panel(MAP, lambda axes: _map(axes, report), 5.8, height),
        Panel(SPECTRA, lambda axes: _spectra(axes, report), 5.8, height),
    ]


def head_panels(head: HeadReport) -> list[Panel]:
    """The values of one head, the band of random heads, what stands out and what flipped signs reach."""
    return [Panel(HEAD, lambda axes: _head(axes, head), 5.8, 3.8)]


def save_picture(report: WeightsReport, path: Path) -> None:
    """Write the picture of a model, whole or not at all."""
    from presage.whole_file import whole_file

    if path.suffix.lower() not in SUFFIXES:
        remedy = "Use for example model.png."
        raise checks.complaint("path", "end in .png, .pdf or .svg", "it is a picture", str(path), remedy)
    figure = picture(weights_panels(report), f"{Path(report.name).name}: {len(report.every_head)} heads")
    with whole_file(path) as part:
        figure.savefig(part, dpi=150)


def _places(report: WeightsReport) -> list[tuple[str, str, int]]:
    """The rows of the map: part, kind and layer, in the order of the file."""
    return list(dict.fromkeys((one.part, one.kind, one.layer) for one in report.every_head))


def _map(axes: Any, report: WeightsReport) -> None:
    """A square a head: how its stable rank is to that of random heads, in powers of two; a dot where it is random."""
    places = _places(report)
    rows = {place: row for row, place in enumerate(places)}
    across = 1 + max(one.head for one in report.every_head)
    ratio = np.full((len(places), across), np.nan)
    for one in report.every_head:
        at = rows[(one.part, one.kind, one.layer)], one.head
        ratio[at] = np.log2(one.stable_rank / one.ranks_of_noise[0].mean) if one.top > 0.0 else np.nan
        if one.verdict == RANDOM:
            axes.plot([one.head], [at[0]], ".", color=BLACK, markersize=4)
    drawn = axes.imshow(ratio, cmap="PuOr", vmin=-RANGE, vmax=RANGE, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    several = len({place[:2] for place in places}) > 1
    names = [" ".join(filter(None, [part, "" if kind == "self" else kind, str(layer)])) for part, kind, layer in places]
    if len(places) <= MOST_NAMED:
        axes.set_yticks(range(len(places)), names)
    elif several:
        axes.set_yticks(range(0, len(places), 4), names[::4])
    if across <= 16:
        axes.set_xticks(range(across))
    axes.set(xlabel="head", ylabel="layer")
    axes.set_title("stable rank over random heads; dot: as random")
    bar = axes.figure.colorbar(drawn, ax=axes, ticks=range(-3, 4), fraction=0.05, pad=0.02)
    bar.ax.set_yticklabels(["1/8", "1/4", "1/2", "1", "2", "4", "8"])
    bar.outline.set_visible(False)


def _spectra(axes: Any, report: WeightsReport) -> None:
    """Singular values of every head over their root mean square, and where 99 of 100 random heads have them."""
    for at, one in enumerate(report.every_head):
        x, y = _scaled(one)
        axes.plot(x, y, color=GREY, alpha=0.25, linewidth=0.6, label="heads" if at == 0 else None)
    for at, (h, d_q, d_k) in enumerate(sorted({(one.h, one.d_q, one.d_k) for one in report.every_head})):
        values = noise_table("random", min(h, d_q, d_k), d_q, d_k).samples
        values = values / np.sqrt(np.mean(values**2, axis=1, keepdims=True))
        low, high = np.quantile(values, BAND, axis=0)
        x = (np.arange(values.shape[1]) + 0.5) / values.shape[1]
        axes.fill_between(x, low, high, color=BLUE, alpha=0.5, label="99 % of random heads" if at == 0 else None)
    axes.set(yscale="log", xlabel="place / width of the head", ylabel="singular value / root mean square")
    least = min(float(_scaled(one)[1].min(initial=1.0)) for one in report.every_head)
    axes.set_ylim(bottom=max(least, 1e-4) / 1.3)
    axes.set_title("singular values of every head")


def _scaled(head: HeadReport) -> tuple[Any, Any]:
    values = head.singular_values
    x = (np.arange(len(values)) + 0.5) / len(values)
    size = float(np.sqrt(np.mean(values**2))) or 1.0
    return x[values > 0.0], values[values > 0.0] / size


def _head(axes: Any, head: HeadReport) -> None:
    """Sorted values: those of the bulk, those that stand out, those that may be rounding; the law that was fitted."""
    values = head.singular_values
    place = np.arange(1, len(values) + 1)
    spikes = head.spikes or 0
    rounding = values <= head.measured.floor
    bulk = ~rounding & (place > spikes)
    size = float(np.sqrt(np.mean(values**2)))
    noise = noise_table("tied" if head.tied else "random", len(values), head.d_q, head.d_k).samples
    noise = noise / np.sqrt(np.mean(noise**2, axis=1, keepdims=True)) * size
    low, high = np.quantile(noise, BAND, axis=0)
    axes.fill_between(place, low, high, color=BLUE, alpha=0.25, linewidth=0, label="99 % of random heads of this size")
    axes.plot(place[bulk], values[bulk], "o", color=BLACK, markersize=3, label=f"{int(np.sum(bulk))} values")
    if spikes:
        axes.plot(place[:spikes], values[:spikes], "D", color=ORANGE, label=f"{spikes} stand out")
    if np.any(rounding):
        axes.plot(place[rounding], values[rounding], "o", color="0.75", markersize=3, label="zero, or may be rounding")
    if head.fit is not None:
        table = noise_table(head.fit.law, head.rank, head.d_q, head.d_k, head.fit.spikes, exact=True)
        fitted = head.fit.slope * table.means + head.fit.shift
        words = f"{head.fit.name} noise, p = {head.fit.p_bulk:.2g}"
        axes.plot(place[spikes : head.rank], fitted, color=GREEN, linewidth=1.2, label=words)
    if head.measured.flips:
        axes.axhline(head.flip_threshold, color=ORANGE, linewidth=0.8, linestyle="--", label="reached by flipped signs")
    axes.set(xlabel="place", ylabel="singular value", ylim=(0.0, None))
    axes.set_title(f"{head.name}: {head.verdict}")
