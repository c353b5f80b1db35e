"""Compiled small steps between the matrix products: scores of a sample, its loss and slope, the way back.

A block of samples is a matrix with the tokens of each sample one row after the other. One side of the scores, queries
or keys, has been multiplied by S: those are the rows of `mapped`, and the rows of `other` are the tokens of the other
side. `first` is the column of the scores that the first key belongs to: it is 1 where keys are differences from a key
that all rows share, whose own scores are then zero.
"""

from __future__ import annotations

import numpy as np

from presage.protocol.njit import njit

FUSED = {"contract", "reassoc", "nsz", "arcp"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def scores(mapped, other, keys_mapped, first, scale, shift, R):  # type: ignore[no-untyped-def]
    """Write ``R_ab = scale mapped . other - shift_ab`` for query a and key b of each sample."""
    n, T, K = R.shape
    keys = K - first
    rows, columns = (keys, T) if keys_mapped else (T, keys)
    width = mapped.shape[1]
    for s in range(n):
        if first == 1:
            for a in range(T):
                R[s, a, 0] = -shift[a, 0]
        for i in range(rows):
            for j in range(columns):
                total = 0.0
                for k in range(width):
                    total += mapped[s * rows + i, k] * other[s * columns + j, k]
                a, b = (j, i + first) if keys_mapped else (i, j + first)
                R[s, a, b] = scale * total - shift[a, b]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def pull_back(G, other, keys_mapped, first, out):  # type: ignore[no-untyped-def]
    """Write ``out_i = sum_j G_ij other_j`` for each sample: i on the side that was mapped, j on the other."""
    n, T, K = G.shape
    keys = K - first
    rows, columns = (keys, T) if keys_mapped else (T, keys)
    width = other.shape[1]
    for s in range(n):
        for i in range(rows):
            row = s * rows + i
            for j in range(columns):
                weight = G[s, j, i + first] if keys_mapped else G[s, i, j + first]
                if j == 0:
                    for k in range(width):
                        out[row, k] = weight * other[s * columns, k]
                else:
                    for k in range(width):
                        out[row, k] += weight * other[s * columns + j, k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def softmax(R, seen, beta, out):  # type: ignore[no-untyped-def]
    """Write the softmax of ``beta R`` of each row over the keys that it sees; a row that sees none is zero."""
    n, T, K = R.shape
    for i in range(n):
        for a in range(T):
            top = -np.inf
            for b in range(K):
                if seen[a, b]:
                    top = max(top, R[i, a, b])
            norm = 0.0
            for b in range(K):
                out[i, a, b] = 0.0
                if seen[a, b]:
                    below = R[i, a, b] - top
                    out[i, a, b] = np.exp(beta * below) if below != 0.0 else 1.0  # an exponential less a row
                    norm += out[i, a, b]
            for b in range(K):
                if seen[a, b]:
                    out[i, a, b] /= norm


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def softmax_loss(labels, R, seen, beta, gain, G):  # type: ignore[no-untyped-def]
    """Sum of ``|v softmax(beta R) - y|^2`` over samples and rows, and its slope in v; write the slope in R to `G`."""
    n, T, K = R.shape
    softmax(R, seen, beta, G)
    total, slope = 0.0, 0.0
    for i in range(n):
        for a in range(T):
            mean = 0.0
            for b in range(K):
                residual = gain * G[i, a, b] - labels[i, a, b]
                total += residual * residual
                mean += G[i, a, b] * residual
            slope += 2.0 * mean
            for b in range(K):
                G[i, a, b] *= 2.0 * beta * gain * (gain * G[i, a, b] - labels[i, a, b] - mean)
    return total, slope


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def linear_loss(labels, R, seen, G):  # type: ignore[no-untyped-def]
    """Sum of ``(R - y)^2`` over the samples and the scores that are seen; write its slope in R to `G`."""
    n, T, K = R.shape
    total = 0.0
    for i in range(n):
        for a in range(T):
            for b in range(K):
                residual = R[i, a, b] - labels[i, a, b] if seen[a, b] else 0.0
                total += residual * residual
                G[i, a, b] = 2.0 * residual
    return total
