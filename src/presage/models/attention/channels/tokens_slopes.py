"""What a sample of T tokens reports at its proximal point: the force, the loss, and the slopes of the force.

`tokens_newton` has the same problem and the same lanes. Slopes need the inverse of ``1 + Sigma H`` in the components,
of which there are ``n = T(T+1)/2``.
"""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.prox_report import FUSED, ROOT_2, SQUARE_Z, TRACE_ANCHOR, TRACE_Z
from presage.models.attention.channels.tokens_newton import LANES, load, loss_lanes, slope_lanes, softmax_lanes
from presage.protocol.njit import njit

TINY = 1e-4  # Sigma beta^2 below which 1 - A has lost too many digits to be divided by Sigma


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def forces(P, Y, beta, F, losses):  # type: ignore[no-untyped-def]
    """Write ``f = -grad l`` at each point, as a symmetric matrix, and the loss there."""
    T, L = P.shape[1], min(LANES, len(P))
    shape = (T, T, L)
    R, label, S, G, tilt = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    loss = np.empty(L)
    for start in range(0, len(P), L):
        count = min(L, len(P) - start)
        for i in range(count):
            load(P[start + i], i, R)
            load(Y[start + i], i, label)
        softmax_lanes(R, beta, S)
        loss_lanes(S, label, loss)
        slope_lanes(S, label, beta, G, tilt)
        for i in range(count):
            losses[start + i] = loss[i]
            for a in range(T):
                for b in range(T):
                    F[start + i, a, b] = -G[a, b, i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _component(a, b, T):  # type: ignore[no-untyped-def]
    """Which component stands for the entry (a, b)."""
    if a > b:
        a, b = b, a
    return a * T - a * (a - 1) // 2 + b - a


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _curvature(S, tilt, beta, H):  # type: ignore[no-untyped-def]
    """Write the second derivative of the loss in the components.

    Row a adds ``2 beta^2 [delta_bc s_b t_b + s_b s_c (|s|^2 - t_b - t_c)]``, ``t = s + r - s.r``.
    """
    T, _, L = S.shape
    both = np.empty(L)
    H[:] = 0.0
    for a in range(T):
        both[:] = 0.0
        for b in range(T):
            for i in range(L):
                both[i] += S[a, b, i] * tilt[a, b, i]  # |s|^2, since s.(r - s.r) = 0
        for b in range(T):
            k = _component(a, b, T)
            for c in range(T):
                j = _component(a, c, T)
                if j > k:
                    continue
                weight = 2.0 * beta * beta * (ROOT_2 if a == b else 1.0) * (ROOT_2 if a == c else 1.0)
                for i in range(L):
                    bend = both[i] - tilt[a, b, i] - tilt[a, c, i]
                    H[k, j, i] += weight * S[a, b, i] * S[a, c, i] * bend
                if b == c:
                    for i in range(L):
                        H[k, k, i] += weight * S[a, b, i] * tilt[a, b, i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _invert(M, C):  # type: ignore[no-untyped-def]
    """Replace the positive matrices of which ``M`` has the lower triangles by their inverses; ``C`` is room."""
    n, _, L = M.shape
    total = np.empty(L)
    # Cholesky's factor over the lower triangle of M, with the inverse of its diagonal on the diagonal.
    for j in range(n):
        for r in range(j, n):
            for i in range(L):
                total[i] = M[r, j, i]
            for k in range(j):
                for i in range(L):
                    total[i] -= M[r, k, i] * M[j, k, i]
            for i in range(L):
                M[r, j, i] = 1.0 / np.sqrt(max(total[i], 1e-3)) if r == j else total[i] * M[j, j, i]
    # Its inverse, in C.
    for j in range(n):
        for i in range(L):
            C[j, j, i] = M[j, j, i]
        for r in range(j + 1, n):
            total[:] = 0.0
            for k in range(j, r):
                for i in range(L):
                    total[i] -= M[r, k, i] * C[k, j, i]
            for i in range(L):
                C[r, j, i] = total[i] * M[r, r, i]
    # The product of that with its transpose.
    for r in range(n):
        for j in range(r + 1):
            total[:] = 0.0
            for k in range(r, n):
                for i in range(L):
                    total[i] += C[k, r, i] * C[k, j, i]
            for i in range(L):
                M[r, j, i] = total[i]
                M[j, r, i] = total[i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _trace_of_anchor(S, Y, A, beta, trace):  # type: ignore[no-untyped-def]
    """Write ``tr df/d(anchor) = -tr A C``, C the derivative of the gradient of the loss in the anchor.

    Row a of C has ``-2 beta^2 (D_s D_y)_bc``, ``(D_s D_y)_bc = s_b (delta_bc y_c - y_b y_c - s_c y_c + s.y y_c)``.
    """
    T, _, L = S.shape
    overlap = np.empty(L)
    trace[:] = 0.0
    for a in range(T):
        overlap[:] = 0.0
        for b in range(T):
            for i in range(L):
                overlap[i] += S[a, b, i] * Y[a, b, i]
        for b in range(T):
            k = _component(a, b, T)
            for c in range(T):
                weight = 2.0 * beta * beta * (ROOT_2 if a == b else 1.0) * (ROOT_2 if a == c else 1.0)
                j, same = _component(a, c, T), 1.0 if b == c else 0.0
                for i in range(L):
                    entry = S[a, b, i] * Y[a, c, i] * (same + overlap[i] - Y[a, b, i] - S[a, c, i])
                    trace[i] += weight * A[k, j, i] * entry


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _square_slope(H, A, Sigma, beta, square):  # type: ignore[no-untyped-def]
    """Write ``|df/dz|_F^2 = |H A|_F^2``, which is ``|1 - A|_F^2/Sigma^2``."""
    n, _, L = H.shape
    square[:] = 0.0
    if Sigma * beta * beta > TINY:
        for r in range(n):
            for j in range(n):
                same = 1.0 if r == j else 0.0
                for i in range(L):
                    square[i] += ((same - A[r, j, i]) / Sigma) ** 2
        return
    product = np.empty(L)
    for r in range(n):
        for j in range(n):
            product[:] = 0.0
            for k in range(n):
                for i in range(L):
                    product[i] += H[max(r, k), min(r, k), i] * A[k, j, i]
            for i in range(L):
                square[i] += product[i] ** 2


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def slopes(P, Y, Sigma, beta, report):  # type: ignore[no-untyped-def]
    """Report the slopes of ``f`` at each point: with ``A = (1 + Sigma H)^-1``, ``df/dz = -H A``."""
    T, L = P.shape[1], min(LANES, len(P))
    n = T * (T + 1) // 2
    shape = (T, T, L)
    R, label, S, G, tilt = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    H, A, room = np.zeros((n, n, L)), np.zeros((n, n, L)), np.zeros((n, n, L))
    trace, square = np.empty(L), np.empty(L)
    for start in range(0, len(P), L):
        count = min(L, len(P) - start)
        for i in range(count):
            load(P[start + i], i, R)
            load(Y[start + i], i, label)
        softmax_lanes(R, beta, S)
        slope_lanes(S, label, beta, G, tilt)
        _curvature(S, tilt, beta, H)
        for r in range(n):
            for j in range(r + 1):
                same = 1.0 if r == j else 0.0
                for i in range(L):
                    A[r, j, i] = same + Sigma * H[r, j, i]
        _invert(A, room)
        trace[:] = 0.0
        for r in range(n):
            for j in range(r + 1):
                both = 1.0 if r == j else 2.0
                for i in range(L):
                    trace[i] += both * H[r, j, i] * A[r, j, i]
        for i in range(count):
            report[start + i, TRACE_Z] = -trace[i]
        _square_slope(H, A, Sigma, beta, square)
        _trace_of_anchor(S, label, A, beta, trace)
        for i in range(count):
            report[start + i, SQUARE_Z] = square[i]
            report[start + i, TRACE_ANCHOR] = trace[i]
