"""The proximal map of any rank and channel by damped Newton steps, and its derivatives.

A sample has frozen scores R_0 (T x T), a label y (T x T) and a field omega (T x r). Its map is the P (T x r) of least
``|sigma(R_0 + P P' - t 1) - y|^2 + sum_c |P_c - omega_c|^2/(2 v_c)``, t the trace of q.
"""

from __future__ import annotations

from math import exp, sqrt

import numpy as np

from presage.protocol.njit import njit

MOST_STEPS = 60
SMALL = 1e-5  # a step of this size, relative to the fields, is the last: the next would be its square
NEAR = 0.02  # a search that comes so near, relative to the fields, to where another ended will end there too
FLIPS = 6  # rows of the field whose sign is turned for another start


@njit(cache=True)
def _outputs(R_0, y, P, t, beta, linear, h, K, second):  # type: ignore[no-untyped-def]
    """Loss at P; its slope h in the scores and, where `second`, the curvature K of each row.

    For a row s of the softmax, ``e = s - y`` and ``J = diag(s) - s s'``: ``h = 2 beta J e`` and
    ``K = 2 beta^2 [J^2 + diag(e - s.e) J - s (J e)']``; for a linear output ``h = 2 e`` and ``K = 2``.
    """
    T, r = P.shape
    loss = 0.0
    for a in range(T):
        for b in range(T):
            R = R_0[a, b]
            for c in range(r):
                R += P[a, c] * P[b, c]
            h[a, b] = R - t if a == b else R
        if linear:
            for b in range(T):
                h[a, b] = 2.0 * (h[a, b] - y[a, b])
                loss += 0.25 * h[a, b] * h[a, b]
            continue
        top = h[a, 0]
        for b in range(1, T):
            top = max(top, h[a, b])
        total = 0.0
        for b in range(T):
            h[a, b] = exp(beta * (h[a, b] - top))
            total += h[a, b]
        mean, squares = 0.0, 0.0  # s.e and s.s
        for b in range(T):
            s = h[a, b] / total
            h[a, b] = s
            mean += s * (s - y[a, b])
            squares += s * s
            loss += (s - y[a, b]) * (s - y[a, b])
        if second:
            for b in range(T):
                s_b = h[a, b]
                for k in range(T):
                    s_k = h[a, k]
                    J = (s_b if b == k else 0.0) - s_b * s_k
                    J_J = (s_b * s_b if b == k else 0.0) - s_b * s_k * (s_b + s_k - squares)
                    e_b = s_b - y[a, b] - mean
                    e_k = s_k - y[a, k] - mean
                    K[a, b, k] = 2.0 * beta * beta * (J_J + e_b * J - s_b * s_k * e_k)
        for b in range(T):
            h[a, b] = 2.0 * beta * h[a, b] * (h[a, b] - y[a, b] - mean)
    return loss


@njit(cache=True)
def _hessian(P, h, K, linear, inverse_v, H, turned):  # type: ignore[no-untyped-def]
    """Second derivative of the whole in P: the column of a direction E is ``(dh + dh')P + (h + h')E + E/v``.

    ``dh_a = K_a dR_a`` row by row with ``dR = E P' + P E'``.
    """
    T, r = P.shape
    for c in range(r):
        for i in range(T):  # turned = K_i P_c
            for j in range(T):
                if linear:
                    turned[c, i, j] = 2.0 * P[j, c]
                else:
                    total = 0.0
                    for k in range(T):
                        total += K[i, j, k] * P[k, c]
                    turned[c, i, j] = total
    for a in range(T):
        for c in range(r):
            column = a * r + c
            for i in range(T):
                for e in range(r):
                    total = 0.0
                    for j in range(T):
                        # dh_ij + dh_ji
                        first = (K[i, j, a] if not linear else (2.0 if j == a else 0.0)) * P[i, c]
                        other = (K[j, i, a] if not linear else (2.0 if i == a else 0.0)) * P[j, c]
                        if i == a:
                            first += turned[c, a, j]
                        if j == a:
                            other += turned[c, a, i]
                        total += (first + other) * P[j, e]
                    if e == c:
                        total += h[i, a] + h[a, i]
                        if i == a:
                            total += inverse_v[c]
                    H[i * r + e, column] = total


@njit(cache=True)
def _factorized(H, shift, C):  # type: ignore[no-untyped-def]
    """Cholesky factor of ``H + shift``; False where it has none."""
    n = len(H)
    for i in range(n):
        for j in range(i + 1):
            total = 0.5 * (H[i, j] + H[j, i])
            if i == j:
                total += shift
            for k in range(j):
                total -= C[i, k] * C[j, k]
            if i == j:
                if not total > 0.0:
                    return False
                C[i, i] = sqrt(total)
            else:
                C[i, j] = total / C[j, j]
    return True


@njit(cache=True)
def _solved(C, x):  # type: ignore[no-untyped-def]
    """Put the solution of ``C C' x = b`` in the place of b."""
    n = len(x)
    for i in range(n):
        for k in range(i):
            x[i] -= C[i, k] * x[k]
        x[i] /= C[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= C[k, i] * x[k]
        x[i] /= C[i, i]


@njit(cache=True)
def _descend(R_0, y, omega, inverse_v, t, beta, linear, P, known, h, K, H, C, step, tried, turned):  # type: ignore[no-untyped-def]
    """Newton steps from P to a minimum, in place; the whole there, infinite where they lead to the `known` one."""
    T, r = P.shape
    shift, longest, new = 0.0, 0.0, 0.0
    size = 0.0
    for a in range(T):
        for c in range(r):
            size = max(size, abs(omega[a, c]))
    whole = _whole(_outputs(R_0, y, P, t, beta, linear, h, K, True), P, omega, inverse_v)
    for _ in range(MOST_STEPS):
        _hessian(P, h, K, linear, inverse_v, H, turned)
        accepted = False
        for _ in range(40):
            if _factorized(H, shift, C):
                for a in range(T):
                    for c in range(r):
                        slope = (P[a, c] - omega[a, c]) * inverse_v[c]
                        for b in range(T):
                            slope += (h[a, b] + h[b, a]) * P[b, c]
                        step[a * r + c] = -slope
                _solved(C, step)
                longest = 0.0
                for a in range(T):
                    for c in range(r):
                        tried[a, c] = P[a, c] + step[a * r + c]
                        longest = max(longest, abs(step[a * r + c]))
                new = _whole(_outputs(R_0, y, tried, t, beta, linear, h, K, False), tried, omega, inverse_v)
                if new <= whole + 1e-13 * abs(whole):
                    accepted = True
                    break
            largest = 0.0
            for i in range(T * r):
                largest = max(largest, abs(H[i, i]))
            shift = max(4.0 * shift, 1e-2 * largest)
            _outputs(R_0, y, P, t, beta, linear, h, K, False)
        if not accepted:
            return whole
        apart = 0.0
        for a in range(T):
            for c in range(r):
                P[a, c] = tried[a, c]
                apart = max(apart, abs(P[a, c] - known[a, c]))
        if longest <= SMALL * (1.0 + size):
            return new
        if apart <= NEAR * (1.0 + size):
            return np.inf
        whole = _whole(_outputs(R_0, y, P, t, beta, linear, h, K, True), P, omega, inverse_v)
        shift = 0.1 * shift if shift > 1e-10 else 0.0
    return whole


@njit(cache=True)
def _whole(loss, P, omega, inverse_v):  # type: ignore[no-untyped-def]
    T, r = P.shape
    for a in range(T):
        for c in range(r):
            loss += 0.5 * inverse_v[c] * (P[a, c] - omega[a, c]) ** 2
    return loss


@njit(cache=True)
def adapter_prox(R_0, y, chi, omega, inverse_v, t, beta, linear, all_starts, P, losses, traces):  # type: ignore[no-untyped-def]
    """The map of every sample, found from where P is; with `all_starts` also from other places, and the lowest kept.

    The other places: the field, the field with the sign of one row turned, and the target with both signs. `losses`
    and `traces` are left with the loss and ``Tr h`` of each sample; returned is how many moved to a lower place.
    """
    n, T, r = P.shape
    h, K, H, C = np.empty((T, T)), np.empty((T, T, T)), np.empty((T * r, T * r)), np.zeros((T * r, T * r))
    step, tried, turned, place = np.empty(T * r), np.empty((T, r)), np.empty((r, T, T)), np.empty((T, r))
    nowhere = np.full((T, r), np.inf)
    others = 3 + min(T, FLIPS) if all_starts else 0
    moved = 0
    for k in range(n):
        best = _descend(
            R_0[k], y[k], omega[k], inverse_v, t, beta, linear, P[k], nowhere, h, K, H, C, step, tried, turned
        )
        lower = False
        for start in range(others):
            for a in range(T):
                for c in range(r):
                    place[a, c] = omega[k, a, c]
                    if start < 2:
                        place[a, c] = (chi[k, a, c] if c < chi.shape[2] else 0.0) * (1.0 - 2.0 * start)
                    elif start > 2 and a == start - 3:
                        place[a, c] = -omega[k, a, c]
            found = _descend(
                R_0[k], y[k], omega[k], inverse_v, t, beta, linear, place, P[k], h, K, H, C, step, tried, turned
            )
            if found < best - 1e-9 * (1.0 + abs(best)):
                best, lower = found, True
                for a in range(T):
                    for c in range(r):
                        P[k, a, c] = place[a, c]
        moved += 1 if lower else 0
        losses[k] = _outputs(R_0[k], y[k], P[k], t, beta, linear, h, K, False)
        traces[k] = 0.0
        for a in range(T):
            traces[k] += h[a, a]
    return moved


@njit(cache=True)
def adapter_slopes(R_0, y, chi, inverse_v, t, beta, beta_0, linear, P, response, target, replicon):  # type: ignore[no-untyped-def]
    """Derivatives of the map: for each column the traces of ``dP/domega`` and ``dP/dchi_0``, and ``|1 - dP/domega|^2``.

    ``dP/domega = H^-1/v`` and ``dP/dchi_0 = -H^-1 (dh + dh')P``, where a row of the label's slope is
    ``dh_a = -2 beta beta_0 J J_0 dR_0a``, or ``-2 dR_0a`` for a linear output, ``dR_0 = E chi_0' + chi_0 E'``.
    """
    n, T, r = P.shape
    h, K, H, C = np.empty((T, T)), np.empty((T, T, T)), np.empty((T * r, T * r)), np.zeros((T * r, T * r))
    turned, column, mixed = np.empty((r, T, T)), np.empty(T * r), np.empty((T, T, T))
    s, seen = np.empty((T, T)), min(r, chi.shape[2])
    for k in range(n):
        _outputs(R_0[k], y[k], P[k], t, beta, linear, h, K, True)
        _hessian(P[k], h, K, linear, inverse_v, H, turned)
        shift = 0.0
        while not _factorized(H, shift, C):
            shift = max(10.0 * shift, 1e-10)
        for c in range(r):
            response[k, c] = 0.0
            target[k, c] = 0.0
        replicon[k] = 0.0
        for a in range(T):
            for c in range(r):
                for i in range(T * r):
                    column[i] = 0.0
                column[a * r + c] = inverse_v[c]
                _solved(C, column)
                response[k, c] += column[a * r + c]
                for i in range(T * r):
                    replicon[k] += ((1.0 if i == a * r + c else 0.0) - column[i]) ** 2
        for a in range(T):  # mixed = 2 beta beta_0 J J_0 of each row
            if linear:
                for i in range(T):
                    for j in range(T):
                        mixed[a, i, j] = 2.0 if i == j else 0.0
                continue
            top, total = -1e300, 0.0
            for b in range(T):
                R = R_0[k, a, b] - (t if a == b else 0.0)
                for c in range(r):
                    R += P[k, a, c] * P[k, b, c]
                s[a, b] = R
                top = max(top, R)
            for b in range(T):
                s[a, b] = exp(beta * (s[a, b] - top))
                total += s[a, b]
            both = 0.0
            for b in range(T):
                s[a, b] /= total
                both += s[a, b] * y[k, a, b]
            for i in range(T):
                for j in range(T):
                    product = (y[k, a, j] if i == j else 0.0) - y[k, a, i] * y[k, a, j]  # J_0, then J J_0
                    inner = s[a, j] * y[k, a, j] - both * y[k, a, j]
                    mixed[a, i, j] = 2.0 * beta * beta_0 * s[a, i] * (product - inner)
        for a in range(T):
            for c in range(seen):
                for i in range(T):
                    for e in range(r):
                        total = 0.0
                        for j in range(T):
                            first = mixed[i, j, a] * chi[k, i, c]
                            other = mixed[j, i, a] * chi[k, j, c]
                            if i == a:
                                for b in range(T):
                                    first += mixed[a, j, b] * chi[k, b, c]
                            if j == a:
                                for b in range(T):
                                    other += mixed[a, i, b] * chi[k, b, c]
                            total += (first + other) * P[k, j, e]
                        column[i * r + e] = total
                _solved(C, column)
                target[k, c] += column[a * r + c]
