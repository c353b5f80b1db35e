"""Compiled small steps between the matrix products: scores of a sample, its loss and slope, the way back.

A block of samples is a matrix with T rows a sample. All heavy work is a matrix product of such a block; what is left
for each sample is a few T x T numbers, done here in one sweep while the block is in the cache.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels import differences
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.hardmax import Hardmax
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.prox_report import FUSED
from presage.models.attention.channels.softmax import Softmax
from presage.protocol.njit import njit


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def scores(left, right, scale, shift, R):  # type: ignore[no-untyped-def]
    """Write ``R_ab = scale left_a . right_b - shift_ab`` for each sample: symmetric, so half of it is computed."""
    T = R.shape[1]
    width = left.shape[1]
    for s in range(R.shape[0]):
        for a in range(T):
            for b in range(a, T):
                total = left.dtype.type(0)
                for k in range(width):
                    total += left[s * T + a, k] * right[s * T + b, k]
                R[s, a, b] = scale * total - shift[a, b]
                R[s, b, a] = R[s, a, b]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def pull_back(G, right, out):  # type: ignore[no-untyped-def]
    """Write ``out_a = sum_b G_ab right_b`` for each sample."""
    T = G.shape[1]
    width = right.shape[1]
    for s in range(G.shape[0]):
        for a in range(T):
            row = s * T + a
            first = right.dtype.type(G[s, a, 0])
            for k in range(width):
                out[row, k] = first * right[s * T, k]
            for b in range(1, T):
                weight = right.dtype.type(G[s, a, b])
                for k in range(width):
                    out[row, k] += weight * right[s * T + b, k]


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def _residual_loss(r, gram, weighted, pull):  # type: ignore[no-untyped-def]
    """Loss ``sum_a r_a' K r_a`` of one sample and its half slope ``r K``; K is the identity unless `weighted`."""
    T = r.shape[0]
    loss = 0.0
    for a in range(T):
        for b in range(T):
            pull[a, b] = r[a, b]
            if weighted:
                pull[a, b] = 0.0
                for c in range(T):
                    pull[a, b] += r[a, c] * gram[c, b]
            loss += r[a, b] * pull[a, b]
    return loss


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def _symmetrize(raw, G):  # type: ignore[no-untyped-def]
    T = raw.shape[0]
    for a in range(T):
        for b in range(T):
            G[a, b] = 0.5 * (raw[a, b] + raw[b, a])


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def _softmax_loss(labels, R, gram, beta, G):  # type: ignore[no-untyped-def]
    """Sum of ``|y - softmax(beta R)|^2`` over the samples; write its slope in ``R`` to `G`."""
    T = R.shape[1]
    weighted = gram.shape[0] > 0
    s, r, pull = np.empty((T, T)), np.empty((T, T)), np.empty((T, T))
    total = 0.0
    for i in range(R.shape[0]):
        for a in range(T):
            top = R[i, a, 0]
            for b in range(1, T):
                top = max(top, R[i, a, b])
            norm = 0.0
            for b in range(T):
                s[a, b] = np.exp(beta * (R[i, a, b] - top))
                norm += s[a, b]
            for b in range(T):
                s[a, b] /= norm
                r[a, b] = s[a, b] - labels[i, a, b]
        total += _residual_loss(r, gram[i] if weighted else r, weighted, pull)
        for a in range(T):
            mean = 0.0
            for b in range(T):
                mean += s[a, b] * pull[a, b]
            for b in range(T):
                r[a, b] = 2.0 * beta * s[a, b] * (pull[a, b] - mean)
        _symmetrize(r, G[i])
    return total


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def _linear_loss(labels, R, gram, G):  # type: ignore[no-untyped-def]
    """Sum of ``|y - R|^2`` over the samples; write its slope in ``R`` to `G`."""
    T = R.shape[1]
    weighted = gram.shape[0] > 0
    r, pull = np.empty((T, T)), np.empty((T, T))
    total = 0.0
    for i in range(R.shape[0]):
        for a in range(T):
            for b in range(T):
                r[a, b] = R[i, a, b] - labels[i, a, b]
        total += _residual_loss(r, gram[i] if weighted else r, weighted, pull)
        for a in range(T):
            for b in range(T):
                r[a, b] = 2.0 * pull[a, b]
        _symmetrize(r, G[i])
    return total


@singledispatch
def loss_and_slope(channel: Channel, labels: Floats, R: Floats, gram: Floats, G: Floats) -> float:
    """Loss of a block of samples, and its symmetric slope ``dl/dR`` written to `G`.

    ``l = sum_ab (y - yhat)_ab^2``, or ``Tr (y - yhat) K (y - yhat)'`` with the Gram matrix ``K = x x'/d`` of the
    tokens of each sample (`gram`; an empty one means no weighting). A channel of the user's own has its own ``l``.
    """
    if gram.shape[0]:
        raise TypeError(f"the loss of a sequence task is not known for the channel {channel!r}; use Linear or Softmax")
    z = np.empty((len(R), channel.n_in))
    to_components(R, z)
    basis = channel.active_basis
    loss, slope = differences.loss_and_slope(channel, labels, z @ basis, basis)
    from_slopes(slope @ basis.T, G)
    return float(loss.sum())


@loss_and_slope.register
def _(channel: Softmax, labels: Floats, R: Floats, gram: Floats, G: Floats) -> float:
    return float(_softmax_loss(labels, R, gram, channel.beta, G))


@loss_and_slope.register
def _(channel: Linear, labels: Floats, R: Floats, gram: Floats, G: Floats) -> float:
    return float(_linear_loss(labels, R, gram, G))


@loss_and_slope.register
def _(channel: Hardmax, labels: Floats, R: Floats, gram: Floats, G: Floats) -> float:
    """A hard maximum has a loss, and no slope."""
    z = np.empty((len(R), channel.n_in))
    to_components(R, z)
    G[:] = 0.0
    return float(channel.loss(labels, channel.output(z)).sum())


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def to_components(R, z):  # type: ignore[no-untyped-def]
    """Write the components ``z_ab = R_ab/sqrt(1 + delta_ab)``, ``a <= b``, of each sample."""
    T = R.shape[1]
    for i in range(R.shape[0]):
        k = 0
        for a in range(T):
            for b in range(a, T):
                z[i, k] = R[i, a, b] / np.sqrt(2.0) if a == b else R[i, a, b]
                k += 1


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def from_slopes(f, G):  # type: ignore[no-untyped-def]
    """Write the symmetric slope in ``R`` of each sample, given its slopes ``f`` in the components."""
    T = G.shape[1]
    for i in range(G.shape[0]):
        k = 0
        for a in range(T):
            for b in range(a, T):
                G[i, a, b] = f[i, k] / np.sqrt(2.0) if a == b else 0.5 * f[i, k]
                G[i, b, a] = G[i, a, b]
                k += 1
