"""Directions in noise: strengths and overlaps of sampled matrices, of closed forms and back."""

from __future__ import annotations

import numpy as np
import pytest

from presage.spectra.free_spikes import free_spikes
from presage.spectra.spiked import wigner_strength
from presage.spectra.spiked_rectangular import rectangular_strength, spiked_rectangular


def spiked(p, q, theta, rng, values=None):
    noise = rng.standard_normal((p, q)) / np.sqrt(q)
    if values is not None:  # noise of another law, without preferred directions
        left, _, right = np.linalg.svd(noise, full_matrices=False)
        noise = left * values @ right
    u, v = rng.standard_normal(p), rng.standard_normal(q)
    u, v = u / np.linalg.norm(u), v / np.linalg.norm(v)
    left, s, right = np.linalg.svd(theta * np.outer(u, v) + noise, full_matrices=False)
    return s, (left[:, 0] @ u) ** 2, (right[0] @ v) ** 2


@pytest.mark.parametrize(("p", "q", "own"), [(300, 300, False), (200, 500, False), (200, 400, True)])
def test_strengths_and_overlaps_of_sampled_matrices(p, q, own):
    rng = np.random.default_rng(3)
    theta = 2.5
    values = np.linspace(0.4, 1.2, p) if own else None
    found = []
    for _ in range(12):
        s, left, right = spiked(p, q, theta, rng, values)
        at = free_spikes(s[:1], s[1:], p, q)
        found.append(
            [
                at.strength[0],
                at.overlap_left[0] - left,
                at.overlap_right[0] - right,
                at.shrunk[0] - theta * np.sqrt(left * right),
            ]
        )
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
    assert mean[0] == pytest.approx(theta, abs=4 * error[0] + 0.01)
    assert np.all(np.abs(mean[1:]) < 4 * error[1:] + 0.006)
    assert np.all(error < 0.02)


def test_gaussian_noise_gives_the_closed_form():
    p, q, theta = 400, 1600, 1.5
    rng = np.random.default_rng(4)
    s = np.linalg.svd(rng.standard_normal((p, q)) / np.sqrt(q), compute_uv=False)
    want = spiked_rectangular(theta, p / q)
    at = free_spikes(np.array([want.outlier]), s, p, q)
    assert at.strength[0] == pytest.approx(theta, rel=2e-3)
    assert at.overlap_left[0] == pytest.approx(want.overlap_short, rel=5e-3)
    assert at.overlap_right[0] == pytest.approx(want.overlap_long, rel=5e-3)
    assert at.shrunk[0] == pytest.approx(want.shrunk, rel=5e-3)


def test_a_direction_in_a_rectangle_has_the_check_values():
    found = spiked_rectangular(1.5, 0.25)
    assert found.outlier == pytest.approx(1.900292, rel=1e-6)
    assert found.shrunk == pytest.approx(1.125558, rel=1e-6)
    assert found.overlap_short == pytest.approx(0.855556, rel=1e-6)
    assert found.overlap_long == pytest.approx(0.658120, rel=1e-6)
    assert found.threshold == pytest.approx(0.25**0.25)
    below = spiked_rectangular(0.7, 0.25)
    assert below.outlier == pytest.approx(below.edge) == pytest.approx(1.5)
    assert below.overlap_short == below.overlap_long == below.shrunk == 0.0


def test_strengths_invert_outliers():
    theta = np.array([0.9, 1.5, 4.0])
    assert rectangular_strength(spiked_rectangular(theta, 0.25).outlier, 0.25) == pytest.approx(theta)
    assert rectangular_strength(2.5, 1.0) == pytest.approx(wigner_strength(2.5))
