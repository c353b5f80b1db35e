"""The duality gap: zero at the minimum, and a bound on what is left everywhere else."""

from __future__ import annotations

from functools import partial
from itertools import islice
from math import inf

import numpy as np
import pytest

from presage.training.accelerated import accelerated
from presage.training.duality import relative_gap
from tests.training.lasso import Lasso, few_numbers


def test_zero_at_the_minimum_and_a_bound_elsewhere():
    lasso = few_numbers()
    curvature = 2.0 * float(np.linalg.eigvalsh(lasso.A.T @ lasso.A)[-1])
    *_, end = islice(accelerated(lasso.at(np.zeros(8)), lasso.at, partial(lasso.step, curvature)), 500)
    assert abs(lasso.gap(end)) < 1e-12
    rng = np.random.default_rng(1)
    for scale in (1e-6, 1e-3, 0.1, 1.0, 10.0):
        here = lasso.at(end.X + scale * rng.standard_normal(8))
        left = (lasso.whole(here) - lasso.whole(end)) / lasso.whole(here)
        assert 0.0 < left <= lasso.gap(here) + 1e-15


def test_soft_threshold_is_the_minimum_where_the_design_is_orthonormal():
    y = np.array([2.0, -0.3, 0.7])
    lasso = Lasso(np.eye(3), y, 1.0)
    minimum = np.sign(y) * np.maximum(np.abs(y) - 0.5, 0.0)
    assert lasso.gap(lasso.at(minimum)) == pytest.approx(0.0, abs=1e-15)
    assert lasso.gap(lasso.at(y + 0.01)) > 0.1


def test_a_ridge_takes_its_part_of_the_curvature():
    A, y, ridge = np.array([[1.0, 0.5], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, -1.0, 0.5]), 0.3

    def gap(x):
        residual = A @ x - y
        data, gradient = float(residual @ residual), 2.0 * A.T @ residual
        curvature = data + float(gradient @ gradient) / (4.0 * ridge)
        loss, along = data + ridge * float(x @ x), 2.0 * data - float(gradient @ x)
        return relative_gap(loss, data, along, curvature=curvature, largest=inf)

    minimum = np.linalg.solve(A.T @ A + ridge * np.eye(2), A.T @ y)
    assert abs(gap(minimum)) < 1e-14
    assert gap(minimum + 0.1) > 1e-3


def test_no_bound_is_known_where_the_data_are_fitted():
    assert relative_gap(1.0, 0.0, 0.0, curvature=0.0, largest=1.0) == inf
