"""The weight side: derivatives beside differences, and shrunk matrices of a finite size."""

from __future__ import annotations

import numpy as np
import pytest

from presage.models.untied.theory.weights import shrunk_by_ridge, shrunk_by_weight_decay
from tests.models.untied.problems import HALF, LOW

LOGS = np.log([0.29, 0.021, 0.32])


@pytest.mark.parametrize("law", [HALF, LOW])
@pytest.mark.parametrize("decay", [0.02, 0.1])
def test_derivatives_agree_with_differences(law, decay):
    for shrunk in (
        lambda logs: shrunk_by_weight_decay(law, decay, logs),
        lambda logs: shrunk_by_ridge(1.0, decay, logs),
    ):
        moved = [
            (np.array(shrunk(LOGS + step).overlaps[:3]) - np.array(shrunk(LOGS - step).overlaps[:3])) / 2e-5
            for step in 1e-5 * np.eye(3)
        ]
        assert np.allclose(shrunk(LOGS).jacobian, np.array(moved).T, rtol=1e-5, atol=1e-7)


def test_shrunk_matrices_of_a_size_agree():
    rng, d, decay = np.random.default_rng(0), 500, 0.02
    found = shrunk_by_weight_decay(HALF, decay, LOGS)
    m_hat, q_hat, Sigma_hat = np.exp(LOGS)
    S_0, Z = HALF.sample(d, d, rng), rng.standard_normal((d, d)) / np.sqrt(d)
    left, values, right = np.linalg.svd(m_hat * S_0 + np.sqrt(q_hat) * Z)
    S = (left * np.maximum(values - 2.0 * decay, 0.0)) @ right / Sigma_hat
    m, q, response = np.sum(S * S_0) / d, np.sum(S * S) / d, np.sum(S * Z) / (d * np.sqrt(q_hat))
    assert [m, q, response] == pytest.approx(list(found.overlaps[:3]), rel=0.02)
    assert np.mean(np.linalg.svd(S, compute_uv=False) > 1e-9) == pytest.approx(found.rank, abs=0.01)
    assert np.sum((S - S_0) ** 2) / d == pytest.approx(found.estimation_error, rel=0.03)


def test_what_is_left_is_the_error_that_no_factor_mends():
    for shrunk in (shrunk_by_weight_decay(HALF, 0.02, LOGS), shrunk_by_ridge(1.0, 0.02, LOGS)):
        m, q, _, left = shrunk.overlaps
        assert left == pytest.approx(1.0 - m * m / q)
        assert shrunk.estimation_error == pytest.approx(1.0 - 2.0 * m + q)
