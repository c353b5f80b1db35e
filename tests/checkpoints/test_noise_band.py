from __future__ import annotations

import numpy as np

from presage.checkpoints.noise_band import WITHIN, WORDS, noise_band


def test_random_heads_are_within_the_band():
    """Value by value 99 in a hundred draws of factors are within it, whatever their scale."""
    h, d, draws = 12, 40, 600
    band = noise_band("random", h, d, d)
    rng = np.random.default_rng(0)
    Q, K = 3.0 * rng.standard_normal((2, draws, d, h))
    s = np.linalg.svd(Q @ K.transpose(0, 2, 1), compute_uv=False)[:, :h]
    s /= np.sqrt(np.mean(s**2, axis=1, keepdims=True))
    within = np.mean((s >= band.low) & (s <= band.high), axis=0)
    assert within.min() > WITHIN - 0.025
    assert abs(within.mean() - WITHIN) < 0.008
    assert (np.diff(band.low) < 0).all()
    assert WORDS == "99 % of random heads"
