"""L-BFGS: it ends at the minimum of a quadratic, and where it is told to."""

from __future__ import annotations

from functools import partial

import numpy as np

from presage.training.quasi_newton import quasi_newton

CURVATURE = np.geomspace(1.0, 1e3, 12).reshape(3, 4)
MINIMUM = np.arange(12.0).reshape(3, 4)
descend = partial(quasi_newton, steps=500, evaluations=1000, memory=10)


def quadratic(X):
    return float(0.5 * np.sum(CURVATURE * (X - MINIMUM) ** 2)) + 2.0, CURVATURE * (X - MINIMUM)


def test_the_end_is_the_minimum_in_the_shape_of_the_start():
    start = np.zeros((3, 4))
    found = descend(quadratic, start)
    np.testing.assert_allclose(found.X, MINIMUM, atol=1e-6)
    assert found.value == quadratic(found.X)[0]
    assert found.steps < 200
    np.testing.assert_array_equal(start, 0.0)


def test_it_ends_when_told_so_or_when_steps_gain_little():
    losses: list[float] = []

    def done(loss):
        losses.append(loss)
        return len(losses) == 3

    assert descend(quadratic, np.zeros((3, 4)), done=done).steps == 3
    assert losses == sorted(losses, reverse=True)
    exact = descend(quadratic, np.zeros((3, 4)))
    assert descend(quadratic, np.zeros((3, 4)), rtol=1e-2).steps < exact.steps
    assert descend(quadratic, np.zeros((3, 4)), steps=2).steps == 2
