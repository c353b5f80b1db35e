"""A row of two keys: its softmax sees one number, the difference u of two scores, and its average is a plane integral.

The loss of a row is ``l(u0, u) = 2 (s(beta u) - s(beta_0 u0))^2``, ``s(x) = 1/(1 + exp(-x))``. With gains v and v_0 on
the outputs of learner and target it is

    |v (s, 1-s) - v_0 (s0, 1-s0)|^2 = (v - v_0)^2/2 + 2 v^2 (s - t)^2,   t = 1/2 + (v_0/v) (s0 - 1/2)

so that a gain is another stiffness, and labels that are nearer to 1/2 where it is larger than the target's.
"""

from __future__ import annotations

from functools import cache
from math import exp, log, nan, sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.untied.theory.row_averages import LEAST_CURVATURE, RowAverages
from presage.protocol.njit import njit

REACH = 7.0  # standard deviations: beyond it is a mass of 2e-11
MOST_STEPS = 60


def pair_averages(
    m: float,
    q: float,
    left: float,
    Sigma: float,
    beta: float,
    beta_0: float,
    points: int,
    v: float = 1.0,
    v_0: float = 1.0,
) -> RowAverages:
    """Averages over a row of two keys, by the trapezoidal rule with so many points across each direction.

    ``A = (1, -1)``, ``A A' = 2``: (u0, u) have the covariance 2 (rho_0, m; m, q), ``rho_0 = left + m^2/q``, and the
    constant of the map is 2 Sigma. The rule converges as fast as any for a bell times a smooth function.

    Equation: derived, section 0 of the state evolution with P = 1.
    Checked: tests/models/untied/theory/test_rows.py::test_a_row_of_two_keys_by_two_quadratures
    Checked: tests/models/untied/theory/test_gain.py::test_rows_with_gains_by_brute_force
    """
    a, b, weight = plane(points)
    deviation = sqrt(q)
    along = m / deviation if deviation > 0.0 else 0.0
    across = sqrt(max(left, 0.0))
    root = sqrt(2.0)
    stiff, apart = v * v, 0.5 * (v - v_0) ** 2
    K = 2.0 * Sigma * stiff
    sums = _sums(a, b, weight, root * deviation, root * along, root * across, K, beta, beta_0, v_0 / v)
    D_0, D, squares, test, train, aligned, square, lam_a, lam_b = sums
    stein = stein_0 = nan
    if deviation > 0.0 and across > 1e-6 * deviation:
        stein_0 = lam_b / (root * across)
        stein = (lam_a - root * along * stein_0) / (root * deviation)
    twice = 2.0 * stiff
    return RowAverages(
        twice * D_0,
        twice * D,
        twice * stiff * squares,
        apart + stiff * test,
        apart + stiff * train,
        aligned,
        square,
        twice * stein_0,
        twice * stein,
    )


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
def _sums(a, b, weight, deviation, along, across, K, beta, beta_0, ratio):  # type: ignore[no-untyped-def]
    """Sums in units of v^2, `ratio` being v_0/v."""
    D_0, D, squares, test, train, lam_a, lam_b = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    aligned, square = 0.0, 0.0
    twice = ratio > 1.0 or K * beta * beta * 0.5 * -LEAST_CURVATURE > 1.0  # two minima are possible
    for j in range(a.size):
        u = deviation * a[j]
        u0 = along * a[j] + across * b[j]
        s0 = _sigmoid(beta_0 * u0)
        t = s0 + (ratio - 1.0) * (s0 - 0.5)
        fresh = _sigmoid(beta * u) - t
        goal = beta_0 * u0 / beta if ratio == 1.0 else lowest(u, t, K, beta)
        h = prox(u, t, goal, u, K, beta)
        if twice:
            other = prox(u, t, goal, goal, K, beta)
            if abs(other - h) > 1e-9 * (1.0 + abs(h)) and _cost(other, u, t, K, beta) < _cost(h, u, t, K, beta):
                h = other
        s = _sigmoid(beta * h)
        e, slope = s - t, s * (1.0 - s)
        lam = -4.0 * beta * e * slope
        H = 4.0 * beta * beta * slope * (slope + e * (1.0 - 2.0 * s))
        C = -4.0 * beta * beta_0 * ratio * slope * s0 * (1.0 - s0)
        w, gives_way = weight[j], 1.0 + K * H
        D_0 -= w * C / gives_way
        D -= w * H / gives_way
        squares += w * lam * lam
        test += w * 2.0 * fresh * fresh
        train += w * 2.0 * e * e
        aligned += w * (s * s0 + (1.0 - s) * (1.0 - s0))
        square += w * (s * s + (1.0 - s) * (1.0 - s))
        lam_a += w * lam * a[j]
        lam_b += w * lam * b[j]
    return D_0, D, squares, test, train, aligned, square, lam_a, lam_b


@njit(cache=True, error_model="numpy")
def lowest(u, t, K, beta):  # type: ignore[no-untyped-def]
    """Where ``(s - t)^2`` is least; where no s is t, which then is not in (0, 1), further than a minimum can be from u.

    The slope of the loss is at most ``beta |s - t|``, and a minimum is K times it from u.
    """
    if t > 0.0 and t < 1.0:
        return log(t / (1.0 - t)) / beta
    far = K * beta * (abs(t - 0.5) + 0.5)
    return u + far if t >= 1.0 else u - far


@njit(cache=True, error_model="numpy")
def prox(u, t, goal, start, K, beta):  # type: ignore[no-untyped-def]
    """Minimum over h of ``(h - u)^2/(2 K) + 2 (s - t)^2`` that Newton's steps from `start` find.

    It lies between u and the place where the loss vanishes: the loss falls all the way to there. Steps that leave the
    interval, which shrinks by the sign of the slope, are bisections.
    """
    low, high = min(u, goal), max(u, goal)
    h = start
    for _ in range(MOST_STEPS):
        s = _sigmoid(beta * h)
        e, slope = s - t, s * (1.0 - s)
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
def _cost(h, u, t, K, beta):  # type: ignore[no-untyped-def]
    e = _sigmoid(beta * h) - t
    return 0.5 * (h - u) * (h - u) + K * 2.0 * e * e


@njit(cache=True, error_model="numpy")
def _sigmoid(x):  # type: ignore[no-untyped-def]
    if x >= 0.0:
        return 1.0 / (1.0 + exp(-x))
    raised = exp(x)
    return raised / (1.0 + raised)
