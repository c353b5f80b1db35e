"""One entry at a time: an entry theta is seen as ``x = theta + delta z``, and the fit is ``soft(x; c)``.

``soft(x; c) = sign(x) (|x| - c)_+``. Its error, how often it is not zero, and its size are in closed form, with every
derivative that Newton's method needs. Averages are over given nodes of a law of entries, with their masses.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats


class SoftThreshold(NamedTuple):
    """Averages over the entries at a noise level and a cutoff."""

    delta: float
    c: float
    I: float  # P(|x| > c): the divergence of the soft threshold, and the fraction that it keeps
    risk: float  # E (soft(x; c) - theta)^2
    first: float  # E |soft(x; c)|
    dI_ddelta: float
    dI_dc: float
    drisk_ddelta: float
    drisk_dc: float


def fixed_entries(theta: Floats, mass: Floats, delta: float, c: float) -> SoftThreshold:
    """Averages for entries of given values; ``a = (c - theta)/delta``, ``b = (c + theta)/delta``, Q the upper tail.

        I = Q(a) + Q(b)
        risk = sum_{k=a,b} [delta^2 (Q + k phi) - 2 c delta phi + c^2 Q](k) + theta^2 (1 - Q(a) - Q(b))
        E |soft| = delta sum_{k=a,b} [phi - k Q](k)

    Equation: [DXGTEZLK25], its equations of the LASSO; the closed forms and the derivatives are derived. The threshold
    is continuous, so only what is kept moves: ``drisk/dc = 2 sum [c Q - delta phi]``.
    Checked: tests/models/diagonal/test_theory.py::test_averages_are_those_of_the_scalar_channel
        tests/models/diagonal/test_theory.py::test_derivatives_are_those_of_differences
    """
    size = np.abs(theta)
    a, b = (c - size) / delta, (c + size) / delta
    k = np.stack([a, b])
    Q, phi = scipy.special.ndtr(-k), _phi(k)
    between = scipy.special.ndtr(a) - scipy.special.ndtr(-b)  # of a large entry both are tiny, and exact
    risk = (delta**2 * (Q + k * phi) - 2.0 * c * delta * phi + c**2 * Q).sum(axis=0) + size**2 * between
    return SoftThreshold(
        delta,
        c,
        I=_mean(mass, Q),
        risk=float(mass @ risk),
        first=delta * _mean(mass, phi - k * Q),
        dI_ddelta=_mean(mass, k * phi) / delta,
        dI_dc=-_mean(mass, phi) / delta,
        drisk_ddelta=2.0 * _mean(mass, delta * (Q + k * phi) - c * phi),
        drisk_dc=2.0 * _mean(mass, c * Q - delta * phi),
    )


def gaussian_entries(deviation: Floats, mass: Floats, delta: float, c: float) -> SoftThreshold:
    """Averages for Gaussian entries of variance v, with ``T^2 = v + delta^2``, ``k = c/T``.

        I = 2 Q(k)
        risk = v P(chi^2_3 < k^2) + 2 delta^2 (Q(k) - k phi(k)) + 2 c^2 Q(k)
        E |soft| = 2 T (phi(k) - k Q(k))

    Equation: derived from ``E[theta | x] = v x/T^2``; the risk is ``v - 4 v Q + 2 T^2 [(1 + k^2) Q - k phi]``, so
    arranged that a large v cancels by itself.
    Checked: tests/models/diagonal/test_theory.py::test_averages_are_those_of_the_scalar_channel
        tests/models/diagonal/test_theory.py::test_derivatives_are_those_of_differences
    """
    v = deviation**2
    T = np.sqrt(v + delta**2)
    k = c / T
    Q, phi = scipy.special.ndtr(-k), _phi(k)
    inner = scipy.special.gammainc(1.5, 0.5 * k**2)
    return SoftThreshold(
        delta,
        c,
        I=float(mass @ (2.0 * Q)),
        risk=float(mass @ (v * inner + 2.0 * delta**2 * (Q - k * phi) + 2.0 * c**2 * Q)),
        first=float(mass @ (2.0 * T * (phi - k * Q))),
        dI_ddelta=float(mass @ (2.0 * delta * k * phi / T**2)),
        dI_dc=float(mass @ (-2.0 * phi / T)),
        drisk_ddelta=float(mass @ (4.0 * delta * (Q - v * k * phi / T**2))),
        drisk_dc=float(mass @ (4.0 * (c * Q - delta**2 * phi / T))),
    )


def _phi(k: Floats) -> Floats:
    return np.asarray(np.exp(-0.5 * k * k) / sqrt(2.0 * pi))


def _mean(mass: Floats, sides: Floats) -> float:
    """Mean over the entries of what both sides, ``x > c`` and ``x < -c``, sum to."""
    return float(mass @ sides.sum(axis=0))
