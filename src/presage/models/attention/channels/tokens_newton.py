"""Minima of the proximal problem of T tokens: Newton's method on several samples at once.

With ``R_ab = sqrt(1 + delta_ab) h_ab`` the objective ``|h-z|^2/2 + Sigma l(h)`` is ``|R-Z|_F^2/4 + Sigma l(R)`` over
symmetric R. Given R the rows of the loss are independent, so that a product with its curvature costs ``T^2`` operations
and nothing is ever factored: Newton's equation is solved by conjugate gradients, to the accuracy that its step needs.

`LANES` descents go side by side, the last axis of every array here, for the vector instructions of the processor; a
lane that has arrived is given the next descent.
"""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.prox_report import FUSED, MOST_STEPS
from presage.protocol.njit import njit

LANES = 32
NEAR = 1e-8  # slope of the objective, beside one, from which one exact step of Newton leads to the minimum
NOTHING = 1e-15  # the same, beside one and the force, where no step is needed
WAITING = 0.4  # part of the lanes for which the others do not wait: they go on from an inexact step
FAINTEST = -43.0  # logarithm of a weight of the softmax that is nothing beside one


@njit(cache=True, error_model="numpy", inline="always")
def _exponential(x):  # type: ignore[no-untyped-def]
    """``exp(x)`` for x between `FAINTEST` and 0: ``2^-w exp(r)``, by a series for r, at most log(2)/2.

    It has no branch and no table, so that lanes of it are vector instructions, which `np.exp` is not.
    """
    w = np.floor(0.5 - x * 1.4426950408889634)
    r = (x + w * 0.693147180369123816490) + w * 1.90821492927058770002e-10  # log(2) in two parts
    p = 1.0 + r * (1.0 / 13.0)
    p = 1.0 + r * (1.0 / 12.0) * p
    p = 1.0 + r * (1.0 / 11.0) * p
    p = 1.0 + r * (1.0 / 10.0) * p
    p = 1.0 + r * (1.0 / 9.0) * p
    p = 1.0 + r * (1.0 / 8.0) * p
    p = 1.0 + r * (1.0 / 7.0) * p
    p = 1.0 + r * (1.0 / 6.0) * p
    p = 1.0 + r * (1.0 / 5.0) * p
    p = 1.0 + r * (1.0 / 4.0) * p
    p = 1.0 + r * (1.0 / 3.0) * p
    p = 1.0 + r * (1.0 / 2.0) * p
    p = 1.0 + r * p
    # 2^-w, a binary digit of w after the other; below 64 there are six, and every product is exact.
    half = np.floor(0.5 * w)
    p *= 1.0 - (1.0 - 0.5) * (w - 2.0 * half)
    w = np.floor(0.5 * half)
    p *= 1.0 - (1.0 - 0.25) * (half - 2.0 * w)
    half = np.floor(0.5 * w)
    p *= 1.0 - (1.0 - 0.0625) * (w - 2.0 * half)
    w = np.floor(0.5 * half)
    p *= 1.0 - (1.0 - 2.0**-8) * (half - 2.0 * w)
    half = np.floor(0.5 * w)
    p *= 1.0 - (1.0 - 2.0**-16) * (w - 2.0 * half)
    return p * (1.0 - (1.0 - 2.0**-32) * half)


@njit(cache=True, error_model="numpy")
def load(matrix, i, lanes):  # type: ignore[no-untyped-def]
    """Put a matrix into lane i."""
    for a in range(lanes.shape[0]):
        for b in range(lanes.shape[0]):
            lanes[a, b, i] = matrix[a, b]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def softmax_lanes(R, beta, S):  # type: ignore[no-untyped-def]
    """Write the row-wise softmax of ``beta R`` into ``S``, lane by lane."""
    T, _, L = S.shape
    top, total = np.empty(L), np.empty(L)
    for a in range(T):
        for i in range(L):
            top[i] = R[a, 0, i]
            total[i] = 0.0
        for b in range(1, T):
            for i in range(L):
                top[i] = max(top[i], R[a, b, i])
        for b in range(T):
            for i in range(L):
                weight = _exponential(max(beta * (R[a, b, i] - top[i]), FAINTEST))
                S[a, b, i] = weight
                total[i] += weight
        for i in range(L):
            total[i] = 1.0 / total[i]
        for b in range(T):
            for i in range(L):
                S[a, b, i] *= total[i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def loss_lanes(S, Y, loss):  # type: ignore[no-untyped-def]
    """Write the squared distance of ``S`` from ``Y`` in each lane."""
    L = S.shape[2]
    loss[:] = 0.0
    for a in range(S.shape[0]):
        for b in range(S.shape[0]):
            for i in range(L):
                loss[i] += (S[a, b, i] - Y[a, b, i]) ** 2


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _symmetrize(G):  # type: ignore[no-untyped-def]
    """Add the transpose, in place: derivatives in the entries of R become those along symmetric matrices."""
    L = G.shape[2]
    for a in range(G.shape[0]):
        for i in range(L):
            G[a, a, i] *= 2.0
        for b in range(a):
            for i in range(L):
                total = G[a, b, i] + G[b, a, i]
                G[a, b, i] = total
                G[b, a, i] = total


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def row_slope_lanes(S, Y, beta, G, tilt):  # type: ignore[no-untyped-def]
    """Write the slope of the loss in the entries of R, ``G_ab = 2 beta s_ab (r_ab - s_a.r_a)`` with ``r = s - y``.

    `tilt`, of which `curved` makes use, is ``s_ab + r_ab - s_a.r_a``.
    """
    T, _, L = S.shape
    mean = np.empty(L)
    for a in range(T):
        for i in range(L):
            mean[i] = 0.0
        for b in range(T):
            for i in range(L):
                mean[i] += S[a, b, i] * (S[a, b, i] - Y[a, b, i])
        for b in range(T):
            for i in range(L):
                pull = S[a, b, i] - Y[a, b, i] - mean[i]
                G[a, b, i] = 2.0 * beta * S[a, b, i] * pull
                tilt[a, b, i] = S[a, b, i] + pull


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def slope_lanes(S, Y, beta, G, tilt):  # type: ignore[no-untyped-def]
    """Write the slope of the loss along symmetric matrices, ``G + G'``, and what `curved` needs."""
    row_slope_lanes(S, Y, beta, G, tilt)
    _symmetrize(G)


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def curved(V, S, tilt, beta, out):  # type: ignore[no-untyped-def]
    """Write the curvature of the loss times the symmetric matrix ``V``: the derivative of the slope along V."""
    T, _, L = S.shape
    along, change = np.empty(L), np.empty(L)
    for a in range(T):
        for i in range(L):
            along[i] = 0.0
            change[i] = 0.0
        for b in range(T):
            for i in range(L):
                along[i] += S[a, b, i] * V[a, b, i]
        for b in range(T):
            for i in range(L):
                moved = S[a, b, i] * (V[a, b, i] - along[i])  # of s_ab, over beta
                moved *= tilt[a, b, i]
                out[a, b, i] = moved
                change[i] += moved
        for b in range(T):
            for i in range(L):
                out[a, b, i] = 2.0 * beta * beta * (out[a, b, i] - S[a, b, i] * change[i])
    _symmetrize(out)


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def inner(U, V, out):  # type: ignore[no-untyped-def]
    """Inner product of symmetric matrices as of their components, half of that of the entries, in each lane."""
    L = U.shape[2]
    out[:] = 0.0
    for a in range(U.shape[0]):
        for b in range(U.shape[0]):
            for i in range(L):
                out[i] += U[a, b, i] * V[a, b, i]
    for i in range(L):
        out[i] *= 0.5


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _add(length, V, U):  # type: ignore[no-untyped-def]
    """``U += length V``, a length for each lane. With more arrays a loop is not compiled to vectors."""
    T, _, L = U.shape
    for a in range(T):
        for b in range(T):
            for i in range(L):
                U[a, b, i] += length[i] * V[a, b, i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _scale_and_add(ratio, V, U):  # type: ignore[no-untyped-def]
    """``U = V + ratio U``, a ratio for each lane."""
    T, _, L = U.shape
    for a in range(T):
        for b in range(T):
            for i in range(L):
                U[a, b, i] = V[a, b, i] + ratio[i] * U[a, b, i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _newton_steps(G, S, tilt, Sigma, beta, tolerance, busy, D, P, M, E, convex, exact):  # type: ignore[no-untyped-def]
    """Write into ``D`` of the `busy` lanes the solution of ``(1 + Sigma H) D = -G``, to a relative residual.

    Conjugate gradients. They stop at a direction along which the objective is not convex, and when most lanes are
    done: what they have by then is a descent, but not `exact`.
    """
    T, _, L = G.shape
    square, curvature, size = np.empty(L), np.empty(L), np.empty(L)
    length, ratio, enough = np.empty(L), np.empty(L), np.empty(L)
    goes = busy.copy()
    few = WAITING * busy.sum()
    for a in range(T):
        for b in range(T):
            for i in range(L):
                E[a, b, i] = -G[a, b, i]
                P[a, b, i] = -G[a, b, i]
                D[a, b, i] *= 1.0 - busy[i]
    inner(E, E, square)
    for i in range(L):
        enough[i] = tolerance[i] * tolerance[i] * square[i]
        size[i] = square[i]  # |P|^2: residuals are orthogonal to the directions before them
        convex[i] = 1.0
        exact[i] = 0.0
    for step in range(T * (T + 1)):
        curved(P, S, tilt, beta, M)
        curvature[:] = 0.0
        for a in range(T):
            for b in range(T):
                for i in range(L):
                    M[a, b, i] = P[a, b, i] + Sigma * M[a, b, i]
                    curvature[i] += 0.5 * P[a, b, i] * M[a, b, i]
        for i in range(L):
            length[i] = 0.0
            if goes[i] > 0.0:
                if curvature[i] <= 1e-3 * size[i]:
                    convex[i] = 0.0
                    goes[i] = 0.0
                    length[i] = 1.0 if step == 0 else 0.0
                else:
                    length[i] = square[i] / curvature[i]
        _add(length, P, D)
        for i in range(L):
            length[i] = -length[i]
        _add(length, M, E)
        inner(E, E, ratio)
        left = 0.0
        for i in range(L):
            if goes[i] > 0.0 and ratio[i] <= enough[i]:
                goes[i] = 0.0
                exact[i] = 1.0
            new = ratio[i]
            ratio[i] = new / square[i] if goes[i] > 0.0 else 0.0
            square[i] = new
            size[i] = new + ratio[i] * ratio[i] * size[i]
            left += goes[i]
        if left <= few:
            break
        _scale_and_add(ratio, E, P)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def descend(points, sample, Z, Y, Sigma, beta, values):  # type: ignore[no-untyped-def]
    """Damped Newton from each of `points`, in place, to a minimum of the problem of its `sample`; write its value."""
    T, L = Z.shape[1], min(LANES, len(points))
    if L == 0:
        return
    shape = (T, T, L)
    R, centre, label, trial = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    S, G, tilt, D = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    P, M, E = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    value, new, step, slope = np.empty(L), np.empty(L), np.zeros(L), np.zeros(L)
    loss, size, scale, length = np.empty(L), np.empty(L), np.empty(L), np.empty(L)
    tolerance, convex, exact, busy = np.empty(L), np.ones(L), np.ones(L), np.zeros(L)
    close, last = np.zeros(L), np.zeros(L)
    nothing = NOTHING * (1.0 + Sigma * beta)
    job = np.full(L, -1)
    count = np.zeros(L, dtype=np.int64)
    waiting = 0
    for i in range(L):
        if waiting < len(points):
            job[i] = waiting
            waiting += 1
            load(points[job[i]], i, R)
            load(Z[sample[job[i]]], i, centre)
            load(Y[sample[job[i]]], i, label)
        value[i] = np.inf
    while True:
        for a in range(T):
            for b in range(T):
                for i in range(L):
                    trial[a, b, i] = R[a, b, i] + step[i] * D[a, b, i]
        softmax_lanes(trial, beta, S)
        loss_lanes(S, label, loss)
        new[:] = 0.0
        scale[:] = 1.0
        for a in range(T):
            for b in range(T):
                for i in range(L):
                    new[i] += 0.25 * (trial[a, b, i] - centre[a, b, i]) ** 2
                    scale[i] += 0.5 * trial[a, b, i] ** 2
        for i in range(L):
            new[i] += Sigma * loss[i]
            took = close[i] > 0.0 or new[i] <= value[i] + 1e-4 * step[i] * slope[i] or step[i] < 1e-10
            busy[i] = 1.0 if took and job[i] >= 0 else 0.0
            length[i] = step[i] * busy[i]
            if took:
                value[i] = new[i]
                count[i] += 1
            else:
                step[i] *= 0.5
        slope_lanes(S, label, beta, G, tilt)
        for a in range(T):
            for b in range(T):
                for i in range(L):
                    R[a, b, i] += length[i] * D[a, b, i]
                    G[a, b, i] = R[a, b, i] - centre[a, b, i] + Sigma * G[a, b, i]
        inner(G, G, size)
        left = 0.0
        for i in range(L):
            size[i] = np.sqrt(size[i] / scale[i])
            tolerance[i] = max(min(0.1, size[i]), NEAR)
            if busy[i] > 0.0 and (last[i] > 0.0 or size[i] < nothing or count[i] > MOST_STEPS):
                values[job[i]] = value[i]
                points[job[i]] = R[:, :, i]
                busy[i] = 0.0
                step[i] = 0.0
                count[i] = 0
                close[i] = 0.0
                last[i] = 0.0
                value[i] = np.inf
                job[i] = -1
                if waiting < len(points):
                    job[i] = waiting
                    waiting += 1
                    load(points[job[i]], i, R)
                    load(Z[sample[job[i]]], i, centre)
                    load(Y[sample[job[i]]], i, label)
            left += 1.0 if job[i] >= 0 else 0.0
        if left == 0.0:
            break
        _newton_steps(G, S, tilt, Sigma, beta, tolerance, busy, D, P, M, E, convex, exact)
        inner(G, D, new)
        inner(D, D, loss)
        for i in range(L):
            if busy[i] > 0.0:
                last[i] = 1.0 if exact[i] > 0.0 and size[i] < NEAR else 0.0
                slope[i] = new[i]
                step[i] = 1.0
                close[i] = 1.0 if convex[i] > 0.0 and loss[i] < 1e-8 * scale[i] else 0.0


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def labels_and_losses(A, Z, beta, Y, losses):  # type: ignore[no-untyped-def]
    """Write the label of each sample, the softmax of its anchor, and the loss at ``Z``."""
    T, L = Z.shape[1], min(LANES, len(Z))
    R, S, label = np.zeros((T, T, L)), np.zeros((T, T, L)), np.zeros((T, T, L))
    loss = np.empty(L)
    for start in range(0, len(Z), L):
        count = min(L, len(Z) - start)
        for i in range(count):
            load(A[start + i], i, R)
        softmax_lanes(R, beta, label)
        for i in range(count):
            load(Z[start + i], i, R)
        softmax_lanes(R, beta, S)
        loss_lanes(S, label, loss)
        for i in range(count):
            losses[start + i] = loss[i]
            Y[start + i] = label[:, :, i]
