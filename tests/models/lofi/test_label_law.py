"""The law of the labels on nodes: constants of the specification, exchanges, moments that taking together keeps."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.lofi.theory import label_law as laws
from presage.models.lofi.theory.label_law import grid, label_laws, law_on, signal, taken_together

ONE, THREE = ps.SquaresLink([1.0]), ps.SquaresLink([1.0, -0.7, 0.5])


def test_constants_of_one_feature():
    law = label_laws(ONE)[0]
    assert law.mean == pytest.approx(-0.125203, abs=5e-7)
    assert law.square == pytest.approx(0.280125, abs=5e-7)
    assert law.theta[0] == pytest.approx(0.661198, abs=5e-7)


def test_constants_of_three_features():
    law = label_laws(THREE)[0]
    assert law.square == pytest.approx(0.3055, abs=5e-5)
    assert law.theta == pytest.approx([0.5176, -0.3738, 0.3272], abs=5e-5)


def test_constants_of_nested_features():
    """Each g of four features of alternating signs is a Laplace variable: labels are a double integral."""
    law = label_laws(ps.NestedLink())[0]
    assert law.theta == pytest.approx([0.1695] * 4 + [-0.1695] * 4, abs=1e-3)
    assert law.square == pytest.approx(0.2627, abs=6e-4)
    g, step = np.linspace(-12.0, 12.0, 1601, retstep=True)
    density = np.exp(-sqrt(2.0) * np.abs(g)) / sqrt(2.0) * step
    y = np.tanh(0.5 * (g[:, None] ** 2 - g**2))
    exact = density @ y**2 @ density
    assert law.square == pytest.approx(exact, abs=6e-4)
    second = density @ (y * (g[:, None] ** 2 - 1.0)) @ density  # of the second level, by its own square
    assert second == pytest.approx(0.616, abs=2e-3)


@pytest.mark.parametrize("link", [ONE, THREE, ps.NestedLink(3)])
def test_weights_sum_to_one_and_features_have_variance_one(link):
    for law in label_laws(link):
        assert law.weight.sum() == pytest.approx(1.0, abs=1e-12)
        assert law.weight @ law.y == pytest.approx(0.0, abs=1e-12)
        assert law.second @ law.weight == pytest.approx(np.ones(link.features), abs=2e-3)
        assert law.second @ (law.weight * law.y) == pytest.approx(law.theta, abs=3e-4)
        assert law.weight @ law.y**2 == pytest.approx(law.square, rel=1e-9)


def test_a_finer_grid_changes_nothing_that_is_told():
    fine, coarse = (law_on(THREE, *grid(3, True, *rule)) for rule in ((8, 12), laws.RULES[3][0]))
    assert coarse.theta == pytest.approx(fine.theta, abs=1e-7)
    assert coarse.row == pytest.approx(fine.row, abs=1e-7)
    assert coarse.mean == pytest.approx(fine.mean, abs=1e-7)


def test_half_of_the_space_is_enough_for_even_labels():
    whole, half = (law_on(THREE, *grid(3, even, 6, 6)) for even in (False, True))
    assert whole.theta == pytest.approx(half.theta, abs=1e-10)
    assert whole.square == pytest.approx(half.square, rel=1e-10)


def test_taking_nodes_together_keeps_means_of_what_is_smooth():
    h, weight = grid(2, True, 10, 12)
    raw = ps.SquaresLink([1.0, -0.8])(h)
    order = np.argsort(raw)
    y, weight, squares = raw[order] - weight @ raw, weight[order], h[order] ** 2
    fewer, mass, second = taken_together(y, weight, squares)
    assert len(fewer) < 0.1 * len(y)
    assert fewer.min() >= y.min() - 1e-12
    assert fewer.max() <= y.max() + 1e-12
    for power in range(4):
        assert mass @ fewer**power == pytest.approx(weight @ y**power, abs=1e-12)
    assert (mass * fewer) @ second == pytest.approx((weight * y) @ squares, abs=1e-12)
    for x in (1.2 * y.max(), 3.0):
        assert (mass * fewer / (x - fewer)) @ second == pytest.approx((weight * y / (x - y)) @ squares, abs=1e-6)


def test_signal_is_zero_where_labels_do_not_see_a_feature():
    h, weight = grid(2, False, 6, 8)
    y = np.tanh(h[:, 0])
    assert np.array_equal(signal(y, weight, h**2), [0.0, 0.0])  # odd labels have no second moment
    y = np.tanh(h[:, 0] ** 2)
    y -= weight @ y
    assert signal(y, weight, h**2)[1] == 0.0
    by_hand = scipy.integrate.quad(lambda u: np.tanh(u * u) * (u * u - 1) * np.exp(-u * u / 2), -12, 12)[0]
    assert signal(y, weight, h**2)[0] == pytest.approx(by_hand / sqrt(2 * np.pi), rel=1e-6)


def product_of_two(h):
    return np.tanh(h[:, 0] * h[:, 1])


def turned(h):
    return np.tanh(0.5 * (h[:, 0] ** 2 - h[:, 1] ** 2))


def test_mixed_features_are_refused_and_turned_ones_are_not():
    with pytest.raises(ps.InputError, match="features 1 and 2 are, and eigenvectors would be mixtures"):
        ps.solve(ps.lofi(ps.OwnFeatureLink(product_of_two, 2), alpha=8.0))
    found = ps.solve(ps.lofi(ps.OwnFeatureLink(turned, 2), alpha=8.0))
    assert found.overlaps[0] == pytest.approx(found.overlaps[1], rel=1e-6)
    assert found.eigenvalues[0] == pytest.approx(-found.eigenvalues[1], rel=1e-6)
