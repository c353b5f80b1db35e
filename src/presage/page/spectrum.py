"""The law of what is learned as plain numbers: bulks, outliers, atoms, zeros; and the histogram of trained networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from presage.plots.learned import Learned
from presage.plots.networks import histogram
from presage.plots.spectrum import percent

POINTS = 240  # of all densities together
FEWEST = 12  # of one bulk
MOST_BULKS, MOST_STROKES = 400, 2000  # a list has as many atoms as values, and more cannot be told apart on a screen
DIGITS = 6


def drawn(learned: Learned) -> dict[str, Any]:
    """What there is to see of a law."""
    bulks = sorted(learned.bulks, key=lambda bulk: -bulk.mass)[:MOST_BULKS]
    shown = Learned(learned.words, learned.law, tuple(sorted(bulks)), learned.outliers, learned.atoms, learned.zero)
    points = max(POINTS // max(len(bulks), 1), FEWEST)
    bands = [np.array(band) for band in shown.density(points)]
    return {
        "bulks": [
            {"x": rounded(band[:, 0]), "density": rounded(band[:, 1]), "mass": bulk.mass}
            for bulk, band in zip(shown.bulks, bands, strict=True)
        ],
        "outliers": rounded(sorted(learned.outliers, reverse=True)[:MOST_STROKES]),
        "left_out": _left_out(learned),
        "atoms": [[_rounded(atom.at), atom.mass] for atom in learned.atoms[-MOST_STROKES:]],
        "zero": learned.zero,
        "zero_text": percent(learned.zero),
    }


def _left_out(learned: Learned) -> str:
    """What is too much for a screen, in a sentence; "" where all is there."""
    parts = {"bulks": (len(learned.bulks), MOST_BULKS), "outliers": (len(learned.outliers), MOST_STROKES)}
    parts |= {"values": (len(learned.atoms), MOST_STROKES)}
    said = [f"{most:,} of {count:,} {name}" for name, (count, most) in parts.items() if count > most]
    return f"Only {' and '.join(said)} are drawn." if said else ""


def of_networks(ensemble: Any) -> dict[str, Any] | None:
    """The histogram of networks; None where nothing of them can be counted."""
    if not ensemble.arrays:
        return None
    found = histogram(ensemble)
    zero = None if found.zero is None else float(found.zero)
    return {
        "edges": rounded(found.edges),
        "heights": rounded(found.heights),
        "zero": zero,
        "zero_text": None if zero is None else percent(zero),
    }


def rounded(values: Any) -> list[float]:
    """Numbers in as many digits as a picture can show."""
    return [_rounded(float(value)) for value in values]


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
