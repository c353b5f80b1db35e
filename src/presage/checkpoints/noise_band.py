"""Where random heads have their values: the band behind every picture of a spectrum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.checkpoints.nulls.noise_table import noise_table
from presage.laws.spectral_law import Floats

WITHIN = 0.99  # of random heads, value by value
WORDS = f"{WITHIN:.0%} of random heads".replace("%", " %")


class NoiseBand(NamedTuple):
    """The least and the largest of each value, in the order of the values."""

    low: Floats
    high: Floats


def noise_band(law: str, h: int, d_q: int, d_k: int) -> NoiseBand:
    """The values of 99 in a hundred random heads of a shape, over their root mean square.

    Checked: tests/checkpoints/test_noise_band.py::test_random_heads_are_within_the_band
    """
    values = noise_table(law, h, d_q, d_k).samples
    values = values / np.sqrt(np.mean(values**2, axis=1, keepdims=True))
    low, high = np.quantile(values, [0.5 - 0.5 * WITHIN, 0.5 + 0.5 * WITHIN], axis=0)
    return NoiseBand(low, high)
