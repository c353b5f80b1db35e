"""Sums over a grid of fields of two units, compiled: they are what the state evolution of two units spends."""

from __future__ import annotations

import numpy as np

from presage.protocol.njit import njit

SMALLEST = 1e-300


@njit(cache=True, error_model="numpy")
def pair_sums(p, phi, g, H, v, inverse, centres, chances, size):  # type: ignore[no-untyped-def]
    """Means of functions of the field of a training sample, over a grid of places p.

    The weight of a place is ``size sum_s chance_s exp(-|R (p - V g - centre_s)|^2/2) det(1 - V H)``, R = `inverse`.

    Returns:
        sums of ``g_i`` over each pattern, of ``g_i g_j``, of ``dg_ij``, of phi, of ``(V dg)_ij (V dg)_kl`` as a 4 x 4
        matrix, and the whole weight.
    """
    patterns = len(chances)
    first = np.zeros((2, patterns))
    second = np.zeros((2, 2))
    response = np.zeros((2, 2))
    pairs = np.zeros((4, 4))
    mean, whole = 0.0, 0.0
    turned = np.zeros((2, 2))
    for n in range(len(p)):
        g0, g1 = g[n, 0], g[n, 1]
        x0 = p[n, 0] - g0 * v[0, 0] - g1 * v[1, 0]
        x1 = p[n, 1] - g0 * v[0, 1] - g1 * v[1, 1]
        h00, h01, h11 = H[n, 0, 0], H[n, 0, 1], H[n, 1, 1]
        a = 1.0 - v[0, 0] * h00 - v[0, 1] * h01
        b = -v[0, 0] * h01 - v[0, 1] * h11
        c = -v[1, 0] * h00 - v[1, 1] * h01
        d = 1.0 - v[1, 0] * h01 - v[1, 1] * h11
        determinant = a * d - b * c
        density = 0.0
        for s in range(patterns):
            y0, y1 = x0 - centres[s, 0], x1 - centres[s, 1]
            z0 = inverse[0, 0] * y0 + inverse[0, 1] * y1
            z1 = inverse[1, 0] * y0 + inverse[1, 1] * y1
            each = size * chances[s] * np.exp(-0.5 * (z0 * z0 + z1 * z1))
            first[0, s] += each * determinant * g0
            first[1, s] += each * determinant * g1
            density += each
        weight = density * determinant
        whole += weight
        mean += weight * phi[n]
        second[0, 0] += weight * g0 * g0
        second[0, 1] += weight * g0 * g1
        second[1, 1] += weight * g1 * g1
        # dg det(1 - V H) = H adj(1 - V H), which is finite where the determinant is zero.
        e00, e01 = h00 * d - h01 * c, h01 * a - h00 * b
        e11 = h11 * a - h01 * b
        response[0, 0] += density * e00
        response[0, 1] += density * e01
        response[1, 1] += density * e11
        turned[0, 0] = v[0, 0] * e00 + v[0, 1] * e01
        turned[0, 1] = v[0, 0] * e01 + v[0, 1] * e11
        turned[1, 0] = v[1, 0] * e00 + v[1, 1] * e01
        turned[1, 1] = v[1, 0] * e01 + v[1, 1] * e11
        safe = determinant if abs(determinant) > SMALLEST else SMALLEST
        for i in range(2):
            for j in range(2):
                for k in range(2):
                    for l in range(2):
                        pairs[2 * i + k, 2 * j + l] += density / safe * turned[i, j] * turned[k, l]
    second[1, 0] = second[0, 1]
    response[1, 0] = response[0, 1]
    return first, second, response, mean, pairs, whole
