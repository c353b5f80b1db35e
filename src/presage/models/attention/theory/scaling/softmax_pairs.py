"""Softmax over two tokens: averages over a logit and that of its label, on a grid that is exact to rounding.

The trapezoid rule converges as fast as a sigmoid allows: its error is ``exp(-2 pi^2/h)`` at a step of h logits.
"""

from __future__ import annotations

from functools import lru_cache
from math import pi, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.softmax import Softmax

REACH = 8.6  # standard deviations: what is beyond them is below rounding
FINEST = 0.4  # step of the grid in units of a logit: a sigmoid has its nearest pole at i pi
WIDEST = 0.4  # step of the grid in standard deviations
MOST = 1200  # points a dimension; sharper labels have an error bar that says so
HERMITE = 40  # functions of Hermite in the product of two rows, whose correlation is a third


class PairAverages(NamedTuple):
    """Averages over a sample of two tokens at a scale, in the units of the conjugates."""

    loss: float
    M: float
    curvature: float  # E tr d^2 loss/dz^2
    square: float  # E |d loss/dz|^2


def pair_averages(channel: Softmax, Q_0: float, noise: float, s: float, step: float) -> PairAverages:
    """Averages for two tokens at ``z = s z_s``, over a logit u of a row and that of the label, ``u_0``.

    ``r = sigma(u) - sigma(u_0)``, ``g = 4 beta r sigma'(u)``, variances ``3 beta_0^2 (Q_0 + noise/2)`` and
    ``3 beta^2 s^2 Q_0``, covariance ``3 beta beta_0 s Q_0``; the two rows have a correlation of 1/3:

        E l = 4 E r^2,   M = 24 beta beta_0 E sigma'(u) sigma'(u_0)
        E tr d^2 l/dz^2 = 24 beta^2 E [sigma'(u)^2 + r sigma''(u)],   E |dl/dz|^2 = E [3 g_1^2 + 3 g_2^2 + 2 g_1 g_2]

    Equation: derived: the loss of two rows of a softmax over two entries.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_pair_averages_are_those_of_the_rules
    """
    beta, beta_0 = channel.beta, channel.target_beta
    a, b, weight = _grid(step)
    root = beta_0 * sqrt(3.0 * (Q_0 + 0.5 * noise))
    mean = 3.0 * beta * beta_0 * s * Q_0 / root
    own = sqrt(max(3.0 * beta**2 * s**2 * Q_0 - mean**2, 0.0))
    u_0 = root * a
    u = mean * a + own * b
    sigma, slope = scipy.special.expit(u), _slope(u)
    r = sigma - scipy.special.expit(u_0)
    g = 4.0 * beta * r * slope
    both = _product_of_rows(g * weight, a, b)
    return PairAverages(
        loss=4.0 * float(np.sum(weight * r**2)),
        M=24.0 * beta * beta_0 * float(np.sum(weight * slope * _slope(u_0))),
        curvature=24.0 * beta**2 * float(np.sum(weight * (slope**2 + r * slope * (1.0 - 2.0 * sigma)))),
        square=6.0 * float(np.sum(weight * g**2)) + 2.0 * both,
    )


def _product_of_rows(weighted: Floats, a: Floats, b: Floats) -> float:
    """``E g_1 g_2`` of two rows whose logits are correlated by 1/3.

    A sum over pairs of functions of Hermite: the squared mean of g times both, over 3 to the sum of their degrees.

    Equation: derived: Mehler's formula in both variables.
    Checked: tests/models/attention/theory/scaling/test_softmax_map.py::test_pair_averages_are_those_of_the_rules
    """
    left, right = (_hermite(x.ravel()) for x in (a, b))
    coefficient = left @ weighted @ right.T
    power = np.arange(HERMITE)
    return float(np.sum(coefficient**2 * 3.0 ** -(power[:, None] + power[None, :])))


def _hermite(x: Floats) -> Floats:
    """Functions of Hermite with unit norm, one row each."""
    rows = [np.ones_like(x), x]
    for k in range(1, HERMITE - 1):
        rows.append((x * rows[k] - sqrt(k) * rows[k - 1]) / sqrt(k + 1.0))
    return np.array(rows)


def _slope(u: Floats) -> Floats:
    """Derivative of the sigmoid."""
    return np.asarray(scipy.special.expit(u) * scipy.special.expit(-u))


def grid_step(channel: Softmax, Q_0: float, noise: float) -> float:
    """Step of the grid in standard deviations: fine on the scale of a logit."""
    widest = sqrt(3.0 * (Q_0 + 0.5 * noise)) * channel.target_beta
    return max(min(WIDEST, FINEST / widest), 2.0 * REACH / MOST)


@lru_cache(maxsize=4)
def _grid(step: float) -> tuple[Floats, Floats, Floats]:
    """A grid of two standard normal numbers, as a column and a row, and the weights of its points."""
    half = int(np.ceil(REACH / step))
    x: Floats = np.asarray(step * np.arange(-half, half + 1), dtype=np.float64)
    w = np.exp(-0.5 * x * x) / sqrt(2.0 * pi)
    w /= w.sum()
    return x[:, None], x[None, :], np.outer(w, w)
