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

MOST_SWEEPS = 30  # of Jacobi's rotations: a handful are needed
ROUNDED_OFF = 1e-33  # square of what is left off the diagonal, relative


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
def scores_of_half(left, right, scale, shift, R):  # type: ignore[no-untyped-def]
    """Write ``R_ab = scale (left_a . right_b + left_b . right_a) - shift_ab`` for each sample: `left` is half of it."""
    T = R.shape[1]
    width = left.shape[1]
    for s in range(R.shape[0]):
        for a in range(T):
            row = s * T + a
            total = left.dtype.type(0)
            for k in range(width):
                total += left[row, k] * right[row, k]
            R[s, a, a] = scale * (total + total) - shift[a, a]
            for b in range(a + 1, T):
                other = s * T + b
                total = left.dtype.type(0)
                for k in range(width):
                    total += left[row, k] * right[other, k] + left[other, k] * right[row, k]
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
def _diagonalise(A, Q):  # type: ignore[no-untyped-def]
    """Jacobi's rotations: leave the eigenvalues of the symmetric A on its diagonal, write the vectors into Q."""
    T = A.shape[0]
    for a in range(T):
        for b in range(T):
            Q[a, b] = 1.0 if a == b else 0.0
    for _ in range(MOST_SWEEPS):
        for p in range(T):
            for q in range(p + 1, T):
                if A[p, q] == 0.0:
                    continue
                theta = 0.5 * (A[q, q] - A[p, p]) / A[p, q]
                t = (1.0 if theta >= 0.0 else -1.0) / (abs(theta) + np.sqrt(theta * theta + 1.0))
                c = 1.0 / np.sqrt(t * t + 1.0)
                s = t * c
                A[p, p] -= t * A[p, q]
                A[q, q] += t * A[p, q]
                A[p, q] = A[q, p] = 0.0
                for k in range(T):
                    Q[k, p], Q[k, q] = c * Q[k, p] - s * Q[k, q], s * Q[k, p] + c * Q[k, q]
                    if k not in (p, q):
                        A[k, p], A[k, q] = c * A[k, p] - s * A[k, q], s * A[k, p] + c * A[k, q]
                        A[p, k], A[q, k] = A[k, p], A[k, q]
        if T <= 2:  # one rotation is all
            return
        off = 0.0
        whole = 0.0
        for a in range(T):
            whole += A[a, a] * A[a, a]
            for b in range(a):
                off += A[a, b] * A[a, b]
        if not off > ROUNDED_OFF * whole:
            return


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def signed_squares(G, x, out, weight):  # type: ignore[no-untyped-def]
    """Split ``sum G_ab x_a x_b'`` into ``sum u u' - sum v v'``: half the work of a product that is not symmetric.

    The rows u go to the top of `out`, the rows v to its end; return where the first stop and the second start. Each
    sample gives one row an eigenvalue of its G. The sum of the G is added to `weight`.
    """
    T = G.shape[1]
    width = x.shape[1]
    A, Q = np.empty((T, T)), np.empty((T, T))
    top, end = 0, out.shape[0]
    for s in range(G.shape[0]):
        for a in range(T):
            for b in range(T):
                A[a, b] = G[s, a, b]
                weight[a, b] += G[s, a, b]
        _diagonalise(A, Q)
        for a in range(T):
            if A[a, a] == 0.0:
                continue
            if A[a, a] > 0.0:
                row = top
                top += 1
            else:
                end -= 1
                row = end
            root = np.sqrt(abs(A[a, a]))
            first = x.dtype.type(root * Q[0, a])
            if T == 2:
                second = x.dtype.type(root * Q[1, a])
                for k in range(width):
                    out[row, k] = first * x[2 * s, k] + second * x[2 * s + 1, k]
                continue
            for k in range(width):
                out[row, k] = first * x[s * T, k]
            for b in range(1, T):
                entry = x.dtype.type(root * Q[b, a])
                for k in range(width):
                    out[row, k] += entry * x[s * T + b, k]
    return top, end


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
                below = R[i, a, b] - top
                s[a, b] = np.exp(beta * below) if below != 0.0 else 1.0  # an exponential less a row, and NaN stays NaN
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
