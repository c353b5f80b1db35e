"""The law of what is learned: bulks as shades, outliers and atoms as strokes, zeros in words, the target behind it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np

from presage.plots.colours import BLACK, BLUE, GREY, ORANGE
from presage.plots.learned import Learned
from presage.plots.panel import Panel

POINTS = 400  # of the density in each bulk
FEW, RUG = 8, 0.06  # atoms of a target up to which they go to the top; height of the strokes of more
WIDTH = 60  # letters of a line of a legend
NARROW = 0.006  # a bulk that is thinner than this part of the picture is told in words
STROKE = 0.25  # height of an outlier, over that of the picture
TALL = 2.5  # a density is cut at so many times what four fifths of its mass are below


def spectrum_panel(
    learned: Learned | str, words: str, target: Any = None, *, title: str = "", label: str = "learned"
) -> Panel:
    """The panel of a law; where there is none but a reason for that, the target alone with the reason in words."""

    def draw(axes: Any) -> None:
        shown = [] if isinstance(learned, str) else [learned]
        behind = target if target is None or isinstance(target, Learned) else Learned.of_law(target, words)
        top = ceiling(shown or ([behind] if behind else []))
        if behind is not None:
            _target(axes, behind, top)
        if isinstance(learned, str):
            axes.plot([], [], " ", label=textwrap.fill(learned, WIDTH))
        else:
            shade(axes, learned, f"{label} (zero: {percent(learned.zero)})")
            _strokes(axes, learned, top)
        _limits(axes, [*shown, *([behind] if behind else [])], top)
        axes.set(xlabel=one_of(words), title=title)
        axes.set_ylabel("density" if any(one.bulks for one in [*shown, behind] if one) else "mass")

    return Panel("spectrum", draw, 5.8, 3.6)


def one_of(words: str) -> str:
    """The singular of what a law is of: eigenvalue, entry."""
    return words.removesuffix("ies") + "y" if words.endswith("ies") else words.removesuffix("s")


def percent(part: float) -> str:
    """A fraction in words; next to nothing is said to be that."""
    if part > 0.0 and 100.0 * part < 0.01:
        return "under 0.01 %"
    return f"{100.0 * max(part, 0.0):.3g} %"


def shade(axes: Any, learned: Learned, label: str) -> None:
    """Fill the area under the density, bulk by bulk; where all is zero, only its words are there."""
    if not learned.bulks:
        axes.plot([], [], " ", label=label)
    for index, band in enumerate(learned.density(POINTS)):
        x, height = np.array(band).T
        axes.fill_between(x, height, color=BLUE, alpha=0.3, linewidth=0)
        axes.plot(x, height, color=BLUE, linewidth=1.2, label=label if index == 0 else None)


def ceiling(shown: Sequence[Learned]) -> float:
    """The height of a picture: of the densities, cut where a narrow part is far higher than all the rest."""
    heights, masses = [np.zeros(1)], [np.zeros(1)]
    for one in shown:
        for band in one.density(POINTS):
            x, height = np.array(band).T
            heights.append(height)
            masses.append(height * np.gradient(x))
    height, mass = np.concatenate(heights), np.concatenate(masses)
    if not mass.sum() > 0.0:
        return max((atom.mass for one in shown for atom in one.atoms), default=1.0) * 1.1
    order = np.argsort(height)
    below = np.cumsum(mass[order]) / mass.sum()
    usual = float(height[order][np.searchsorted(below, 0.8)])
    return 1.08 * min(float(height.max()), TALL * usual)


def _strokes(axes: Any, learned: Learned, top: float) -> None:
    """Outliers, of which each is one value, and atoms, by their mass."""
    if learned.outliers:
        count = len(learned.outliers)
        label = f"{count} outlier{'s' if count > 1 else ''}"
        axes.vlines(learned.outliers, 0.0, STROKE * top, color=ORANGE, linewidth=1.0, label=label)
    if learned.atoms:
        at, mass = np.array(learned.atoms).T
        heights = mass if not learned.bulks else 0.9 * top * mass / mass.max()
        told = f"mass {mass[0]:.3g}" if len(mass) == 1 else f"{len(mass)} values, of mass up to {mass.max():.3g}"
        axes.vlines(at, 0.0, heights, color=BLUE, linewidth=1.6, label=f"repeated: {told}")


def _target(axes: Any, target: Learned, top: float) -> None:
    """The law of the target: a dashed line, and strokes for its atoms, which are short where there are many."""
    label: str | None = f"target (zero: {percent(target.zero)})"
    for band in target.density(POINTS):
        x, height = np.array(band).T
        axes.plot(x, height, color=GREY, linestyle="--", linewidth=1.0, label=label)
        label = None
    if target.atoms:
        at, mass = np.array(target.atoms).T
        height = 0.95 if len(at) <= FEW else RUG
        axes.vlines(at, 0.0, height * top * mass / mass.max(), color=GREY, linestyle="--", linewidth=0.9, label=label)


def _limits(axes: Any, shown: Sequence[Learned], top: float) -> None:
    """Everything within the picture, zero included; what is higher than the picture is said."""
    ends = [0.0]
    for one in shown:
        ends += [*(edge for band in one.bulks for edge in (band.left, band.right)), *one.outliers]
        ends += [atom.at for atom in one.atoms]
    room = 0.04 * (max(ends) - min(ends)) or 1.0
    axes.set_xlim(min(ends) - (room if min(ends) < 0.0 else 0.0), max(ends) + room)
    axes.set_ylim(0.0, top)
    narrow = [bulk for bulk in shown[0].bulks if bulk.right - bulk.left < NARROW * (max(ends) - min(ends))]
    if narrow:
        told = f"too narrow to see: {percent(sum(bulk.mass for bulk in narrow))} of all"
        alone = f"a bulk from {narrow[0].left:.3g} to {narrow[0].right:.3g}"
        axes.plot([], [], " ", label=f"{alone if len(narrow) == 1 else f'{len(narrow)} bulks'}, {told}")
    highest = max((height for band in shown[0].density(POINTS) for _, height in band), default=0.0)
    if highest > top:
        axes.plot([], [], " ", label=f"cut off above: the density reaches {highest:.3g}")
    axes.axvline(0.0, color=BLACK, linewidth=0.8)
