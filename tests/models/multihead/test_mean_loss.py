"""The loss of a mean of softmax heads: its derivatives, and what it is for one head."""

from __future__ import annotations

import numpy as np
import pytest

from presage.models.multihead.theory.mean_loss import MeanOfHeads

LOSSES = [MeanOfHeads(), MeanOfHeads(1.3, 0.8), MeanOfHeads(0.9, 1.1, 1.6, 1.4)]


def samples(n_heads: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_heads)
    return rng.normal(size=(20, 2 * n_heads)), rng.normal(size=(20, 2 * n_heads))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("n_heads", [1, 3])
def test_derivatives_against_differences(loss, n_heads):
    u0, u = samples(n_heads)
    terms, step = loss(u0, u), 1e-6
    for k in range(2 * n_heads):
        shift = step * np.eye(2 * n_heads)[k]
        up, down = loss(u0, u + shift), loss(u0, u - shift)
        assert np.allclose(terms.gradient[:, k], (up.value - down.value) / (2 * step), atol=1e-8)
        assert np.allclose(terms.hessian[:, :, k], (up.gradient - down.gradient) / (2 * step), atol=1e-8)
        up, down = loss(u0 + shift, u), loss(u0 - shift, u)
        assert np.allclose(terms.cross[:, :, k], (up.gradient - down.gradient) / (2 * step), atol=1e-8)


@pytest.mark.parametrize("n_heads", [1, 2])
def test_it_is_the_squared_error_of_the_outputs(n_heads):
    loss = LOSSES[-1]
    u0, u = samples(n_heads)

    def output(u, beta, gain):
        rows = 1.0 / (1.0 + np.exp(-beta * u.reshape(len(u), n_heads, 2)))
        both = np.stack([rows, 1.0 - rows], axis=-1)
        return gain * both.mean(axis=1)

    error = output(u, loss.beta, loss.gain) - output(u0, loss.beta_0, loss.target_gain)
    assert np.allclose(loss(u0, u).value, np.sum(error**2, axis=(1, 2)), rtol=1e-13)
