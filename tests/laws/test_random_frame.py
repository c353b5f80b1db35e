"""Frames are orthonormal and uniform over all rotations."""

from __future__ import annotations

import numpy as np
import pytest

from presage.laws.random_frame import random_frame


@pytest.mark.parametrize(("size", "columns"), [(5, 5), (7, 3), (4, 1)])
def test_columns_are_orthonormal(size, columns):
    frame = random_frame(size, columns, np.random.default_rng(0))
    assert frame.shape == (size, columns)
    np.testing.assert_allclose(frame.T @ frame, np.eye(columns), atol=1e-14)


def test_the_trace_has_the_moments_of_a_uniform_rotation():
    rng = np.random.default_rng(1)
    traces = np.array([np.trace(random_frame(4, 4, rng)) for _ in range(4000)])
    bare = np.array([np.trace(np.linalg.qr(rng.standard_normal((4, 4)))[0]) for _ in range(4000)])
    for moment, expected in ((1, 0.0), (2, 1.0)):
        powers = traces**moment
        assert abs(powers.mean() - expected) < 5 * powers.std() / np.sqrt(powers.size)
    assert abs(bare.mean()) > 10 * bare.std() / np.sqrt(
        bare.size
    )  # negative control: the bare QR factor is not uniform
