"""Anderson's mixing on maps whose fixed points are known."""

from __future__ import annotations

import numpy as np
import pytest

from presage.training.anderson import mixing_weights


def mixed_iteration(matrix, shift, *, memory, steps):
    """Iterate ``x -> A x + b`` with mixing; return the distance from the fixed point after each step."""
    fixed = np.linalg.solve(np.eye(len(shift)) - matrix, shift)
    x, way = np.zeros_like(shift), []
    images: list[np.ndarray] = []
    residuals: list[np.ndarray] = []
    for _ in range(steps):
        image = matrix @ x + shift
        images, residuals = [*images, image][-memory:], [*residuals, image - x][-memory:]
        x = mixing_weights(residuals) @ np.array(images)
        way.append(np.linalg.norm(x - fixed))
    return np.array(way)


@pytest.mark.parametrize("radius", [0.5, 0.95, 1.5])
def test_a_linear_map_is_solved_in_as_many_steps_as_it_has_dimensions(radius):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((3, 3))
    matrix *= radius / np.abs(np.linalg.eigvals(matrix)).max()  # the last one does not even contract
    shift = rng.standard_normal(3)
    way = mixed_iteration(matrix, shift, memory=4, steps=5)
    assert way[-1] < 1e-6 * way[0]
    if radius > 1:  # negative control
        assert mixed_iteration(matrix, shift, memory=1, steps=40)[-1] > way[0]


def test_weights_have_sum_one_and_the_least_residual():
    residuals = list(np.random.default_rng(1).standard_normal((3, 8)))
    weights = mixing_weights(residuals)
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    least = np.linalg.norm(weights @ np.array(residuals))
    for direction in ([1, -1, 0], [0, 1, -1], [1, 0, -1]):
        for size in (-0.01, 0.01):
            assert np.linalg.norm((weights + size * np.array(direction)) @ np.array(residuals)) > least


def test_a_single_residual_and_equal_ones_leave_the_last():
    one = np.ones(4)
    np.testing.assert_array_equal(mixing_weights([one]), [1.0])
    np.testing.assert_array_equal(mixing_weights([one, one, one]), [0.0, 0.0, 1.0])
