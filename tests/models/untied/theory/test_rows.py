"""Rows of scores: proximal maps beside brute force, averages by several quadratures, responses by Stein's identity."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest
import scipy

from presage.models.untied.theory.channel import Overlaps, Rule, conjugates_of
from presage.models.untied.theory.pair_row import pair_averages, prox
from presage.models.untied.theory.row_averages import LEAST_CURVATURE
from presage.models.untied.theory.wide_row import contrasts, lattice, scattered, wide_averages
from tests.models.untied.problems import cross

M, Q, LEFT, SIGMA = 0.8, 0.9, 0.5, 1.5  # overlaps of a fit with noise, where no sample jumps


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


@pytest.mark.parametrize(("u", "u0", "K"), [(-2.0, 3.0, 0.5), (1.0, 1.5, 8.0), (-4.0, 6.0, 40.0), (3.0, -0.2, 2000.0)])
def test_the_map_of_two_keys_is_where_the_cost_is_least(u, u0, K):
    beta, beta_0 = 1.3, 0.9
    s0, goal = sigmoid(beta_0 * u0), beta_0 * u0 / beta
    h = np.linspace(min(u, goal), max(u, goal), 400_001)
    cost = (h - u) ** 2 / (2.0 * K) + 2.0 * (sigmoid(beta * h) - s0) ** 2
    found = [prox(u, s0, goal, start, K, beta) for start in (u, goal)]
    costs = [(x - u) ** 2 / (2.0 * K) + 2.0 * (sigmoid(beta * x) - s0) ** 2 for x in found]
    assert min(costs) <= cost.min() + 1e-12
    assert found[int(np.argmin(costs))] == pytest.approx(h[np.argmin(cost)], abs=1e-4)


def test_two_minima_need_the_least_curvature():
    # Below the bound the cost is convex for every label; above it, at the worst label, it is not.
    s = np.linspace(1e-4, 1.0 - 1e-4, 20_001)[:, None]
    s0 = np.linspace(0.0, 1.0, 201)
    slope = s * (1.0 - s)
    curvature = 4.0 * slope * (slope + (s - s0) * (1.0 - 2.0 * s))
    assert 2.0 * curvature.min() == pytest.approx(LEAST_CURVATURE, rel=1e-6)  # u = sqrt(2) times a direction


def test_a_row_of_two_keys_by_two_quadratures():
    x, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / w.sum()
    total = np.zeros(5)
    along, K = M / sqrt(Q), 2.0 * SIGMA
    for a, wa in zip(x, w, strict=True):
        for b, wb in zip(x, w, strict=True):
            u, u0 = sqrt(2.0 * Q) * a, sqrt(2.0) * (along * a + sqrt(LEFT) * b)
            s0 = sigmoid(u0)
            h = prox(u, s0, u0, u, K, 1.0)
            s = sigmoid(h)
            e, slope = s - s0, s * (1.0 - s)
            H, C = 4.0 * slope * (slope + e * (1.0 - 2.0 * s)), -4.0 * slope * s0 * (1.0 - s0)
            lam = -4.0 * e * slope
            fresh = sigmoid(u) - s0
            row = [-2.0 * C / (1.0 + K * H), -2.0 * H / (1.0 + K * H), 2.0 * lam**2, 2.0 * fresh**2, 2.0 * e**2]
            total += wa * wb * np.array(row)
    assert np.allclose(
        pair_averages(M, Q, LEFT, SIGMA, 1.0, 1.0, 96)[:5], total, rtol=2e-6
    )  # of the 60 points of Gauss-Hermite
    assert not np.allclose(pair_averages(M, Q, LEFT, sqrt(2.0) * SIGMA, 1.0, 1.0, 96)[:5], total, rtol=1e-2)


def test_a_wide_row_of_two_keys_is_the_plane_integral():
    plane = np.array(pair_averages(M, Q, LEFT, SIGMA, 1.2, 0.9, 96))
    found = np.mean([wide_averages(M, Q, LEFT, SIGMA, 1.2, 0.9, scattered(2, 8192, seed)) for seed in range(4)], axis=0)
    assert np.allclose(found, plane, rtol=1e-3)


def test_a_lattice_agrees_with_scattered_points_and_with_a_finer_one():
    rough, fine = (np.array(wide_averages(M, Q, LEFT, SIGMA, 1.0, 0.9, lattice(points))) for points in (18, 24))
    several = [wide_averages(M, Q, LEFT, SIGMA, 1.0, 0.9, scattered(3, 8192, seed)) for seed in range(4)]
    assert np.allclose(rough, fine, rtol=1e-4)
    assert np.allclose(np.mean(several, axis=0), fine, rtol=1.5e-3)


def test_responses_are_what_stein_says():
    for keys, tolerance in ((3, 1e-3), (5, 4e-3)):
        rows = np.mean(
            [wide_averages(M, Q, LEFT, SIGMA, 1.0, 1.0, scattered(keys, 8192, seed)) for seed in range(4)], axis=0
        )
        response_0, response, *_, stein_0, stein = rows
        assert [stein_0, stein] == pytest.approx([response_0, response], rel=tolerance)
    row = pair_averages(M, Q, LEFT, SIGMA, 1.0, 1.0, 96)
    assert [row.stein_0, row.stein] == pytest.approx([row.response_0, row.response], rel=1e-8)
    assert conjugates_of(cross(), Overlaps(M, Q, SIGMA, LEFT), Rule(96, 0)).jumps < 1e-8


def test_a_wide_row_is_minimised_as_scipy_does():
    rng = np.random.default_rng(3)
    basis = contrasts(3)
    assert np.allclose(basis.T @ basis, np.eye(2))
    assert np.allclose(basis.sum(axis=0), 0.0)

    def cost(h, u, s0, Sigma):
        raised = np.exp(h - h.max())
        return np.sum((h - u) ** 2) / 2.0 + Sigma * np.sum((raised / raised.sum() - s0) ** 2)

    from presage.models.untied.theory.wide_row import _descend

    for _ in range(10):
        u, r0 = basis @ rng.standard_normal(2), basis @ (2.0 * rng.standard_normal(2))
        s0 = np.exp(r0) / np.exp(r0).sum()
        h = u.copy()
        found = _descend(
            h,
            u,
            s0,
            4.0,
            1.0,
            *(np.empty(3) for _ in range(2)),
            np.empty((3, 3)),
            np.empty((3, 3)),
            *(np.empty(3) for _ in range(2)),
        )
        best = min(
            scipy.optimize.minimize(cost, start, (u, s0, 4.0), tol=1e-12).fun for start in (u, r0, 0.5 * (u + r0))
        )
        assert found == pytest.approx(cost(h, u, s0, 4.0))
        assert found >= best - 1e-10
        slope = scipy.optimize.approx_fprime(h, cost, 1e-7, u, s0, 4.0)
        assert np.abs(slope).max() < 1e-5


def test_a_sigmoid_of_any_size_is_finite():
    row = pair_averages(1e3, 1e6, 1e6, 5.0, 1.0, 1.0, 48)
    assert np.isfinite(row).all()
    assert row.test <= 2.0 * exp(0.0)
