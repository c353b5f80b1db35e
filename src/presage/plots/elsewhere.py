"""Networks trained elsewhere: a histogram of their values over the predicted law, with those beyond it marked."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.plots.colours import BLACK, GREEN, ORANGE
from presage.plots.learned import Learned
from presage.plots.networks import FEWEST, MOST
from presage.plots.panel import Panel
from presage.plots.spectrum import ceiling, one_of, percent, shade
from presage.protocol.trained_elsewhere import TrainedElsewhere

HEIGHT = 0.25  # of the mark of an outlier, over that of the picture


def elsewhere_panel(found: TrainedElsewhere, learned: Learned) -> Panel:
    """The panel: bins where the law can be, one mark a value outside of it; zeros in words."""

    def draw(axes: Any) -> None:
        shade(axes, learned, f"predicted (zero: {percent(learned.zero)})")
        top = max(ceiling([learned]), _histogram(axes, found))
        outliers = found.outliers
        if outliers.size:
            label = f"{outliers.size} outlier{'s' if outliers.size > 1 else ''}"
            axes.vlines(outliers, 0.0, HEIGHT * top, color=ORANGE, linewidth=1.6, label=label)
        axes.set(xlabel=one_of(learned.words), ylabel="density", ylim=(0.0, top))
        unusual = [row.name.replace("_", " ") for row in found.rows if not row.usual]
        verdict = f"not as predicted: {', '.join(unusual)}" if unusual else "nothing speaks against the prediction"
        axes.set_title(verdict, color=ORANGE if unusual else GREEN)

    return Panel("spectrum", draw, 5.8, 3.6)


def _histogram(axes: Any, found: TrainedElsewhere) -> float:
    """Steps over what is neither zero nor an outlier, as parts of all values; the room that they need."""
    low, high = found.fence
    every = found.values
    inside = every[(every != 0.0) & (every >= low) & (every <= high)]
    count = len(every)
    label = f"{count} network{'s' if count > 1 else ''}, d = {found.d} (zero: {percent(float(np.mean(every == 0.0)))})"
    if not inside.size:
        axes.plot([], [], " ", label=label)
        return 0.0
    bins = np.histogram_bin_edges(inside, int(np.clip(np.sqrt(inside.size), FEWEST, MOST)))
    heights = np.histogram(inside, bins)[0] / (every.size * np.diff(bins))
    axes.stairs(heights, bins, color=BLACK, linewidth=1.2, label=label)
    return 1.08 * float(heights.max())
