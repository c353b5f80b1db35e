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
