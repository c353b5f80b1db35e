"""The quick messages of two tokens against the whole proximal map."""

from __future__ import annotations

import numpy as np
import pytest

from presage.models.attention.channels.pair_prox import is_lowest, pairs_messages, pairs_prox
from presage.models.attention.channels.prox_report import LOSS_AT_P, OTHER_MINIMUM, REPORTED, TRACE_Z
from presage.models.attention.channels.softmax import Softmax

SCALES = [(beta, Sigma) for beta in (0.5, 1.0, 4.0) for Sigma in (0.05, 0.9, 2.5, 20.0)]


def drawn(n=2000, *, spread=1.0):
    rng = np.random.default_rng(0)
    z_0 = rng.standard_normal((n, 3))
    return z_0, z_0 + spread * rng.standard_normal((n, 3)), 0.1 * rng.standard_normal((n, 3))


@pytest.mark.parametrize(("beta", "Sigma"), SCALES)
@pytest.mark.parametrize("spread", [0.2, 2.0])
def test_messages_are_those_of_the_proximal_map(beta, Sigma, spread):
    z_0, z, before = drawn(spread=spread)
    channel, omega = Softmax(2, beta), z - Sigma * before
    expected, report, f = np.empty_like(z), np.empty((len(z), REPORTED)), np.empty_like(z)
    pairs_prox(z_0, omega, Sigma, beta, expected, report)
    trace, loss = pairs_messages(z_0, channel.target_output(z_0), z, Sigma, beta, before, f)
    np.testing.assert_allclose(f, expected, rtol=0, atol=1e-11 * beta)
    assert trace == pytest.approx(report[:, TRACE_Z].sum(), rel=1e-9)
    assert loss == pytest.approx(channel.loss_at(z_0, z).sum(), rel=1e-12)


@pytest.mark.parametrize(("beta", "Sigma"), SCALES)
def test_a_minimum_proven_lowest_is_the_proximal_point(beta, Sigma):
    """Where a proximal point is proven to be the only minimum as low, no start finds another as low."""
    z_0, z, _ = drawn(spread=2.0)
    f, report = np.empty_like(z), np.empty((len(z), REPORTED))
    pairs_prox(z_0, z, Sigma, beta, f, report)
    p = z + Sigma * f
    value = 0.5 * np.sum((p - z) ** 2, axis=1) + Sigma * report[:, LOSS_AT_P]
    proven = np.array([is_lowest(v, Sigma, beta) for v in value])
    channel, rng = Softmax(2, beta), np.random.default_rng(1)
    for _ in range(300):
        trial = z + np.sqrt(2.0 * value)[:, None] * rng.uniform(-1.0, 1.0, z.shape)
        middle = 0.5 * (trial + p)
        low = 0.5 * np.sum((trial - z) ** 2, axis=1) + Sigma * channel.loss_at(z_0, trial)
        between = 0.5 * np.sum((middle - z) ** 2, axis=1) + Sigma * channel.loss_at(z_0, middle)
        assert (low[proven] >= value[proven] * (1 - 1e-12)).all()
        as_low = proven & (low <= value * 1.2)  # convex there: the middle is below the chord
        assert (between[as_low] <= 0.5 * (low + value)[as_low] * (1 + 1e-12)).all()


def test_not_all_minima_are_proven():
    """Negative control: where proximal points jump, the proof does not claim them."""
    z_0, z, _ = drawn(spread=2.0)
    f, report = np.empty_like(z), np.empty((len(z), REPORTED))
    pairs_prox(z_0, z, 20.0, 1.0, f, report)
    value = 0.5 * np.sum((20.0 * f) ** 2, axis=1) + 20.0 * report[:, LOSS_AT_P]
    jumping = report[:, OTHER_MINIMUM] > 0
    assert jumping.mean() > 0.02
    assert not any(is_lowest(v, 20.0, 1.0) for v in value[jumping])
