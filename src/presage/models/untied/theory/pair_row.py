"""A row of two keys: its softmax sees one number, the difference u of two scores, and its average is a plane integral.

The loss of a row is ``l(u0, u) = 2 (s(beta u) - s(beta_0 u0))^2``, ``s(x) = 1/(1 + exp(-x))``.
"""

from __future__ import annotations

from functools import cache
from math import exp, nan, sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.untied.theory.row_averages import LEAST_CURVATURE, RowAverages
from presage.protocol.njit import njit

REACH = 7.0  # standard deviations: beyond it is a mass of 2e-11
MOST_STEPS = 60


def pair_averages(
    m: float, q: float, left: float, Sigma: float, beta: float, beta_0: float, points: int
) -> RowAverages:
    """Averages over a row of two keys, by the trapezoidal rule with so many points across each direction.

    ``A = (1, -1)``, ``A A' = 2``: (u0, u) have the covariance 2 (rho_0, m; m, q), ``rho_0 = left + m^2/q``, and the
    constant of the map is 2 Sigma. The rule converges as fast as any for a bell times a smooth function.

    Equation: derived, section 0 of the state evolution with P = 1.
    Checked: tests/models/untied/theory/test_rows.py::test_a_row_of_two_keys_by_two_quadratures
    """
    a, b, weight = plane(points)
    deviation = sqrt(q)
    along = m / deviation if deviation > 0.0 else 0.0
    across = sqrt(max(left, 0.0))
    root = sqrt(2.0)
    sums = _sums(a, b, weight, root * deviation, root * along, root * across, 2.0 * Sigma, beta, beta_0)
    D_0, D, squares, test, train, lam_a, lam_b = sums
    stein = stein_0 = nan
    if deviation > 0.0 and across > 1e-6 * deviation:
        stein_0 = lam_b / (root * across)
        stein = (lam_a - root * along * stein_0) / (root * deviation)
    return RowAverages(2.0 * D_0, 2.0 * D, 2.0 * squares, test, train, 2.0 * stein_0, 2.0 * stein)


@cache
def plane(points: int) -> tuple[Floats, Floats, Floats]:
    """Nodes and weights of the average over two standard normals, of functions that are even in both together."""
    step = 2.0 * REACH / points
    x = step * (np.arange(points) - points // 2 + 0.5)
    a, b = (grid.ravel() for grid in np.meshgrid(x, x, indexing="ij"))
    inside = (a > 0.0) & (a * a + b * b < REACH * REACH)
    a, b = a[inside], b[inside]
    weight = np.exp(-0.5 * (a * a + b * b))
    return a, b, weight / weight.sum()


@njit(cache=True, error_model="numpy")
def _sums(a, b, weight, deviation, along, across, K, beta, beta_0):  # type: ignore[no-untyped-def]
    D_0, D, squares, test, train, lam_a, lam_b = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    twice = K * beta * beta * 0.5 * -LEAST_CURVATURE > 1.0  # two minima are possible
    for j in range(a.size):
        u = deviation * a[j]
        u0 = along * a[j] + across * b[j]
        s0 = _sigmoid(beta_0 * u0)
        fresh = _sigmoid(beta * u) - s0
        goal = beta_0 * u0 / beta  # where the loss vanishes
        h = prox(u, s0, goal, u, K, beta)
        if twice:
            other = prox(u, s0, goal, goal, K, beta)
            if abs(other - h) > 1e-9 * (1.0 + abs(h)) and _cost(other, u, s0, K, beta) < _cost(h, u, s0, K, beta):
                h = other
        s = _sigmoid(beta * h)
        e, slope = s - s0, s * (1.0 - s)
        lam = -4.0 * beta * e * slope
        H = 4.0 * beta * beta * slope * (slope + e * (1.0 - 2.0 * s))
        C = -4.0 * beta * beta_0 * slope * s0 * (1.0 - s0)
        w, gives_way = weight[j], 1.0 + K * H
        D_0 -= w * C / gives_way
        D -= w * H / gives_way
        squares += w * lam * lam
        test += w * 2.0 * fresh * fresh
        train += w * 2.0 * e * e
        lam_a += w * lam * a[j]
        lam_b += w * lam * b[j]
    return D_0, D, squares, test, train, lam_a, lam_b


@njit(cache=True, error_model="numpy")
def prox(u, s0, goal, start, K, beta):  # type: ignore[no-untyped-def]
    """Minimum over h of ``(h - u)^2/(2 K) + l`` that Newton's steps from `start` find.

    It lies between u and the place where the loss vanishes: the loss falls all the way to there. Steps that leave the
    interval, which shrinks by the sign of the slope, are bisections.
    """
    low, high = min(u, goal), max(u, goal)
    h = start
    for _ in range(MOST_STEPS):
        s = _sigmoid(beta * h)
        e, slope = s - s0, s * (1.0 - s)
        value = h - u + K * 4.0 * beta * e * slope
        if value > 0.0:
            high = h
        else:
            low = h
        curvature = 1.0 + K * 4.0 * beta * beta * slope * (slope + e * (1.0 - 2.0 * s))
        new = h - value / curvature if curvature > 0.0 else 2.0 * high - low
        if not (new >= low and new <= high):
            new = 0.5 * (low + high)
        moved = abs(new - h)
        h = new
        if moved <= 1e-12 * (1.0 + abs(h)):
            break
    return h


@njit(cache=True, error_model="numpy")
def _cost(h, u, s0, K, beta):  # type: ignore[no-untyped-def]
    e = _sigmoid(beta * h) - s0
    return 0.5 * (h - u) * (h - u) + K * 2.0 * e * e


@njit(cache=True, error_model="numpy")
def _sigmoid(x):  # type: ignore[no-untyped-def]
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    raised = exp(x)
    return raised / (1.0 + raised)
