"""Symmetric and antisymmetric parts: derivatives, closed forms beside drawn matrices, and what one stiffness misses."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.untied.theory.block_evolution import Ridge, nuclear, parts, settled
from presage.models.untied.theory.block_rows import SEEN, linear_conjugates, softmax_rows
from presage.solving.block_channel import BlockChannel, BlockHats, BlockOverlaps
from presage.solving.block_prox import LossTerms
from presage.solving.sampled_weights import SampledWeights, wigner
from tests.models.untied.problems import HALF, cross, itself

RHO_0, M, Q, SIGMA = np.diag([0.8, 0.6]), np.diag([0.4, 0.25]), np.diag([0.45, 0.3]), np.diag([0.5, 0.9])


def test_the_loss_of_two_rows_has_its_derivatives():
    loss = softmax_rows(itself(beta=1.3, beta_0=0.8))
    rng = np.random.default_rng(0)
    u0, u = rng.standard_normal((2, 5, 2))
    terms, h = loss(u0, u), 1e-5
    for i in range(2):
        step = np.zeros(2)
        step[i] = h
        ahead, behind = loss(u0, u + step), loss(u0, u - step)
        assert np.allclose(terms.gradient[:, i], (ahead.value - behind.value) / (2 * h), atol=1e-8)
        assert np.allclose(terms.hessian[:, :, i], (ahead.gradient - behind.gradient) / (2 * h), atol=1e-8)
        ahead, behind = loss(u0 + step, u), loss(u0 - step, u)
        assert np.allclose(terms.cross[:, :, i], (ahead.gradient - behind.gradient) / (2 * h), atol=1e-8)


def test_differences_of_scores_see_the_parts_as_said():
    rng = np.random.default_rng(1)
    S = parts(rng.standard_normal((40, 40)) / sqrt(40))
    x = rng.standard_normal((60_000, 2, 40))
    found = []
    for part in S:
        R = np.einsum("nai,ij,nbj->nab", x, part, x, optimize=True) / sqrt(40)
        R[:, [0, 1], [0, 1]] -= np.trace(part) / sqrt(40)
        u = np.stack([R[:, 0, 0] - R[:, 0, 1], R[:, 1, 1] - R[:, 1, 0]])
        found.append(np.cov(u) / (np.sum(part**2) / 40))
    assert np.allclose(found, [SEEN[0, 0], SEEN[1, 1]], atol=0.08)


def test_a_linear_output_through_the_softmax_route():
    problem = itself(output="linear")
    # Four scores, u = (R_11, R_22, R_12, R_21) by their parts, and the loss |u - u0|^2.
    A_s = np.array([[sqrt(2.0), 0, 0], [0, sqrt(2.0), 0], [0, 0, 1.0], [0, 0, 1.0]])
    A_a = np.array([[0.0], [0.0], [1.0], [-1.0]])
    none = np.zeros((4, 4))
    products = np.array([[A_s @ A_s.T, none], [none, A_a @ A_a.T]])
    channel = BlockChannel(products, scale=2.0 * problem.alpha, nodes=1024, seed=0)

    def squares(u0, u):
        eye = np.broadcast_to(2.0 * np.eye(4), (len(u), 4, 4))
        return LossTerms(np.sum((u - u0) ** 2, axis=1), 2.0 * (u - u0), eye, -eye)

    overlaps = BlockOverlaps(M, Q, SIGMA + 1e-9)
    K = channel.seen(SIGMA)
    assert np.linalg.matrix_rank(K) == 4
    sampled = channel.averages(squares, RHO_0, overlaps)
    closed = linear_conjugates(problem, RHO_0, overlaps)
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
    closed = Ridge(np.diag(np.diag(drawn.Q_0)), tau).overlaps(hats)
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


def test_one_stiffness_for_both_parts_is_wrong():
    # The negative control: what counts T^2 measurements for symmetric and antisymmetric parts alike.
    problem = itself(alpha=0.4, weight_decay=0.1, output="linear", penalty="frobenius")
    right = ps.solve(problem)
    isotropic = ps.solve(cross(alpha=0.4, weight_decay=0.1, output="linear", penalty="frobenius"))
    assert right.symmetric_error < 0.7 * right.antisymmetric_error
    assert abs(isotropic.estimation_error / right.estimation_error - 1.0) > 0.02


@pytest.mark.slow
def test_the_isotropic_closure_misses_the_error_and_the_rank():
    problem = itself(alpha=0.4, weight_decay=0.1, output="linear")
    right = ps.solve(problem)
    isotropic = ps.solve(cross(alpha=0.4, weight_decay=0.1, output="linear"))
    assert (isotropic.estimation_error, isotropic.rank) == pytest.approx((0.236, 0.879), abs=1e-3)
    assert isotropic.estimation_error < 0.91 * right.estimation_error
    assert isotropic.rank > 1.06 * right.rank
    assert isotropic.estimation_error < right.estimation_error - 3.0 * right.error_bars["estimation_error"]


def test_a_symmetric_target_has_no_antisymmetric_part():
    problem = itself(target=ps.MarchenkoPastur(0.5), penalty="frobenius", output="linear", weight_decay=0.05)
    weights = Ridge(np.diag([problem.Q_0, 0.0]), 0.05)
    found = settled(problem, weights, seed=0, tol=1e-10)
    assert found.overlaps.m[1, 1] == 0.0
    assert found.overlaps.q[1, 1] > 0.01  # pure overfitting: the price of untying
    solved = ps.solve(problem)
    assert solved.antisymmetric_error == pytest.approx(found.overlaps.q[1, 1], rel=1e-5)


def test_no_weight_decay_is_refused_where_a_token_looks_at_itself():
    with pytest.raises(ps.InputError, match="`weight_decay` must be above 0 where a token looks at itself"):
        ps.solve(itself(weight_decay=0.0))
