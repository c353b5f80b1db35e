"""The picture of trained networks: their eigenvalues, beside the density that was predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.cli.pictures import caption
from presage.cli.problem_options import Given
from presage.cli.spectrum_picture import density_bands, shade
from presage.figures.style import BLACK, GREEN, ORANGE, canvas

FEWEST, MOST = 8, 40  # bins


def draw(given: Given, ensembles: list[Any], prediction: Any) -> Any:
    """Histograms of what is not zero, one a dimension, over the predicted density where there is one."""
    figure, axis = canvas(width=6.4, height=4.0)
    bulks = getattr(prediction, "bulks", ())
    if bulks:
        edges = [{"left": bulk.left, "right": bulk.right, "mass": bulk.mass} for bulk in bulks]
        shade(axis, density_bands(prediction.spectrum, edges, 400))
    kind = "eigenvalues" if hasattr(ensembles[0], "eigenvalues") else "singular_values"
    kept = [_not_zero(ensemble, kind) for ensemble in ensembles]
    together = np.concatenate(kept) if kept else np.zeros(0)
    bins = np.histogram_bin_edges(together, int(np.clip(np.sqrt(together.size), FEWEST, MOST)))
    for ensemble, values, colour in zip(ensembles, kept, (BLACK, ORANGE, GREEN) * len(kept), strict=False):
        counts, _ = np.histogram(values, bins)
        whole = max(ensemble.values(kind).size, 1)
        label = f"trained, d = {ensemble.d}; zero: {100 * (1 - ensemble.mean('rank')):.3g} %"
        axis.stairs(counts / (whole * np.diff(bins)), bins, color=colour, linewidth=1, label=label)
    if prediction is not None and hasattr(prediction, "rank"):
        axis.plot([], [], " ", label=f"zero, predicted: {100 * (1 - prediction.rank):.3g} %")
    axis.set(xlabel=kind.replace("_", " ").rstrip("s"), ylabel="density", ylim=(0.0, None))
    axis.legend(frameon=False, fontsize=8)
    axis.grid(alpha=0.3)
    figure.suptitle(caption(given.title()), fontsize=9)
    return figure


def _not_zero(ensemble: Any, kind: str) -> Any:
    """The largest values of each network, as many as its rank says."""
    found = [np.zeros(0)]
    for values, rank in zip(ensemble.values(kind), ensemble.values("rank"), strict=True):
        found.append(values[np.argsort(np.abs(values))[len(values) - round(rank * len(values)) :]])
    return np.concatenate(found)
