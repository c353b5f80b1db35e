from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.checkpoints.flips import _flipped, at_least, flipped_tops, own_p, pooled_p


def test_flips_are_those_of_whole_matrices():
    rng = np.random.default_rng(0)
    Q, K = rng.standard_normal((2, 40, 6))
    found = flipped_tops(Q, K, 4, np.random.default_rng(1))
    again = np.random.default_rng(1)
    bits = [again.integers(0, 1 << 32, (40, 6), dtype=np.uint32) for _ in range(2)]
    for j in range(4):
        q, k = (_flipped(W.astype(np.float32), b, j).astype(float) for W, b in zip((Q, K), bits, strict=True))
        assert np.abs(q) == pytest.approx(np.abs(Q), rel=1e-6)
        assert 0.3 < np.mean(q * Q < 0.0) < 0.7
        assert found[j] == pytest.approx(np.linalg.svd(q @ k.T, compute_uv=False)[0], rel=1e-5)
    tied = flipped_tops(Q, None, 3, np.random.default_rng(2))
    bits = [np.random.default_rng(2).integers(0, 1 << 32, (40, 6), dtype=np.uint32)]
    q = _flipped(Q.astype(np.float32), bits[0], 2).astype(float)
    assert tied[2] == pytest.approx(np.linalg.svd(q, compute_uv=False)[0] ** 2, rel=1e-5)


@pytest.mark.slow
def test_uneven_rows_are_no_signal():
    """Rows of lognormal size: nothing but flips keeps its level, and no spike is ever counted."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(40):
        rows = np.exp(rng.normal(0.0, 0.3, (2, 512, 1)))
        found.append(ps.read_head(*(rows * rng.standard_normal((2, 512, 64)))))
    assert np.mean([one.p_random < 0.05 for one in found]) > 0.9
    assert np.mean([bool(one.at_least) for one in found]) < 0.2
    assert not any(one.verdict == "noise bulk + spikes" and one.spikes and not one.at_least for one in found)


@pytest.mark.parametrize("size", [1e-25, 1.0, 1e25])
def test_weights_of_any_size(size):
    """Squares leave single precision: dead heads have entries of 1e-25."""
    Q, K = np.random.default_rng(5).standard_normal((2, 60, 24))
    found = flipped_tops(size * Q, K, 5, np.random.default_rng(1))
    assert found == pytest.approx(size * flipped_tops(Q, K, 5, np.random.default_rng(1)), rel=1e-5)


def test_one_row_that_is_far_larger():
    """The Gram matrix of a factor with one huge row has rounding of the size of its small eigenvalues."""
    Q, K = np.random.default_rng(6).standard_normal((2, 256, 128))
    Q[0] *= 1e6
    tops = flipped_tops(Q, K, 5, np.random.default_rng(1))
    again = np.random.default_rng(1)
    bits = [again.integers(0, 1 << 32, (256, 128), dtype=np.uint32) for _ in range(2)]
    for j, top in enumerate(tops):
        q, k = (_flipped(W.astype(np.float32), b, j).astype(float) for W, b in zip((Q, K), bits, strict=True))
        assert top == pytest.approx(np.linalg.svd(q @ k.T, compute_uv=False)[0], rel=1e-4)


def test_flips_without_spread_have_no_say():
    """Diagonal factors keep their values whatever the signs: they have no units, and others are judged without them."""
    rng = np.random.default_rng(7)
    tops = np.vstack([np.ones((2, 19)), rng.normal(2.0, 0.1, (6, 19))])
    top = np.array([1.0, 1.5, 3.0, *rng.normal(2.0, 0.1, 5)])
    p = pooled_p(top, tops)
    assert p[:2] == pytest.approx([1.0, 1 / 20])
    assert p[2:] == pytest.approx(pooled_p(top[2:], tops[2:]))
    assert p[2] == pytest.approx(1 / (6 * 19 + 1))
    assert pooled_p(top[:2], tops[:2]) == pytest.approx([1.0, 1 / 20])


def test_ranks_among_flips():
    tops = np.arange(19.0)
    assert own_p(18.5, tops) == pytest.approx(1 / 20)
    assert own_p(9.0, tops) == pytest.approx(11 / 20)
    assert at_least(np.array([20.0, 18.5, 18.0, 3.0]), tops) == 2
    rng = np.random.default_rng(4)
    rows = rng.normal(5.0, 2.0, (2000, 20))
    p = pooled_p(rows[:, 0], rows[:, 1:])
    assert np.mean(p <= 0.05) == pytest.approx(0.05, abs=0.015)
    assert np.mean(p <= 0.01) == pytest.approx(0.01, abs=0.007)
