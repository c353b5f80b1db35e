"""The picture of a spectrum: the density of what is not zero."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.cli.pictures import caption
from presage.cli.problem_options import Given
from presage.figures.style import BLACK, BLUE, ORANGE, canvas

Band = list[tuple[float, float]]


def density_bands(law: Any, bulks: list[dict[str, float]], points: int) -> list[Band]:
    """The density inside every bulk, closer together at the edges, where it rises like a root."""
    found = []
    for bulk in bulks:
        left, right = bulk["left"], bulk["right"]
        x = 0.5 * (left + right) - 0.5 * (right - left) * np.cos(np.pi * (np.arange(points) + 0.5) / points)
        found.append([(float(at), float(height)) for at, height in zip(x, law.density(x), strict=True)])
    return found


def draw(given: Given, kind: str, bands: list[Band], zero: float, outliers: list[float]) -> Any:
    """The density, with outliers as arrows and the fraction of zeros in words."""
    figure, axis = canvas(width=6.4, height=4.0)
    shade(axis, bands)
    top = axis.get_ylim()[1]
    for index, at in enumerate(outliers):
        label = f"{len(outliers)} outliers" if index == 0 else None
        axis.plot([at, at], [0.0, 0.25 * top], color=ORANGE, linewidth=1, label=label)
    axis.plot([], [], " ", label=f"zero: {100 * zero:.3g} %")
    edges = np.array([*(x for band in bands for x, _ in band), *outliers, 0.0])
    axis.set_xlim(min(0.0, 1.05 * edges.min()), 1.05 * edges.max() or 1.0)
    axis.set(xlabel=kind, ylabel="density", ylim=(0.0, top))
    axis.axvline(0.0, color=BLACK, linewidth=0.8)
    axis.legend(frameon=False)
    axis.grid(alpha=0.3)
    figure.suptitle(caption(given.title()), fontsize=9)
    return figure


def shade(axis: Any, bands: list[Band]) -> None:
    """Fill the area under a density, band by band."""
    for index, band in enumerate(bands):
        x, height = np.array(band).T
        axis.fill_between(x, height, color=BLUE, alpha=0.3, linewidth=0)
        axis.plot(x, height, color=BLUE, linewidth=1.2, label="predicted" if index == 0 else None)
