"""Proximal points against closed roots and brute force, and how they give way."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.multi_matrix.prox import objective, proximal_points, responses

SUM = ps.PowersLink(1, 2)


def samples(count, matrices, seed=0):
    rng = np.random.default_rng(seed)
    z_0, z = rng.standard_normal((2, count, matrices))
    return z_0, 0.8 * z_0 + 0.6 * z, rng


def by_roots(y, z, V):
    """The closed form of ``y = h_1 + h_2^2``: the real root of a cubic with the least objective."""
    a = 1.0 / (1.0 + 2.0 * V[0])
    found = []
    for label, (z_1, z_2) in zip(y, z, strict=True):
        roots = np.roots([4.0 * a, 0.0, 1.0 / V[1] - 4.0 * a * (label - z_1), -z_2 / V[1]])
        h_2 = roots[np.abs(roots.imag) < 1e-8].real
        h_1 = z_1 + 2.0 * V[0] * a * (label - z_1 - h_2**2)
        h = np.stack([h_1, h_2], axis=1)
        values = np.sum((h - [z_1, z_2]) ** 2 / (2.0 * V), axis=1) + (label - h_1 - h_2**2) ** 2
        found.append(h[np.argmin(values)])
    return np.array(found)


@pytest.mark.parametrize("V", [np.array([0.14, 0.065]), np.array([0.7, 0.5]), np.array([3.0, 2.0])])
def test_prox_against_the_roots_of_a_cubic(V):
    z_0, z, rng = samples(300, 2)
    y = SUM(z_0) + 0.5 * rng.standard_normal(300)
    found = proximal_points(SUM, y, z, V, [z, z_0, 0.5 * (z + z_0)])
    assert found.p == pytest.approx(by_roots(y, z, V), abs=1e-6)
    assert found.value == pytest.approx(objective(SUM, y, z, V, found.p), abs=1e-12)


def test_prox_against_brute_force():
    link = ps.OwnMatrixLink(lambda z_1, z_2: np.sin(z_1) * z_2 + 0.3 * z_2**3, 2)
    z_0, z, _ = samples(12, 2, seed=3)
    V, y = np.array([0.4, 0.3]), link(z_0)
    found = proximal_points(link, y, z, V, [z, z_0, 0.5 * (z + z_0)])
    side = np.linspace(-4.0, 4.0, 401)
    grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    for k in range(len(y)):
        least = objective(link, np.full(len(grid), y[k]), z[k], V, grid).min()
        assert found.value[k] <= least + 1e-9


def test_several_minima_are_seen_and_the_lowest_is_kept():
    """Far above zero, ``y = h^2`` has a minimum on either side; the one on the side of z is lower."""
    square = ps.PowersLink(2)
    y, z, V = np.array([9.0, 0.5]), np.array([[0.1], [2.0]]), np.array([1.0])
    found = proximal_points(square, y, z, V, [-z, z])
    assert list(found.several) == [1.0, 0.0]
    assert found.p[0, 0] > 2.5
    wrong = proximal_points(square, y, z, V, [-z])
    assert wrong.p[0, 0] < -2.5
    assert wrong.value[0] > found.value[0]


def test_responses_agree_with_differences():
    link = ps.PowersLink(1, 2, 3)
    z_0, z, _ = samples(40, 3, seed=5)
    V, y, step = np.array([0.1, 0.05, 0.01]), link(z_0), 1e-5

    def lam(y, z):
        return (proximal_points(link, y, z, V, [z]).p - z) / V

    p = proximal_points(link, y, z, V, [z]).p
    g, gradient, hessian = link.derivatives(p)
    D, by_label = responses(y - g, gradient, hessian, V)
    for k in range(3):
        aside = step * np.eye(3)[k]
        assert D[:, :, k] == pytest.approx((lam(y, z + aside) - lam(y, z - aside)) / (2 * step), rel=1e-3, abs=1e-3)
    assert by_label == pytest.approx((lam(y + step, z) - lam(y - step, z)) / (2 * step), rel=1e-3, abs=1e-3)
