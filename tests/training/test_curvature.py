"""Power iteration finds the largest eigenvalue of a known map, from below."""

from __future__ import annotations

import numpy as np
import pytest

from presage.laws.random_frame import random_frame
from presage.training.curvature import MARGIN, power_iteration

SPECTRUM = np.array([3.0, 2.5, 1.0, 0.2, 0.0])


def test_it_finds_the_largest_eigenvalue_from_below():
    rng = np.random.default_rng(0)
    frame = random_frame(5, 5, rng)
    A = (frame * SPECTRUM) @ frame.T
    found, passes = power_iteration(lambda x: A @ x, rng.standard_normal(5), rtol=1e-12)
    assert found == pytest.approx(3.0, rel=1e-9)
    rough, fewer = power_iteration(lambda x: A @ x, rng.standard_normal(5), rtol=1e-3)
    assert fewer < passes
    assert rough <= 3.0 * (1.0 + 1e-12) < MARGIN * rough


def test_a_map_of_matrices_and_a_negative_eigenvalue():
    found, _ = power_iteration(lambda X: -2.0 * (X + X.T), np.random.default_rng(1).standard_normal((4, 4)), rtol=1e-6)
    assert found == pytest.approx(4.0)


def test_least_passes_and_a_map_to_zero():
    start = np.ones(3)
    assert power_iteration(lambda x: 7.0 * x, start, rtol=1e-3)[1] == 2
    assert power_iteration(lambda x: 7.0 * x, start, rtol=1e-3, least=5)[1] == 5
    assert power_iteration(lambda x: 0.0 * x, start, rtol=1e-3, least=5) == (0.0, 1)
    np.testing.assert_array_equal(start, np.ones(3))
