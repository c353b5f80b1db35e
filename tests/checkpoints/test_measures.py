from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints import measures
from presage.checkpoints.nulls.noise_table import noise_table
from presage.checkpoints.nulls.samplers import gaussian_values


def test_values_are_those_of_the_product():
    Q, K = np.random.default_rng(0).standard_normal((2, 30, 5))
    assert measures.singular_values(Q, K) == pytest.approx(np.linalg.svd(Q @ K.T, compute_uv=False)[:5])


def test_balance_and_symmetry_of_random_factors():
    rng = np.random.default_rng(1)
    h, d = 8, 40
    found = np.array(
        [[measures.balance(Q, K), measures.symmetry(Q, K)] for Q, K in rng.standard_normal((3000, 2, d, h))]
    )
    mean, deviation = measures.balance_of_noise(h)
    assert found[:, 0].mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(3000))
    assert found[:, 0].std() == pytest.approx(deviation, rel=0.06)
    mean, deviation = measures.symmetry_of_noise(d)
    assert found[:, 1].mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(3000))
    assert found[:, 1].std() == pytest.approx(deviation, rel=0.1)
    Q, K = rng.standard_normal((2, d, h))
    frame = np.linalg.qr(rng.standard_normal((d, d)))[0]
    assert measures.balance(Q, frame @ Q) == pytest.approx(1.0)
    M = Q @ K.T
    assert measures.symmetry(Q, K) == pytest.approx(np.trace(M @ M) / np.trace(M @ M.T))
    assert measures.symmetry(Q, Q) == pytest.approx(1.0)


def test_ranks():
    assert measures.stable_rank(np.array([2.0, 2.0, 1.0])) == pytest.approx(9 / 4)
    assert measures.effective_rank(np.array([3.0, 3.0, 0.0])) == pytest.approx(2.0)
    stable, effective = measures.ranks_of_noise("random", 64, 512, 512)
    assert stable.mean == pytest.approx(28.5, abs=0.2)
    assert stable.deviation == pytest.approx(0.9, abs=0.1)
    assert effective.mean > stable.mean


def test_rounding_moves_no_value_by_more_than_the_floor():
    rng = np.random.default_rng(2)
    Q, K = rng.standard_normal((2, 200, 20)) * 0.02
    step = 0.004
    q, k = (np.round(W / step) * step for W in (Q, K))
    floor = measures.rounding_floor(q, k, step / np.sqrt(12), step / np.sqrt(12))
    moved = np.abs(measures.singular_values(Q, K) - measures.singular_values(q, k))
    assert moved.max() < floor < 4.0 * np.linalg.norm(Q @ K.T - q @ k.T, 2)
    norms = [np.linalg.norm(W, 2) for W in (q, k)]
    reach = np.sqrt(200) + np.sqrt(20)
    assert measures.rounding_floor(q, k, 1e-3, 3e-3) == pytest.approx(norms[0] * 3e-3 * reach + norms[1] * 1e-3 * reach)


def test_the_tolerance_of_half_precision_would_call_ordinary_values_zero():
    """The printed tolerance, s_1 2 eps sqrt(d), with the eps of bfloat16 is above ordinary values: a floor is used."""
    values = noise_table("random", 64, 2048, 2048).means
    printed = values[0] * 2.0 * 2.0**-7 * np.sqrt(2048)
    assert np.mean(values < printed) > 0.1
    rng = np.random.default_rng(3)
    Q, K = rng.standard_normal((2, 2048, 64))
    error = 2.0**-7 / np.sqrt(12.0)
    assert measures.rounding_floor(Q, K, error, error) < 0.02 * measures.singular_values(Q, K)[-1]


def test_the_bias_of_the_queries():
    rng = np.random.default_rng(4)
    Q, K = rng.standard_normal((2, 50, 6))
    b = rng.standard_normal(6)
    M = Q @ K.T
    rows = np.sqrt(np.mean(np.sum(M**2, axis=1)))
    assert measures.bias_share(Q, K, b) == pytest.approx(np.linalg.norm(K @ b) / rows)


def test_shares_of_planes():
    rng = np.random.default_rng(5)
    Q, K = rng.standard_normal((2, 50, 6))
    shares = measures.plane_shares(Q, K, "half")
    sizes = [np.linalg.norm(Q[:, [j, j + 3]] @ K[:, [j, j + 3]].T) ** 2 for j in range(3)]
    assert shares == pytest.approx(np.array(sizes) / np.sum(sizes))
    order = [0, 3, 1, 4, 2, 5]
    assert measures.plane_shares(Q[:, order], K[:, order], "interleaved") == pytest.approx(shares)
    angle = 0.7
    turn = np.eye(6)
    turn[np.ix_([1, 4], [1, 4])] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    assert measures.plane_shares(Q @ turn, K @ turn, "half") == pytest.approx(shares)


def test_the_ceiling_is_above_the_noise():
    rng = np.random.default_rng(6)
    found = [
        measures.noise_ceiling(0.37 * (x - 0.9), "shrunk", 256, 256)
        for x in gaussian_values(256, 256, 64, 100, rng) / 16.0
    ]
    assert np.mean(np.array(found) >= 0.37) >= 0.95
    assert np.median(found) < 0.37 * 1.35
