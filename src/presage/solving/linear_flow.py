"""Errors on the way of a linear model: integrals over the law of Marchenko and Pastur of what is still to be learned.

The loss of a linear model is quadratic, and a flow or a descent from zero leaves of each direction of its curvature x,
in units of the mean, a part ``left(x)``. In the limit curvatures have the law of Marchenko and Pastur of ratio ``phi``,
numbers to be learned over numbers measured.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, pi, sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats

FEWEST, MOST = 128, 2**16  # points of an integral
CLOSE = 1e-10  # relative, of two grids
MARGIN = 2.0  # of a bar over the distance of two grids
AT_ONCE = 2_000_000  # numbers in memory

Left = Callable[[Floats, Floats], Floats]  # of curvatures (a row) and times (a column), what is left to be learned


class LinearErrors(NamedTuple):
    """Errors of a linear model at given times, and half widths of their error bars."""

    estimation_error: Floats  # an entry
    train_error: Floats  # a measurement
    estimation_bar: Floats
    train_bar: Floats


def left_of_flow(x: Floats, time: Floats, ridge: float = 0.0) -> Floats:
    """What a flow leaves of a direction of curvature x, with a ridge on it.

        left(x) = (r + x e^{-(x + r) tau})/(x + r)

    Equation: derived: ds/dtau = x (s_0 - s) - r s from s(0) = 0; left = 1 - s/s_0.
    Checked: tests/solving/test_linear_flow.py::test_a_flow_solves_its_equation
    """
    return np.asarray((ridge + x * np.exp(-(x + ridge) * time)) / (x + ridge))


def left_of_descent(x: Floats, steps: Floats, rate: float, ridge: float = 0.0) -> Floats:
    """What steps of descent leave of a direction of curvature x, with a ridge on it.

        left(x) = (r + x (1 - eta (x + r))^k)/(x + r)

    Equation: derived: s <- s + eta (x (s_0 - s) - r s) from s = 0; left = 1 - s/s_0.
    Checked: tests/solving/test_linear_flow.py::test_descent_is_its_recursion
    """
    return np.asarray((ridge + x * (1.0 - rate * (x + ridge)) ** steps) / (x + ridge))


def largest_curvature(phi: float) -> float:
    """Upper edge of the law of curvatures, ``(1 + sqrt(phi))^2``."""
    return (1.0 + sqrt(phi)) ** 2


def linear_errors(left: Left, times: Floats, phi: float, Q_0: float, noise: float) -> LinearErrors:
    """Errors of a linear model that has left so much to be learned, from labels of some noise a measurement.

        MSE   = Q_0 int left^2 mu + noise phi int_{x>0} (1 - left)^2/x mu
        train = Q_0 int x left^2 mu + noise [1 - phi + phi int left^2 mu]

    with mu the law of Marchenko and Pastur of ratio phi, and mass ``1 - 1/phi`` at 0 where phi > 1.

    Equation: derived: S - S_0 = -left(X) S_0 + (1 - left(X)) X^+ A'xi for X = A'A over its mean.
    Checked: tests/solving/test_linear_flow.py::test_errors_are_those_of_a_large_gaussian_design
    Checked: tests/models/attention/theory/test_flows.py::test_the_check_values_of_a_finite_number_of_samples
    """
    points, before = FEWEST, None
    while True:
        found = _with_points(left, times, phi, Q_0, noise, points)
        apart = inf if before is None else float(np.max(np.abs(found - before) / np.maximum(np.abs(found), 1e-300)))
        if apart <= CLOSE or points >= MOST:
            break
        points, before = 2 * points, found
    bars = CLOSE * np.abs(found) + (0.0 if before is None else MARGIN * np.abs(found - before))
    return LinearErrors(*found, *bars)


def _with_points(left: Left, times: Floats, phi: float, Q_0: float, noise: float, points: int) -> Floats:
    """Both errors by the midpoint rule in the angle t of ``x = |1 + sqrt(phi) e^{it}|^2``, which is periodic in it."""
    angle = pi * (np.arange(points) + 0.5) / points
    x = 1.0 + phi + 2.0 * sqrt(phi) * np.cos(angle)
    mass = 2.0 * np.sin(angle) ** 2 / (x * points)
    at_zero = max(1.0 - 1.0 / phi, 0.0)
    estimation, train = np.empty(len(times)), np.empty(len(times))
    block = max(1, AT_ONCE // points)
    for start in range(0, len(times), block):
        part = slice(start, start + block)
        remains = left(x, times[part, None])
        square = remains**2
        estimation[part] = Q_0 * (square @ mass + at_zero) + noise * phi * ((1.0 - remains) ** 2 @ (mass / x))
        train[part] = Q_0 * (square @ (x * mass)) + noise * (1.0 - min(phi, 1.0) + phi * (square @ mass))
    return np.array([estimation, train])
