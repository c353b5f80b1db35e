"""A direction in a rectangular Gaussian matrix: where its singular value comes out, and how well it is aligned."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np


class RectangularSpike(NamedTuple):
    """One direction ``theta u v'`` in a p x q matrix of noise, p <= q; arrays where strengths are given as an array."""

    outlier: Any  # its singular value; the edge of the bulk where it has none of its own
    edge: float
    overlap_short: Any  # squared cosine of the singular vector of the shorter side, of length p, with u
    overlap_long: Any
    shrunk: Any  # the value that is nearest to theta u v' in the mean square; 0 where it does not stand out
    threshold: float


def spiked_rectangular(theta: Any, aspect: float) -> RectangularSpike:
    """Outlier of ``theta u v' + X``, X p x q Gaussian with entries of variance 1/q, ``beta = p/q <= 1``.

        y^2 = (theta^2 + 1)(theta^2 + beta)/theta^2   for theta^4 > beta,   edge 1 + sqrt(beta)
        cos^2 = (theta^4 - beta)/(theta^4 + beta theta^2) and (theta^4 - beta)/(theta^4 + theta^2)
        best = sqrt((y^2 - beta - 1)^2 - 4 beta)/y

    Equation: [BGN12], section 3.1; the shrinkage [GD17].
    Checked: tests/spectra/test_free_spikes.py::test_a_direction_in_a_rectangle_has_the_check_values
    """
    beta, theta = float(aspect), np.asarray(theta, dtype=np.float64)
    least = beta**0.25
    out = theta > least
    x = np.where(out, theta, least) ** 2
    y2 = (x + 1.0) * (x + beta) / x
    share = np.where(out, x * x - beta, 0.0)
    best = np.sqrt(np.maximum((y2 - beta - 1.0) ** 2 - 4.0 * beta, 0.0) / y2)
    short, long = share / (x * x + beta * x), share / (x * x + x)
    return RectangularSpike(np.sqrt(y2)[()], 1.0 + sqrt(beta), short[()], long[()], np.where(out, best, 0.0)[()], least)


def rectangular_strength(y: Any, aspect: float) -> Any:
    """Strength of the direction whose singular value stands out at y: `spiked_rectangular` inverted.

        theta^2 = (y^2 - 1 - beta + sqrt((y^2 - 1 - beta)^2 - 4 beta))/2

    Equation: derived: the larger root.
    Checked: tests/spectra/test_free_spikes.py::test_strengths_invert_outliers
    """
    rest = np.asarray(y, dtype=np.float64) ** 2 - 1.0 - aspect
    return np.sqrt(0.5 * (rest + np.sqrt(np.maximum(rest * rest - 4.0 * aspect, 0.0))))[()]
