"""How far the largest eigenvalue of noise goes beyond the edge of its bulk."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaincc, gammainccinv

from presage.laws.spectral_law import Floats

SHAPE, SCALE, SHIFT = 46.44604884, 0.18605402, 9.84800778


def exceedance(x: ArrayLike) -> Floats:
    """Probability that a Tracy-Widom number of real symmetric noise is above x.

        P(TW_1 > x) = Gamma(k, (x + a)/theta)/Gamma(k), k = 46.446, theta = 0.18605, a = 9.848

    The constants match mean, variance and skewness of the law; its quantiles come out right to 0.005.

    Equation: [C14], the shifted gamma law for TW_1.
    Checked: tests/spectra/test_bulks.py::test_quantiles_of_tracy_widom_are_those_of_its_tables
    """
    return np.asarray(gammaincc(SHAPE, np.maximum(np.asarray(x, dtype=np.float64) + SHIFT, 0.0) / SCALE))


def exceeded_with(probability: ArrayLike) -> Floats:
    """What a Tracy-Widom number exceeds with this probability: the inverse of `exceedance`."""
    level = np.asarray(probability, dtype=np.float64)
    return np.asarray(SCALE * gammainccinv(SHAPE, level) - SHIFT, dtype=np.float64)
