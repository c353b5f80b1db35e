"""What a sample of T tokens says without its proximal point: at z, and after a few steps towards that point."""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.prox_report import FUSED
from presage.models.attention.channels.tokens_newton import (
    LANES,
    inner,
    load,
    loss_lanes,
    row_slope_lanes,
    slope_lanes,
    softmax_lanes,
)
from presage.protocol.njit import njit

GUESSED = 8  # numbers a sample: four after the steps, four at z
STEPS = 8  # of the descent; its step and its momentum are those that gave averages most in common with the exact ones
CURVATURE, MOMENTUM = 0.2, 0.2


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FUSED)
def guesses(A, Z, Sigma, beta, out):  # type: ignore[no-untyped-def]
    """Write loss and slope of the loss for each sample: near its proximal point, then at ``Z``.

    Of the slope G, along symmetric matrices near the proximal point and in the entries of R at Z, these are ``|G|^2``
    and its products with A and Z. Near the proximal point is where `STEPS` of plain descent lead from the anchor A.
    """
    T, L = Z.shape[1], min(LANES, len(Z))
    shape = (T, T, L)
    anchor, centre, label, R = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    S, G, tilt, D = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    found = np.zeros((GUESSED, L))
    rate = 1.0 / (1.0 + CURVATURE * Sigma * beta * beta)
    for start in range(0, len(Z), L):
        count = min(L, len(Z) - start)
        for i in range(count):
            load(A[start + i], i, anchor)
            load(Z[start + i], i, centre)
        softmax_lanes(anchor, beta, label)
        R[:] = anchor
        D[:] = 0.0
        for _ in range(STEPS):
            softmax_lanes(R, beta, S)
            slope_lanes(S, label, beta, G, tilt)
            _descent_step(R, centre, G, Sigma, rate, D)
        softmax_lanes(R, beta, S)
        slope_lanes(S, label, beta, G, tilt)
        _write(S, label, G, anchor, centre, found[:4])
        softmax_lanes(centre, beta, S)
        row_slope_lanes(S, label, beta, G, tilt)
        _write(S, label, G, anchor, centre, found[4:])
        for i in range(count):
            for k in range(GUESSED):
                out[start + i, k] = found[k, i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _descent_step(R, Z, G, Sigma, rate, D):  # type: ignore[no-untyped-def]
    """``D = momentum D - rate (R - Z + Sigma G)``, then ``R += D``."""
    T, _, L = R.shape
    for a in range(T):
        for b in range(T):
            for i in range(L):
                G[a, b, i] = Sigma * G[a, b, i] + R[a, b, i] - Z[a, b, i]
            for i in range(L):
                D[a, b, i] = MOMENTUM * D[a, b, i] - rate * G[a, b, i]
                R[a, b, i] += D[a, b, i]


@njit(cache=True, error_model="numpy", fastmath=FUSED)
def _write(S, Y, G, A, Z, out):  # type: ignore[no-untyped-def]
    loss_lanes(S, Y, out[0])
    inner(G, G, out[1])
    inner(G, A, out[2])
    inner(G, Z, out[3])
