"""Symmetric and antisymmetric parts: closed forms beside drawn matrices and beside general maps."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.solving.block_channel import BlockChannel, BlockHats, BlockOverlaps
from presage.solving.block_prox import LossTerms
from presage.solving.matrix_parts import RidgeParts, linear_parts, nuclear, parts
from presage.solving.sampled_weights import SampledWeights, wigner

HALF = ps.GaussianProduct(0.5)
RHO_0, M, Q, SIGMA = np.diag([0.8, 0.6]), np.diag([0.4, 0.25]), np.diag([0.45, 0.3]), np.diag([0.5, 0.9])


def test_scores_as_they_are_through_proximal_maps():
    alpha = 1.0
    # Four scores, u = (R_11, R_22, R_12, R_21) by their parts, and the loss |u - u0|^2.
    A_s = np.array([[sqrt(2.0), 0, 0], [0, sqrt(2.0), 0], [0, 0, 1.0], [0, 0, 1.0]])
    A_a = np.array([[0.0], [0.0], [1.0], [-1.0]])
    none = np.zeros((4, 4))
    products = np.array([[A_s @ A_s.T, none], [none, A_a @ A_a.T]])
    channel = BlockChannel(products, scale=2.0 * alpha, nodes=1024, seed=0)

    def squares(u0, u):
        eye = np.broadcast_to(2.0 * np.eye(4), (len(u), 4, 4))
        return LossTerms(np.sum((u - u0) ** 2, axis=1), 2.0 * (u - u0), eye, -eye)

    overlaps = BlockOverlaps(M, Q, SIGMA + 1e-9)
    K = channel.seen(SIGMA)
    assert np.linalg.matrix_rank(K) == 4
    sampled = channel.averages(squares, RHO_0, overlaps)
    closed = linear_parts(2, alpha, RHO_0, overlaps)
    for one, other in zip(sampled.hats, closed.hats, strict=True):
        assert np.diag(one) == pytest.approx(np.diag(other), rel=1e-2)
    assert (sampled.test_error, sampled.train_error) == pytest.approx((closed.test, closed.train), rel=1e-2)


def test_a_ridge_is_that_of_drawn_matrices():
    rng, d, tau = np.random.default_rng(2), 80, 0.3
    noise = rng.standard_normal((d, d))
    noises = np.stack([wigner(d, rng), (noise - noise.T) / sqrt(2.0 * d)])
    hats = BlockHats(np.diag([0.9, 0.5]), np.diag([0.2, 0.3]), np.diag([1.1, 0.7]))

    def shrink(blocks, step):  # of the penalty tau |S|_F^2
        return blocks / (1.0 + 2.0 * tau * step)

    drawn = SampledWeights(parts(HALF.sample(d, d, rng)), noises, shrink)
    closed = RidgeParts(np.diag(drawn.Q_0), tau).overlaps(hats)
    for one, other in zip(drawn.overlaps(hats, tol=1e-10), closed, strict=True):
        assert np.diag(one) == pytest.approx(np.diag(other), rel=1e-6)


def test_the_map_of_a_nuclear_norm_is_a_minimum():
    rng, d, step = np.random.default_rng(3), 12, 0.7
    blocks = parts(rng.standard_normal((d, d)))
    S = nuclear(1.5)(blocks, step)
    assert np.allclose(S, parts(S.sum(axis=0)))

    def cost(X):
        return 1.5 * step * np.linalg.norm(X.sum(axis=0), "nuc") + 0.5 * np.sum((X - blocks) ** 2)

    for _ in range(20):
        assert cost(S + 1e-3 * parts(rng.standard_normal((d, d)))) > cost(S)


def test_equal_hats_of_the_parts_are_one_matrix():
    # With one pull for both parts the drawn matrix is a soft threshold, whose law is known: that of distinct tokens.
    from presage.models.untied.theory.weights import shrunk_by_weight_decay

    rng, d = np.random.default_rng(4), 150
    noise = rng.standard_normal((d, d))
    noises = np.stack([wigner(d, rng), (noise - noise.T) / sqrt(2.0 * d)])
    drawn = SampledWeights(parts(HALF.sample(d, d, rng)), noises, nuclear(2.0 * 0.02))
    m_hat, q_hat, Sigma_hat = 0.58, 0.042, 0.64  # twice those of a full matrix, whose noise is (G_s + G_a)/sqrt(2)
    eye = np.eye(2)
    found = drawn.overlaps(BlockHats(m_hat * eye, q_hat * eye, Sigma_hat * eye))
    known = shrunk_by_weight_decay(HALF, 0.02, np.log([m_hat, q_hat, Sigma_hat]) - np.log(2.0)).overlaps
    assert np.trace(found.m) == pytest.approx(known.m, rel=0.03)
    assert np.trace(found.q) == pytest.approx(known.q, rel=0.03)
    assert np.diag(found.Sigma) == pytest.approx([known.Sigma / 2.0] * 2, rel=0.04)
