"""The compiled loss of heads whose softmaxes are averaged; all else between the products is that of a single head."""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.prox_report import FUSED
from presage.protocol.njit import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def mean_loss(labels, R, beta, gain, G):  # type: ignore[no-untyped-def]
    """Sum of ``|(v/H) sum_h softmax(beta R_h) - y|^2`` over the samples, and its slope in the gain v.

    The slope in ``R_h``, symmetric in the two tokens, is written to `G`. Scores are H x n x T x T, labels n x T x T.
    """
    H, n, T, _ = R.shape
    s, r, raw = np.empty((H, T, T)), np.empty((T, T)), np.empty((T, T))
    total, slope = 0.0, 0.0
    for i in range(n):
        for a in range(T):
            for b in range(T):
                r[a, b] = 0.0
        for h in range(H):
            for a in range(T):
                top = R[h, i, a, 0]
                for b in range(1, T):
                    top = max(top, R[h, i, a, b])
                norm = 0.0
                for b in range(T):
                    below = R[h, i, a, b] - top
                    s[h, a, b] = np.exp(beta * below) if below != 0.0 else 1.0  # an exponential less a row
                    norm += s[h, a, b]
                for b in range(T):
                    s[h, a, b] /= norm
                    r[a, b] += s[h, a, b] / H
        for a in range(T):
            for b in range(T):
                residual = gain * r[a, b] - labels[i, a, b]
                total += residual * residual
                slope += 2.0 * residual * r[a, b]
                r[a, b] = residual
        for h in range(H):
            for a in range(T):
                mean = 0.0
                for b in range(T):
                    mean += s[h, a, b] * r[a, b]
                for b in range(T):
                    raw[a, b] = 2.0 * beta * gain / H * s[h, a, b] * (r[a, b] - mean)
            for a in range(T):
                for b in range(T):
                    G[h, i, a, b] = 0.5 * (raw[a, b] + raw[b, a])
    return total, slope
