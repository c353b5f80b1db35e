"""Heads with structure that is known."""

from __future__ import annotations

import numpy as np


def noise(h, d, rng):
    return rng.standard_normal((2, d, h))


def planted(h, d, k, gain, rng):
    """Factors that share k directions of the head, each of that gain: ``M = rest + gain z_q z_k'``."""
    Q, K = noise(h, d, rng)
    U = np.linalg.qr(rng.standard_normal((h, k)))[0]
    grow = (np.sqrt(gain) - 1.0) * U @ U.T
    return Q + Q @ grow, K + K @ grow


def shrunk(h, d, strengths, cutoff, scale, rng):
    """Factors of ``scale (x - cutoff)_+``, x the singular values of a Gaussian matrix with directions; the top h."""
    X = rng.standard_normal((d, d)) / np.sqrt(d)
    for theta in strengths:
        u, v = rng.standard_normal((2, d))
        X = X + theta * np.outer(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))
    left, s, right = np.linalg.svd(X)
    root = np.sqrt(scale * np.maximum(s[:h] - cutoff, 0.0))
    return left[:, :h] * root, right[:h].T * root
