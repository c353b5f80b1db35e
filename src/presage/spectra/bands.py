"""Bands of a noisy spectrum: rows of the parameter ``u`` beside the rows of their edges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats


def inside_bands(u: Floats, bands: Floats) -> NDArray[np.bool_]:
    """Which of the parameters lie in a band."""
    band = np.searchsorted(bands[:, 0], u, side="right") - 1
    return np.asarray((band >= 0) & (u < bands[np.maximum(band, 0), 1]))


def parameter_above(c: float, support: Floats, bands: Floats, parameter: Callable[[Floats], Floats]) -> float:
    """Smallest parameter ``u`` whose ``x`` is at or above ``c`` (infinite when there is none).

    `parameter` gives the ``u`` of an ``x`` inside a band.
    """
    band = int(np.searchsorted(support[:, 1], c, side="right"))
    if band == len(support):
        return np.inf
    return float(parameter(np.array([c]))[0]) if c > support[band, 0] else float(bands[band, 0])
