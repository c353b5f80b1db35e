"""Points of samples: fields, selected scores, reused scores."""

from __future__ import annotations

import numpy as np
import pytest

from presage.models.lora.theory.effective_noise import reused_noise, selected_noise
from presage.models.lora.theory.samples import fields_of, frozen_and_target, points_of
from presage.solving.vector_state_evolution import Overlaps
from tests.models.lora.fixed_points import layer, linear, softmax


def test_fields_have_the_covariance_of_the_overlaps():
    problem = linear(2, 3.0, 0.5, rank=2, target_rank=2, strength=1.5)
    m, q = np.array([[1.1, 0.0], [0.0, 0.9]]), np.array([[1.3, 0.1], [0.1, 0.8]])
    points = points_of(problem, 2**13, 1)
    omega = fields_of(points, Overlaps(m, q, np.eye(2)), 1.5)
    n = omega.shape[0] * omega.shape[1]
    assert np.einsum("nar,nas->rs", omega, omega) / n == pytest.approx(q, abs=0.01)
    assert np.einsum("nar,nas->rs", omega, points.chi) / n == pytest.approx(m, abs=0.01)
    assert np.einsum("nar,nas->rs", points.chi, points.chi) / n == pytest.approx(1.5 * np.eye(2), abs=0.01)


def test_fresh_scores_have_the_covariance_of_the_layer():
    before = layer(1.2, 1.1, 1.75)
    problem = softmax(2, 6.0, 0.05, selection=0.1)
    z, z_0 = frozen_and_target(problem, before, points_of(problem, 2**13, 1), fresh=True)
    assert np.mean(z * z) == pytest.approx(1.2, rel=0.01)
    assert np.mean(z * z_0) == pytest.approx(1.1, rel=0.01)
    assert np.mean(z_0 * z_0) == pytest.approx(1.75, rel=0.01)


@pytest.mark.parametrize("f", [0.5, 0.05])
def test_selected_scores_are_the_smallest_of_a_pool(f):
    """Of a large pool, drawn: the sizes of the scores that are kept, by their quantiles, and what they leave."""
    before = layer(1.2, 1.1, 1.75)
    problem = softmax(2, 6.0, 0.05, selection=f)
    z, z_0 = frozen_and_target(problem, before, points_of(problem, 2**13, 1), fresh=False)
    pool = np.sum(np.random.default_rng(0).normal(0.0, np.sqrt(1.2), (400_000, 3)) ** 2, axis=1)
    kept = np.sort(pool)[: round(f * len(pool))]
    levels = [0.1, 0.5, 0.9, 0.999]
    assert np.quantile(np.sum(z * z, axis=1), levels) == pytest.approx(np.quantile(kept, levels), rel=0.03)
    assert np.mean((z_0 - z) ** 2) == pytest.approx(selected_noise(before, f, 3), rel=0.01)


@pytest.mark.parametrize(("reuse", "same"), [("noise", True), ("sequences", False)])
def test_reused_scores_are_those_of_trained_samples(reuse, same):
    """For a linear output what is left of a reused label has the closed variance."""
    before = layer(1.2, 1.1, 1.75, Sigma=0.3)
    of_softmax = softmax(2, 6.0, 0.05, reuse=reuse)
    points = points_of(of_softmax, 2**13, 1)
    problem = linear(2, 6.0, 0.05, reuse=reuse)
    z, z_0 = frozen_and_target(problem, before, points, fresh=False)
    assert np.mean((z_0 - z) ** 2) == pytest.approx(reused_noise(before, same_noise=same), rel=0.01)
    assert np.mean(z_0 * z_0) == pytest.approx(1.75, rel=0.01)


def test_fresh_scores_of_a_reuse_are_not_those_of_its_training():
    before = layer(1.2, 1.1, 1.75, Sigma=0.3)
    problem = softmax(2, 6.0, 0.05, reuse="noise")
    z, z_0 = frozen_and_target(problem, before, points_of(problem, 2**12, 1), fresh=True)
    assert np.mean((z_0 - z) ** 2) == pytest.approx(1.75 - 2.2 + 1.2, rel=0.02)
