"""Products of random factors: edges by their check values, largest values by sampled matrices."""

from __future__ import annotations

import numpy as np
import pytest

from presage.checkpoints.nulls.samplers import product_values
from presage.spectra.random_products import product_edges, product_top, symmetric_edge, symmetric_top, uneven_edge


def test_edges_are_those_of_the_check_values():
    assert product_edges(64, 512, 512) == pytest.approx((274.29922, 782.21732), rel=1e-7)
    assert product_edges(64, 64, 64) == pytest.approx((0.0, 166.27688), rel=1e-7, abs=1e-9)
    assert product_edges(32, 256, 512) == pytest.approx((213.60601, 525.67913), rel=1e-7)
    assert product_edges(32, 512, 256) == product_edges(32, 256, 512)
    assert symmetric_edge(64, 512) == pytest.approx(450.60418, rel=1e-7)
    rows = np.repeat([1.0, 4.0], 256)
    assert uneven_edge(64, rows, rows) == pytest.approx(2085.0153, rel=1e-6)
    assert uneven_edge(32, np.ones(256), np.ones(512)) == pytest.approx(525.67913, rel=1e-6)


def test_the_largest_value_of_sampled_products():
    mean, deviation = product_top(64, 512, 512)
    assert (mean, deviation) == pytest.approx((588953, 21234), rel=2e-4)
    rng = np.random.default_rng(1)
    for h, d_q, d_k in ((64, 512, 512), (32, 256, 512)):
        mean, deviation = product_top(h, d_q, d_k)
        top = product_values(h, d_q, d_k, 4000, rng)[:, 0] ** 2
        assert top.mean() == pytest.approx(mean, rel=0.002)
        assert top.std() == pytest.approx(deviation, rel=0.08)
    parts = []
    for _ in range(300):
        Q, K = rng.standard_normal((2, 256, 32))
        middle = np.block([[K.T @ Q, K.T @ K], [Q.T @ Q, Q.T @ K]]) / 2.0  # its eigenvalues are those of (M + M')/2
        parts.append(np.linalg.eigvals(middle).real.max())
    mean, deviation = symmetric_top(32, 256)
    assert np.mean(parts) == pytest.approx(mean, rel=0.01)
    assert np.std(parts) == pytest.approx(deviation, rel=0.15)


def test_uneven_rows_end_at_their_edge():
    rng = np.random.default_rng(2)
    rows = np.repeat([1.0, 2.0], 256)
    factors = np.sqrt(rows)[:, None] * rng.standard_normal((40, 512, 64))
    tops = [
        np.linalg.svd(np.linalg.qr(Q)[1] @ np.linalg.qr(K)[1].T, compute_uv=False)[0]
        for Q, K in zip(factors[::2], factors[1::2], strict=True)
    ]
    assert np.mean(tops) / uneven_edge(64, rows, rows) == pytest.approx(0.975, abs=0.012)
