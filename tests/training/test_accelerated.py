"""Accelerated proximal gradient: it ends at the minimum, sooner than without momentum."""

from __future__ import annotations

from functools import partial
from itertools import islice

import numpy as np
import pytest

from presage.training.accelerated import accelerated, next_momentum, points_uphill
from tests.training.lasso import few_numbers


@pytest.mark.parametrize("watched", [False, True])
def test_the_end_satisfies_the_optimality_conditions(watched):
    lasso = few_numbers()
    curvature = 2.0 * float(np.linalg.eigvalsh(lasso.A.T @ lasso.A)[-1])
    whole = lasso.whole if watched else None
    *_, end = islice(accelerated(lasso.at(np.zeros(8)), lasso.at, partial(lasso.step, curvature), whole=whole), 500)
    zero = end.X == 0.0
    assert 0 < zero.sum() < 8
    np.testing.assert_allclose(end.gradient[~zero], -lasso.weight * np.sign(end.X[~zero]), rtol=1e-9)
    assert np.all(np.abs(end.gradient[zero]) <= lasso.weight)
    assert abs(lasso.gap(end)) < 1e-12


def test_each_point_comes_with_its_own_value_and_gradient():
    lasso = few_numbers()
    curvature = 2.0 * float(np.linalg.eigvalsh(lasso.A.T @ lasso.A)[-1])
    for point in islice(accelerated(lasso.at(np.ones(8)), lasso.at, partial(lasso.step, curvature)), 5):
        again = lasso.at(point.X)
        assert point.value == again.value
        np.testing.assert_array_equal(point.gradient, again.gradient)


def test_momentum_is_faster_than_none_where_curvatures_differ():
    curvatures = np.geomspace(1.0, 1e-4, 30)
    lasso = few_numbers()
    lasso = type(lasso)(np.diag(np.sqrt(0.5 * curvatures)), np.ones(30), 1e-6)
    step = partial(lasso.step, 1.0)
    *_, fast = islice(accelerated(lasso.at(np.zeros(30)), lasso.at, step), 300)
    slow = lasso.at(np.zeros(30))
    for _ in range(300):
        slow = lasso.at(step(slow.X, slow.gradient))
    assert lasso.whole(fast) < 0.1 * lasso.whole(slow)


def test_momentum_begins_with_a_plain_step_and_grows_by_half_a_step():
    momentum, ahead = next_momentum(1.0)
    assert ahead == 0.0
    for _ in range(1000):
        momentum, ahead = next_momentum(momentum)
    assert 0.99 < ahead < 1.0
    assert momentum == pytest.approx(0.5 * 1002, rel=0.01)


def test_a_step_that_turns_back_points_uphill():
    X, Y = np.array([0.0]), np.array([1.0])
    assert points_uphill(Y, np.array([0.5]), X)
    assert not points_uphill(Y, np.array([1.5]), X)
