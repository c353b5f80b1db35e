"""A row of three keys or more: its proximal map by damped Newton steps, averaged over a lattice or scattered points.

The loss of a row of K scores is ``l(r0, r) = |softmax(beta r) - softmax(beta_0 r0)|^2``. It does not see a common shift
of the scores, so that K - 1 normals a row are enough. With gains it is, as for two keys,

    |v s - v_0 s0|^2 = (v - v_0)^2/K + v^2 |s - t|^2,   t = 1/K + (v_0/v) (s0 - 1/K)
"""

from __future__ import annotations

from functools import cache
from math import exp, nan, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.untied.theory.row_averages import LEAST_CURVATURE, RowAverages
from presage.models.untied.theory.small_systems import eliminate, solved
from presage.protocol.njit import njit

REACH = 6.0  # standard deviations to which a lattice goes: beyond it, in four dimensions, is a mass of 3e-7
MOST_STEPS = 60
SHRINK = 20  # halvings of a step
NOT_LOWER = 1e-15  # relative: differences of costs below it are rounding


class Nodes(NamedTuple):
    """Standard normals for two rows of scores without their common shift, a row of each array a node, and weights."""

    a: Floats
    b: Floats
    weight: Floats


def wide_averages(
    m: float,
    q: float,
    left: float,
    Sigma: float,
    beta: float,
    beta_0: float,
    nodes: Nodes,
    v: float = 1.0,
    v_0: float = 1.0,
) -> RowAverages:
    """Averages over a row of K scores at given nodes.

    In the K - 1 directions without the common shift ``A A' = 1``: components have the covariance (rho_0, m; m, q),
    ``rho_0 = left + m^2/q``, and the constant of the map is Sigma.

    Equation: derived, section 0 of the state evolution with P = K - 1.
    Checked: tests/models/untied/theory/test_rows.py::test_a_wide_row_of_two_keys_is_the_plane_integral
    Checked: tests/models/untied/theory/test_gain.py::test_rows_with_gains_by_brute_force
    """
    a, b, weight = nodes
    deviation = sqrt(q)
    along = m / deviation if deviation > 0.0 else 0.0
    across = sqrt(max(left, 0.0))
    stiff, apart = v * v, (v - v_0) ** 2 / a.shape[1]
    sums = _sums(a, b, weight, deviation, along, across, Sigma * stiff, beta, beta_0, v_0 / v)
    D_0, D, squares, test, train, aligned, square, lam_a, lam_b = sums
    stein = stein_0 = nan
    if deviation > 0.0 and across > 1e-6 * deviation:
        stein_0 = lam_b / across
        stein = (lam_a - along * stein_0) / deviation
    return RowAverages(
        stiff * D_0,
        stiff * D,
        stiff**2 * squares,
        apart + stiff * test,
        apart + stiff * train,
        aligned,
        square,
        stiff * stein_0,
        stiff * stein,
    )


@cache
def contrasts(keys: int) -> Floats:
    """An orthonormal basis, as columns, of the directions without a common shift."""
    basis = np.zeros((keys, keys - 1))
    for k in range(1, keys):
        basis[:k, k - 1] = 1.0
        basis[k, k - 1] = -float(k)
    return np.asarray(basis / np.linalg.norm(basis, axis=0))


@cache
def lattice(points: int) -> Nodes:
    """The trapezoidal rule with so many points across each of the four directions of two rows of three scores.

    Swapping two keys turns the sign of their contrast in both rows, so that half of the nodes are enough.
    """
    x = 2.0 * REACH / points * (np.arange(points) - 0.5 * (points - 1))
    grid = np.stack(np.meshgrid(x[x > 0.0], x, x, x, indexing="ij"), axis=-1).reshape(-1, 4)
    squares = np.sum(grid * grid, axis=1)
    grid, squares = grid[squares < REACH**2], squares[squares < REACH**2]
    weight = np.exp(-0.5 * squares)
    basis = contrasts(3)
    return Nodes(
        np.ascontiguousarray(grid[:, :2] @ basis.T), np.ascontiguousarray(grid[:, 2:] @ basis.T), weight / weight.sum()
    )


@cache
def scattered(keys: int, points: int, seed: int) -> Nodes:
    """Scrambled Sobol points; a seed is one scramble."""
    sobol = scipy.stats.qmc.Sobol(2 * (keys - 1), scramble=True, rng=np.random.default_rng([seed, keys]))
    normals = scipy.special.ndtri(np.clip(sobol.random(points), 1e-15, 1.0 - 1e-15))
    basis = contrasts(keys)
    a, b = normals[:, : keys - 1] @ basis.T, normals[:, keys - 1 :] @ basis.T
    return Nodes(np.ascontiguousarray(a), np.ascontiguousarray(b), np.full(points, 1.0 / points))


@njit(cache=True, error_model="numpy")
def _sums(a, b, weight, deviation, along, across, Sigma, beta, beta_0, ratio):  # type: ignore[no-untyped-def]
    """Sums in units of v^2, `ratio` being v_0/v."""
    points, n = a.shape
    u, goal, s0, t, s = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    g, h, other = np.empty(n), np.empty(n), np.empty(n)
    H, left, right = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    step, trial = np.empty(n), np.empty(n)
    D_0, D, squares, test, train, lam_a, lam_b = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    aligned, square = 0.0, 0.0
    twice = ratio > 1.0 or Sigma * beta * beta * -LEAST_CURVATURE > 1.0  # two minima are possible
    for j in range(points):
        for k in range(n):
            u[k] = deviation * a[j, k]
            goal[k] = along * a[j, k] + across * b[j, k]
        _softmax(goal, beta_0, s0)
        for k in range(n):
            goal[k] *= beta_0 / beta
            h[k] = u[k]
            t[k] = s0[k] + (ratio - 1.0) * (s0[k] - 1.0 / n)
        w = weight[j]
        test += w * _loss(u, t, beta, s)
        cost = _descend(h, u, t, Sigma, beta, s, g, H, left, step, trial)
        if twice:
            for half in (1.0, 0.5):
                for k in range(n):
                    other[k] = half * goal[k] + (1.0 - half) * u[k]
                found = _descend(other, u, t, Sigma, beta, s, g, H, left, step, trial)
                if found < cost:
                    cost = found
                    for k in range(n):
                        h[k] = other[k]
        train += w * _loss(h, t, beta, s)
        _derivatives(s, t, beta, g, H)
        # (1 + Sigma H)^-1 on H and on C = d^2 l/dr dr_0 = -2 beta beta_0 (v_0/v) J(s) J(s0)
        for k in range(n):
            for i in range(n):
                left[k, i] = Sigma * H[k, i] + (1.0 if k == i else 0.0)
                total = 0.0
                for c in range(n):
                    total += _jacobian(s, k, c) * _jacobian(s0, c, i)
                right[k, i] = 2.0 * beta * beta_0 * ratio * total
        eliminate(left, right, H)
        for k in range(n):
            D_0 += w * right[k, k]
            D -= w * H[k, k]
            squares += w * g[k] * g[k]
            aligned += w * s[k] * s0[k]
            square += w * s[k] * s[k]
            lam_a -= w * g[k] * a[j, k]
            lam_b -= w * g[k] * b[j, k]
    return D_0, D, squares, test, train, aligned, square, lam_a, lam_b


@njit(cache=True, error_model="numpy")
def _descend(h, u, t, Sigma, beta, s, g, H, left, step, trial):  # type: ignore[no-untyped-def]
    """Newton steps from h to a minimum of ``|h - u|^2/2 + Sigma l``, in place; the cost there.

    Where the curvature is not positive it is raised until it is, and a step is halved until the cost falls.
    """
    n = h.size
    cost = _cost(h, u, t, Sigma, beta, s)
    for _ in range(MOST_STEPS):
        _derivatives(s, t, beta, g, H)
        raised = 1.0
        while True:
            for k in range(n):
                step[k] = u[k] - h[k] - Sigma * g[k]
                for i in range(n):
                    left[k, i] = Sigma * H[k, i] + (raised if k == i else 0.0)
            if solved(left, step):
                break
            raised = 2.0 * raised + Sigma * beta * beta
        size = 0.0
        for k in range(n):
            size = max(size, abs(step[k]))
        if size < 1e-9:
            break
        new = cost
        for _ in range(SHRINK):
            for k in range(n):
                trial[k] = h[k] + step[k]
            new = _cost(trial, u, t, Sigma, beta, s)
            if new <= cost * (1.0 + NOT_LOWER):
                break
            for k in range(n):
                step[k] *= 0.5
        else:
            break
        cost = new
        for k in range(n):
            h[k] = trial[k]
        if size < 1e-5:  # the next step would be of the size of its square
            break
    return cost


@njit(cache=True, error_model="numpy")
def _derivatives(s, t, beta, g, H):  # type: ignore[no-untyped-def]
    """Slope and curvature of the loss at outputs s.

    With ``e = s - t`` and ``J = diag(s) - s s'``: ``g = 2 beta J e``, ``H = 2 beta^2 [J^2 + diag(e - s.e) J -
    s (J e)']``.
    """
    n = s.size
    mean, squares = 0.0, 0.0
    for k in range(n):
        mean += s[k] * (s[k] - t[k])
        squares += s[k] * s[k]
    for k in range(n):
        off = s[k] - t[k] - mean
        g[k] = 2.0 * beta * s[k] * off
        for i in range(n):
            J_J = (s[k] * s[k] if k == i else 0.0) - s[k] * s[i] * (s[k] + s[i] - squares)
            turned = off * _jacobian(s, k, i) - s[k] * s[i] * (s[i] - t[i] - mean)
            H[k, i] = 2.0 * beta * beta * (J_J + turned)


@njit(cache=True, error_model="numpy")
def _jacobian(s, k, i):  # type: ignore[no-untyped-def]
    return (s[k] if k == i else 0.0) - s[k] * s[i]


@njit(cache=True, error_model="numpy")
def _cost(h, u, t, Sigma, beta, s):  # type: ignore[no-untyped-def]
    total = Sigma * _loss(h, t, beta, s)
    for k in range(h.size):
        total += 0.5 * (h[k] - u[k]) * (h[k] - u[k])
    return total


@njit(cache=True, error_model="numpy")
def _loss(h, t, beta, s):  # type: ignore[no-untyped-def]
    """Loss of a row of scores; its outputs are left in s."""
    _softmax(h, beta, s)
    total = 0.0
    for k in range(s.size):
        total += (s[k] - t[k]) * (s[k] - t[k])
    return total


@njit(cache=True, error_model="numpy")
def _softmax(r, beta, s):  # type: ignore[no-untyped-def]
    top = r[0]
    for k in range(1, r.size):
        top = max(top, r[k])
    total = 0.0
    for k in range(r.size):
        s[k] = exp(beta * (r[k] - top))
        total += s[k]
    for k in range(r.size):
        s[k] /= total
