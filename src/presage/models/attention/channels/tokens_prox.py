"""The proximal map of any number of tokens: damped Newton with the exact Hessian of the softmax loss."""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.prox_report import (
    FUSED,
    LOSS_AT_P,
    LOSS_AT_Z,
    MOST_STEPS,
    OTHER_MINIMUM,
    ROOT_2,
    RUGGED,
    SQUARE_Z,
    TRACE_ANCHOR,
    TRACE_Z,
)
from presage.protocol.njit import njit

SEGMENT = 6  # pieces of the line from z to the anchor that are looked at for basins
ALL_GROUPS = 4  # up to so many tokens, every group of them is tried as a start
TRIED = 6  # most promising starts from which Newton is run
TRIED_GENTLY = 3  # the same where the objective is not rugged
# Largest Sigma beta^2 at which the objective is convex for every label: the curvature is above -1.5 beta^2.
CONVEX = 0.6


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def softmax_rows(h, beta, s):  # type: ignore[no-untyped-def]
    """Write the row-wise softmax of the symmetric matrix that the components ``h`` stand for into ``s``."""
    T = s.shape[0]
    k = 0
    for a in range(T):
        for b in range(a, T):
            entry = ROOT_2 * h[k] if a == b else h[k]
            s[a, b] = entry
            s[b, a] = entry
            k += 1
    for a in range(T):
        top = s[a, 0]
        for b in range(1, T):
            top = max(top, s[a, b])
        total = 0.0
        for b in range(T):
            s[a, b] = np.exp(beta * (s[a, b] - top))
            total += s[a, b]
        for b in range(T):
            s[a, b] /= total


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _component(a, b, T):  # type: ignore[no-untyped-def]
    if a > b:
        a, b = b, a
    return a * T - a * (a - 1) // 2 + b - a


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _gradient(s, y, beta, gradient):  # type: ignore[no-untyped-def]
    """Write the gradient of the loss in the components; return the loss."""
    T = s.shape[0]
    gradient[:] = 0.0
    loss = 0.0
    for a in range(T):
        mean = 0.0
        for b in range(T):
            r = s[a, b] - y[a, b]
            loss += r * r
            mean += s[a, b] * r
        for b in range(T):
            slope = 2.0 * beta * s[a, b] * (s[a, b] - y[a, b] - mean)
            gradient[_component(a, b, T)] += ROOT_2 * slope if a == b else slope
    return loss


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _curvature(s, y, beta, H):  # type: ignore[no-untyped-def]
    """Write the second derivative of the loss in the components (lower triangle and diagonal)."""
    T = s.shape[0]
    H[:] = 0.0
    for a in range(T):
        mean = 0.0
        square = 0.0
        for b in range(T):
            mean += s[a, b] * (s[a, b] - y[a, b])
            square += s[a, b] * s[a, b]
        for b in range(T):
            k = _component(a, b, T)
            left = ROOT_2 if a == b else 1.0
            tilt_b = 2.0 * s[a, b] - y[a, b] - mean  # s_b + r_b - mean
            for c in range(T):
                j = _component(a, c, T)
                if j > k:
                    continue
                tilt_c = 2.0 * s[a, c] - y[a, c] - mean
                entry = s[a, b] * s[a, c] * (square - tilt_b - tilt_c)
                if b == c:
                    entry += s[a, b] * tilt_b
                right = ROOT_2 if a == c else 1.0
                H[k, j] += 2.0 * beta * beta * left * right * entry


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _cholesky(M, factor):  # type: ignore[no-untyped-def]
    """Factor the lower triangle of M; return False where it is not safely positive definite."""
    n = M.shape[0]
    for i in range(n):
        for j in range(i + 1):
            total = M[i, j]
            for k in range(j):
                total -= factor[i, k] * factor[j, k]
            if i == j:
                if total <= 1e-3:
                    return False
                factor[i, i] = np.sqrt(total)
            else:
                factor[i, j] = total / factor[j, j]
    return True


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _solve(factor, x):  # type: ignore[no-untyped-def]
    """Solve ``L L' x = b`` in place."""
    n = x.size
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= factor[i, k] * x[k]
        x[i] = total / factor[i, i]
    for i in range(n - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, n):
            total -= factor[k, i] * x[k]
        x[i] = total / factor[i, i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _newton(h, z, y, Sigma, beta, s, gradient, direction, trial, H, M, factor):  # type: ignore[no-untyped-def]
    """Damped Newton on ``|h-z|^2/2 + Sigma l(h)`` from ``h``, in place; return the value at the minimum."""
    n = h.size
    softmax_rows(h, beta, s)
    value = Sigma * _gradient(s, y, beta, gradient)
    for k in range(n):
        value += 0.5 * (h[k] - z[k]) ** 2
    for _ in range(MOST_STEPS):
        _curvature(s, y, beta, H)
        shift = 0.0
        while True:
            for i in range(n):
                for j in range(i + 1):
                    M[i, j] = Sigma * H[i, j]
                M[i, i] += 1.0 + shift
            if _cholesky(M, factor):
                break
            shift = 2.0 * shift + 0.1
        size = 0.0
        scale = 1.0
        for k in range(n):
            gradient[k] = h[k] - z[k] + Sigma * gradient[k]
            direction[k] = -gradient[k]
        _solve(factor, direction)
        slope = 0.0
        for k in range(n):
            size += direction[k] ** 2
            scale += h[k] ** 2
            slope += gradient[k] * direction[k]
        close = size < 1e-8 * scale and shift == 0.0
        step = 1.0
        while True:
            new = 0.0
            for k in range(n):
                trial[k] = h[k] + step * direction[k]
                new += 0.5 * (trial[k] - z[k]) ** 2
            softmax_rows(trial, beta, s)
            new += Sigma * _gradient(s, y, beta, gradient)
            if close or new <= value + 1e-4 * step * slope or step < 1e-10:
                break
            step *= 0.5
        for k in range(n):
            h[k] = trial[k]
        value = new
        if size < 1e-17 * scale:
            break
    return value


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _mixtures(T, n):  # type: ignore[no-untyped-def]
    """Weights of the anchor in each component, a row a start: equal weights, then groups of tokens that follow it.

    A component follows when one of its tokens does, or when both do. All groups are tried for few tokens, and for many
    the single tokens and all but one.
    """
    groups = 2**T - 2 if T <= ALL_GROUPS else 2 * T
    mixtures = np.empty((SEGMENT + 1 + 2 * groups, n))
    for i in range(SEGMENT + 1):
        mixtures[i] = i / SEGMENT
    follows = np.empty(T, dtype=np.bool_)
    for g in range(groups):
        for a in range(T):
            if T <= ALL_GROUPS:
                follows[a] = ((g + 1) >> a) & 1 == 1
            else:
                follows[a] = (a == g) if g < T else (a != g - T)
        for a in range(T):
            for b in range(a, T):
                k = _component(a, b, T)
                mixtures[SEGMENT + 1 + 2 * g, k] = 1.0 if follows[a] or follows[b] else 0.0
                mixtures[SEGMENT + 2 + 2 * g, k] = 1.0 if follows[a] and follows[b] else 0.0
    return mixtures


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def tokens_prox(anchor, z, Sigma, beta, T, f, report):  # type: ignore[no-untyped-def]
    """Proximal map of T tokens for each row of `anchor` and `z`; write ``f`` and the report of each row.

    The direction to which softmax is blind needs no care: there the loss is flat and ``p = z``.
    """
    n = z.shape[1]
    s, y = np.empty((T, T)), np.empty((T, T))
    H, M, factor = np.empty((n, n)), np.empty((n, n)), np.zeros((n, n))
    C, A, B = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    p, q, gradient, direction, trial = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    mixtures = _mixtures(T, n)
    starts = len(mixtures)
    blind, line, table = np.empty(n), np.empty(n), np.empty(starts)
    for k in range(n):
        blind[k] = 1.0
    for a in range(T):
        blind[_component(a, a, T)] = 1.0 / ROOT_2
    for row in range(z.shape[0]):
        softmax_rows(anchor[row], beta, y)
        softmax_rows(z[row], beta, s)
        report[row, LOSS_AT_Z] = _gradient(s, y, beta, gradient)
        report[row, OTHER_MINIMUM] = 0.0
        if Sigma * beta * beta <= CONVEX:
            p[:] = z[row]
            _newton(p, z[row], y, Sigma, beta, s, gradient, direction, trial, H, M, factor)
        else:
            # From z to the point of zero loss nearest to it: along the line, and for each token by itself.
            along = 0.0
            for k in range(n):
                along += blind[k] * (z[row, k] - anchor[row, k])
            for k in range(n):
                line[k] = anchor[row, k] + 2.0 / (T * T) * along * blind[k] - z[row, k]
            for i in range(starts):
                table[i] = 0.0
                for k in range(n):
                    trial[k] = z[row, k] + mixtures[i, k] * line[k]
                    table[i] += 0.5 * (mixtures[i, k] * line[k]) ** 2
                softmax_rows(trial, beta, s)
                table[i] += Sigma * _gradient(s, y, beta, gradient)
            # z and the anchor always, and the most promising of the rest.
            table[0] = table[SEGMENT] = -1.0
            order = np.argsort(table)
            value = np.inf
            for i in order[: (TRIED if Sigma * beta * beta > RUGGED else TRIED_GENTLY)]:
                for k in range(n):
                    q[k] = z[row, k] + mixtures[i, k] * line[k]
                found = _newton(q, z[row], y, Sigma, beta, s, gradient, direction, trial, H, M, factor)
                apart = 0.0
                scale = 1.0
                for k in range(n):
                    apart += (p[k] - q[k]) ** 2
                    scale += q[k] * q[k]
                if value < np.inf and apart > 1e-10 * scale:
                    report[row, OTHER_MINIMUM] = 1.0
                if found < value:
                    value = found
                    p[:] = q
        softmax_rows(p, beta, s)
        report[row, LOSS_AT_P] = _gradient(s, y, beta, gradient)
        for k in range(n):
            f[row, k] = -gradient[k]
        _curvature(s, y, beta, H)
        for i in range(n):
            for j in range(i):
                M[i, j] = Sigma * H[i, j]
                H[j, i] = H[i, j]
            M[i, i] = 1.0 + Sigma * H[i, i]
        _cholesky(M, factor)
        _cross(s, y, beta, C)
        # A = (1 + Sigma H)^-1, B = H A = -df/dz, and df/d(anchor) = -A C.
        for i in range(n):
            direction[:] = 0.0
            direction[i] = 1.0
            _solve(factor, direction)
            A[:, i] = direction
        np.dot(H, A, B)
        trace = 0.0
        square = 0.0
        cross = 0.0
        for i in range(n):
            trace += B[i, i]
            for j in range(n):
                square += B[i, j] ** 2
                cross += A[i, j] * C[j, i]
        report[row, TRACE_Z] = -trace
        report[row, SQUARE_Z] = square
        report[row, TRACE_ANCHOR] = -cross


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _cross(s, y, beta, C):  # type: ignore[no-untyped-def]
    """Write the derivative of the gradient of the loss in the anchor: ``-2 beta^2 D_s D_y`` for each row."""
    T = s.shape[0]
    C[:] = 0.0
    for a in range(T):
        overlap = 0.0
        for b in range(T):
            overlap += s[a, b] * y[a, b]
        for b in range(T):
            k = _component(a, b, T)
            left = ROOT_2 if a == b else 1.0
            for c in range(T):
                # (D_s D_y)_bc = s_b (delta_bc y_c - y_b y_c - s_c y_c + overlap y_c)
                entry = s[a, b] * y[a, c] * (overlap - y[a, b] - s[a, c])
                if b == c:
                    entry += s[a, b] * y[a, b]
                right = ROOT_2 if a == c else 1.0
                C[k, _component(a, c, T)] -= 2.0 * beta * beta * left * right * entry
