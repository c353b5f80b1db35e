"""The heads of a model: a map of layers and heads, every spectrum over the band of random heads; one head by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from presage.checkpoints.head_report import HeadReport
from presage.checkpoints.noise_band import WORDS, noise_band
from presage.checkpoints.nulls.noise_table import noise_table
from presage.checkpoints.verdicts import RANDOM
from presage.checkpoints.weights_report import WeightsReport
from presage.plots.colours import BLACK, BLUE, GREEN, GREY, ORANGE
from presage.plots.panel import Panel, picture
from presage.protocol import checks

MAP, SPECTRA, HEAD = "map", "spectra", "spectrum"
RANGE = 3.0  # powers of two of the map on either side
MOST_NAMED = 72  # rows of a map that have a name each
MOST_APART = 72  # rows or columns of a map whose squares have a gap between them
SUFFIXES = (".png", ".pdf", ".svg")


def weights_panels(report: WeightsReport) -> list[Panel]:
    """The map of heads, and beside it their spectra."""
    if not report.every_head:
        reason, remedy = "a map has a square a head, and there are none", "Give a file with attention."
        raise checks.complaint("result", "have heads", reason, repr(report), remedy)
    rows = len(_places(report))
    height = float(np.clip(0.18 * rows + 1.4, 3.6, 12.0))
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
    """A square a head: how its stable rank is to that of random heads, in powers of two; marks where it is random."""
    from matplotlib.ticker import MaxNLocator

    places = _places(report)
    rows = {place: row for row, place in enumerate(places)}
    across = 1 + max(one.head for one in report.every_head)
    ratio = np.full((len(places), across), np.nan)
    random, zero = [], []
    for one in report.every_head:
        row = rows[(one.part, one.kind, one.layer)]
        if one.top > 0.0:
            ratio[row, one.head] = np.log2(one.stable_rank / one.ranks_of_noise[0].mean)
        else:
            zero.append((one.head, row))
        if one.verdict == RANDOM:
            random.append((one.head, row))
    drawn = axes.imshow(ratio, cmap="PuOr", vmin=-RANGE, vmax=RANGE, aspect="auto", interpolation="nearest")
    for marked, mark, colour, words in ((random, ".", BLACK, "as random"), (zero, "x", GREY, "all zero")):
        if marked:
            axes.plot(*np.transpose(marked), mark, color=colour, markersize=4, linestyle="none", label=words)
    axes.grid(visible=False)
    if max(ratio.shape) <= MOST_APART:
        _gaps(axes, *ratio.shape)
    names = [" ".join(filter(None, [part, "" if kind == "self" else kind, str(layer)])) for part, kind, layer in places]
    step = -(-len(places) // MOST_NAMED)
    axes.set_yticks(range(0, len(places), step), names[::step])
    axes.xaxis.set_major_locator(MaxNLocator(16, steps=[1, 2, 4, 5, 10], integer=True))
    if across <= 16:
        axes.set_xticks(range(across))
    axes.set(xlabel="head", ylabel="layer", xlim=(-0.5, across - 0.5), ylim=(len(places) - 0.5, -0.5))
    axes.set_title("stable rank over that of random heads")
    aspect = max(20.0, 7.0 * axes.figure.get_figheight())  # as high as the map
    bar = axes.figure.colorbar(drawn, ax=axes, ticks=range(-3, 4), fraction=0.05, pad=0.02, aspect=aspect)
    bar.ax.set_yticklabels(["1/8", "1/4", "1/2", "1", "2", "4", "8"])
    bar.outline.set_visible(False)


def _gaps(axes: Any, rows: int, columns: int) -> None:
    """White lines between the squares."""
    axes.set_xticks(np.arange(0.5, columns - 1), minor=True)
    axes.set_yticks(np.arange(0.5, rows - 1), minor=True)
    axes.grid(visible=True, which="minor", color="white", alpha=1.0, linewidth=1.0)
    axes.set_axisbelow(False)  # lines over the squares
    axes.tick_params(which="minor", length=0)


def _spectra(axes: Any, report: WeightsReport) -> None:
    """Singular values of every head over their root mean square, and where 99 of 100 random heads have them."""
    for at, (h, d_q, d_k) in enumerate(sorted({(one.h, one.d_q, one.d_k) for one in report.every_head})):
        band = noise_band("random", h, d_q, d_k)
        x = (np.arange(len(band.low)) + 0.5) / len(band.low)
        look: Any = {"facecolor": (BLUE, 0.25), "edgecolor": BLUE, "linewidth": 0.7}
        axes.fill_between(x, *band, **look, zorder=3, label=WORDS if at == 0 else None)  # over many heads, it is seen
    known = [one for one in report.every_head if one.top > 0.0]
    words = f"{len(known)} head{'' if len(known) == 1 else 's'}"
    clear = float(np.clip(20.0 / max(len(known), 1), 0.2, 0.9))
    for at, one in enumerate(known):
        x, y = _scaled(one)
        axes.plot(x, y, color=GREY, alpha=clear, linewidth=0.6, label=words if at == 0 else None)
    axes.set(yscale="log", xlabel="place / width of the head", ylabel="singular value / root mean square", xlim=(0, 1))
    least = min((float(_scaled(one)[1].min()) for one in known), default=1.0)
    axes.set_ylim(bottom=max(least, 1e-4) / 1.3)
    _plain_ticks(axes.yaxis, *axes.get_ylim())
    axes.set_title("singular values of every head")


def _plain_ticks(axis: Any, low: float, high: float) -> None:
    """Numbers as one writes them, as many to a power of ten as there is room for."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    decades = np.log10(high / low)
    subs = (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _scaled(head: HeadReport) -> tuple[Any, Any]:
    values = head.singular_values
    x = (np.arange(len(values)) + 0.5) / len(values)
    size = float(np.sqrt(np.mean(values**2))) or 1.0
    return x[values > 0.0], values[values > 0.0] / size


def _head(axes: Any, head: HeadReport) -> None:
    """Sorted values: those of the bulk, those that stand out, those that may be rounding; the law that was fitted."""
    axes.set_title(f"{head.name}: {head.verdict}")
    values = head.singular_values
    axes.set(xlabel="place", ylabel="singular value", xlim=(0.5 - 0.02 * len(values), 0.5 + 1.02 * len(values)))
    if not head.top > 0.0:
        axes.text(0.5, 0.5, "all its values are zero", transform=axes.transAxes, ha="center", color=GREY)
        axes.set(ylim=(0.0, 1.0), yticks=[0.0])
        return
    place = np.arange(1, len(values) + 1)
    spikes = head.spikes or 0
    rounding = values <= head.measured.floor
    bulk = ~rounding & (place > spikes)
    size = float(np.sqrt(np.mean(values**2)))
    low, high = noise_band("tied" if head.tied else "random", head.h, head.d_q, head.d_k)
    axes.fill_between(place, low * size, high * size, color=BLUE, alpha=0.25, linewidth=0, label=WORDS)
    if spikes:
        words = f"{spikes} stand{'s' if spikes == 1 else ''} out"
        axes.plot(place[:spikes], values[:spikes], "D", color=ORANGE, label=words)
    if np.any(bulk):
        words = f"{int(np.sum(bulk))} {'others' if spikes else 'values'}"
        axes.plot(place[bulk], values[bulk], "o", color=BLACK, markersize=3, label=words)
    if np.any(rounding):
        axes.plot(place[rounding], values[rounding], "o", color="0.75", markersize=3, label="zero, or may be rounding")
    if head.fit is not None:
        table = noise_table(head.fit.law, head.rank, head.d_q, head.d_k, head.fit.spikes, exact=True)
        fitted = head.fit.slope * table.means + head.fit.shift
        words = f"{head.fit.name} noise, p = {head.fit.p_bulk:.2g}"
        axes.plot(place[spikes : head.rank], fitted, color=GREEN, linewidth=1.2, label=words)
    if head.measured.flips:
        axes.axhline(head.flip_threshold, color=ORANGE, linewidth=0.8, linestyle="--", label="reached by flipped signs")
    axes.set_ylim(bottom=0.0)
