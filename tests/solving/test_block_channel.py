"""Blocks seen through a few combinations: closed channels, the channel of one head, derivatives, the lowest minimum."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.multihead.theory.mean_loss import MeanOfHeads, products_of_heads
from presage.solving.block_channel import BlockChannel, BlockOverlaps, normal_points
from presage.solving.block_prox import LossTerms, proximal_points

RHO_0 = np.array([[1.6, 0.5], [0.5, 1.4]])
STATE = BlockOverlaps(
    np.array([[0.9, 0.4], [0.3, 0.8]]), np.array([[0.8, 0.4], [0.4, 0.9]]), np.array([[1.2, -0.5], [-0.5, 0.9]])
)


def squares(u0, u):
    """``|u - u0|^2``."""
    n, P = u.shape
    identity = np.broadcast_to(np.eye(P), (n, P, P))
    return LossTerms(np.sum((u - u0) ** 2, axis=1), 2.0 * (u - u0), 2.0 * identity, -2.0 * identity)


def double_well(u0, u):
    """``sum (u^2 - u0^2)^2``: two minima a component."""
    square = u * u - u0 * u0
    value = np.sum(square**2, axis=1)
    diagonal, crossed = 12.0 * u * u - 4.0 * u0 * u0, -8.0 * u * u0
    one = np.eye(u.shape[1])
    return LossTerms(value, 4.0 * u * square, diagonal[:, :, None] * one, crossed[:, :, None] * one)


def test_hats_of_a_linear_channel_are_closed():
    A = [np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -1.0]]), np.array([[0.3, 0.0, 1.0], [1.0, -1.0, 0.0]])]
    products = np.array([[A[g] @ A[k].T for k in range(2)] for g in range(2)])
    channel = BlockChannel(products, scale=2.6, nodes=2**12, seed=3)
    found = channel.averages(squares, RHO_0, STATE)
    K, seen_q = channel.seen(STATE.Sigma), channel.seen(STATE.q)
    slope = 2.0 * np.linalg.inv(np.eye(2) + 2.0 * K)  # lam = slope (u0 - u)
    expected = np.array([[2.6 * np.trace(A[g].T @ slope @ A[k]) for k in range(2)] for g in range(2)])
    assert np.allclose(found.hats.m_hat, expected, rtol=1e-12)
    assert np.allclose(found.hats.Sigma_hat, expected, rtol=1e-12)
    crossed = channel.seen(STATE.m)
    residual = channel.seen(RHO_0) - crossed - crossed.T + seen_q
    second = slope @ residual @ slope.T
    q_hat = np.array([[2.6 * np.trace(A[g] @ A[k].T @ second) for k in range(2)] for g in range(2)])
    assert np.allclose(found.hats.q_hat, q_hat, rtol=5e-3)
    assert found.test_error == pytest.approx(np.trace(residual), rel=5e-3)


def test_one_block_is_the_channel_of_attention():
    answer = ps.solve(ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.05, noise=0.5))
    channel = BlockChannel(products_of_heads(1), scale=1.0, nodes=2**14, seed=1)
    state = BlockOverlaps(*(np.array([[value]]) for value in answer.overlaps))
    found = channel.averages(MeanOfHeads(), np.array([[answer.problem.rho_0]]), state)
    assert found.hats.m_hat[0, 0] == pytest.approx(answer.m_hat, rel=2e-3)
    assert found.hats.Sigma_hat[0, 0] == pytest.approx(answer.Sigma_hat, rel=2e-3)
    assert found.hats.q_hat[0, 0] == pytest.approx(answer.q_hat, rel=4e-3)
    assert found.test_error == pytest.approx(answer.test_error, rel=2e-3)
    assert found.train_error == pytest.approx(answer.train_error, rel=4e-3)


def test_without_derivatives_the_hats_are_the_same():
    channel = BlockChannel(products_of_heads(2), scale=4.0, nodes=2**14, seed=5)
    found = channel.averages(MeanOfHeads(), RHO_0, STATE)
    m_hat, Sigma_hat = found.stein(channel.products, channel.scale)
    assert np.allclose(m_hat, found.hats.m_hat, rtol=0.01)
    assert np.allclose(Sigma_hat, found.hats.Sigma_hat, rtol=0.01)
    assert not np.allclose(m_hat, found.hats.Sigma_hat, rtol=0.01)  # the tolerance tells the two apart


def test_of_several_minima_the_lowest_is_kept():
    rng = np.random.default_rng(2)
    u0, u = rng.normal(size=(50, 2)), rng.normal(size=(50, 2))
    K = np.array([[1.5, 0.4], [0.4, 0.8]])
    found = proximal_points(double_well, u0, u, K, [u, u0, -u0, 0.5 * (u + u0), u0 * [1.0, -1.0], u0 * [-1.0, 1.0]])
    inverse = np.linalg.inv(K)
    line = np.linspace(-4.0, 4.0, 401)
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    for k in range(50):
        away = grid - u[k]
        values = 0.5 * np.einsum("ni,ij,nj->n", away, inverse, away) + np.sum((grid**2 - u0[k] ** 2) ** 2, axis=1)
        assert found.objective[k] <= values.min() + 1e-12
        assert found.objective[k] == pytest.approx(values.min(), abs=0.02 * (1.0 + abs(values.min())))


def test_one_start_misses_minima():
    rng = np.random.default_rng(2)
    u0, u = 1.5 + rng.random((200, 1)), 0.3 * rng.normal(size=(200, 1))
    K = np.array([[2.0]])
    one = proximal_points(double_well, u0, u, K, [-u0])
    all_starts = proximal_points(double_well, u0, u, K, [-u0, u, u0])
    assert np.mean(all_starts.objective < one.objective - 1e-6) > 0.3
    assert np.all(all_starts.objective <= one.objective)


def test_a_symmetry_of_the_blocks_leaves_less_noise():
    even = BlockOverlaps(*(0.5 * (part + part[::-1, ::-1]) for part in STATE))
    rho_0 = 0.5 * (RHO_0 + RHO_0[::-1, ::-1])
    plain = BlockChannel(products_of_heads(2), scale=4.0, nodes=512, seed=1)
    averaged = BlockChannel(products_of_heads(2), scale=4.0, nodes=512, seed=1, permutations=[(0, 1), (1, 0)])
    one, both = (channel.averages(MeanOfHeads(), rho_0, even).hats.m_hat for channel in (plain, averaged))
    assert both[0, 0] == pytest.approx(both[1, 1], rel=1e-14)
    assert both[0, 1] == pytest.approx(both[1, 0], rel=1e-14)
    assert one[0, 0] != pytest.approx(one[1, 1], rel=1e-6)
    assert both[0, 0] == pytest.approx(0.5 * (one[0, 0] + one[1, 1]), rel=1e-12)


def test_points_are_normal_and_fixed():
    points = normal_points(4, 4096, 7)
    assert points is normal_points(4, 4096, 7)
    assert np.allclose(points.T @ points / 4096, np.eye(4), atol=5e-3)
    assert scipy.stats.kstest(points[:, 2], "norm").statistic < 1e-3
