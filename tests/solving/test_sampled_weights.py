"""Several matrices at a finite size: closed overlaps of a ridge, the exact weight side of one matrix, optimality."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.solving.block_channel import BlockHats
from presage.solving.sampled_weights import (
    SampledWeights,
    cut_below,
    in_random_frame,
    mixed,
    orthogonal,
    products,
    wigner,
    within_bounds,
)

HATS = BlockHats(
    np.array([[0.55, 0.47], [0.45, 0.6]]), np.array([[0.03, 0.02], [0.02, 0.04]]), np.array([[0.7, 0.5], [0.5, 0.8]])
)
LAW = ps.MarchenkoPastur(0.5)


def drawn(prox, d=40, seed=0, G=2):
    rng = np.random.default_rng(seed)
    eigenvalues = LAW.quantile((np.arange(d) + 0.5) / d)
    targets = np.array([in_random_frame(eigenvalues, rng) for _ in range(G)])
    return SampledWeights(targets, np.array([wigner(d, rng) for _ in range(G)]), prox)


def test_a_ridge_has_closed_overlaps():
    tau = 0.05
    weights = drawn(lambda blocks, step: blocks / (1.0 + 2.0 * tau * step))
    found = weights.overlaps(HATS, tol=1e-12, most=2000)
    Sigma = np.linalg.inv(HATS.Sigma_hat + 4.0 * tau * np.eye(2))
    Q_0 = weights.Q_0
    assert np.allclose(found.Sigma, Sigma, rtol=1e-8)
    assert np.allclose(found.m, Sigma @ HATS.m_hat @ Q_0, rtol=1e-8)
    assert np.allclose(found.q, Sigma @ (HATS.m_hat @ Q_0 @ HATS.m_hat.T + HATS.q_hat) @ Sigma.T, rtol=1e-8)


def test_one_matrix_is_the_weight_side_of_attention():
    problem = ps.attention(LAW, alpha=0.8, weight_decay=0.02, noise=0.2)
    answer = ps.solve(problem)
    hats = BlockHats(*(np.array([[value]]) for value in answer.conjugates))
    copies = [drawn(cut_below(0.02), 80, seed, 1) for seed in range(8)]
    found = np.array([[part[0, 0] for part in weights.overlaps(hats, tol=1e-8)] for weights in copies])
    error = 3.0 * found.std(axis=0, ddof=1) / np.sqrt(len(found))
    # Quantiles of a law at a finite size have a second moment that is 3e-3 too small.
    assert np.all(np.abs(found.mean(axis=0) - answer.overlaps) < error + 3e-3 * np.array(answer.overlaps))
    assert error[2] < 0.02 * answer.Sigma
    rank = np.mean([np.mean(np.linalg.eigvalsh(weights.S[0]) > 1e-9) for weights in copies])
    assert rank == pytest.approx(answer.rank, abs=0.01)


def test_a_joint_minimum_is_one():
    """Where eigenvalues are kept the loss pulls by the threshold, and nowhere else by more."""
    threshold = 0.02
    weights = drawn(cut_below(threshold))
    weights.overlaps(HATS, tol=1e-11, most=5000)
    values, vectors = np.linalg.eigh(HATS.q_hat)
    noises = mixed((vectors * np.sqrt(values)) @ vectors.T, weights.noises)
    pull = 0.5 * (mixed(HATS.m_hat, weights.targets) + noises - mixed(HATS.Sigma_hat, weights.S))
    for S, towards in zip(weights.S, pull, strict=True):
        size, frame = np.linalg.eigh(S)
        kept = size > 1e-9
        assert 0 < kept.sum() < len(size)
        assert np.allclose(towards @ frame[:, kept], threshold * frame[:, kept], atol=1e-6)
        assert np.linalg.eigvalsh(towards).max() < threshold + 1e-6


def test_where_it_begins_plays_no_part():
    cold, warm = drawn(cut_below(0.02)), drawn(cut_below(0.02))
    warm.overlaps(HATS._replace(m_hat=2.0 * HATS.m_hat))
    one, other = (weights.overlaps(HATS, tol=1e-10, most=5000) for weights in (cold, warm))
    for left, right in zip(one, other, strict=True):
        assert np.allclose(left, right, rtol=1e-6)


def test_noises_are_orthogonal_to_the_targets():
    rng = np.random.default_rng(1)
    targets, noises = rng.normal(size=(2, 15, 15)), rng.normal(size=(3, 15, 15))
    clean = orthogonal(noises, targets)
    assert np.allclose(products(clean, clean), 15.0 * np.eye(3), atol=1e-10)
    assert np.allclose(products(clean, targets), 0.0, atol=1e-10)


def test_a_response_is_that_of_no_penalty_at_most():
    stiffness = np.array([[2.0, 0.5], [0.5, 1.0]])
    free = np.linalg.inv(stiffness)
    np.testing.assert_array_equal(within_bounds(0.7 * free, stiffness), 0.7 * free)
    np.testing.assert_allclose(within_bounds(30.0 * free, stiffness), free, rtol=1e-12)
    np.testing.assert_allclose(within_bounds(-free, stiffness), 0.0, atol=1e-15)
    one_too_much = within_bounds(free + 5.0 * np.diag([1.0, -0.05]), stiffness)
    assert np.linalg.eigvalsh(free - one_too_much).min() > -1e-12
    assert np.linalg.eigvalsh(one_too_much).min() > -1e-12


def test_heads_that_are_alike_respond_to_differences_of_their_noises():
    """One noise pulls at both heads, so that what they make of another is seen by a little of it alone."""
    rng = np.random.default_rng(3)
    d = 60
    target = in_random_frame(np.linspace(0.0, 2.0, d), rng)
    noises = np.stack([wigner(d, rng), wigner(d, rng)])
    hats = BlockHats(np.full((2, 2), 0.5), np.ones((2, 2)), np.array([[1.2, 0.8], [0.8, 1.2]]))
    sampled = SampledWeights(np.stack([target, target + 1e-9 * wigner(d, rng)]), noises, lambda blocks, step: blocks)
    found = sampled.overlaps(hats, tol=1e-9)
    np.testing.assert_allclose(found.Sigma, np.linalg.inv(hats.Sigma_hat), rtol=1e-3)
    np.testing.assert_allclose(found.q[0, 0], found.q[1, 1], rtol=0.02)
