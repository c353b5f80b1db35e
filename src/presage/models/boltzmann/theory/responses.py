"""Response of sampled fields to what moved them before, compiled: the one loop that grows as the cube of the time.

The response of a field at time t to all earlier ones is found backwards, from t to the start, one trajectory at a time:
nothing is kept of the responses of earlier times, and what is read over and over fits into a core's cache.
"""

from __future__ import annotations

import numpy as np

from presage.protocol.njit import njit

CHUNK = 128  # trajectories that are taken together


@njit(cache=True, fastmath=True, error_model="numpy")
def response_of_one(L, H, t):  # type: ignore[no-untyped-def]
    """Sums over trajectories of ``dg^t/d om^r`` for every r up to t, of one unit.

        y(t) = 1,   y(r) = H^r sum_{r < s <= t} L(s, r) y(s),   dg^t/d om^r = y(r) H^t

    L is a table of responses of the weights, L[s, r] for r < s; H has one row a time and one column a trajectory.
    """
    count = H.shape[1]
    total = np.zeros(t + 1)
    y = np.empty((t + 1, CHUNK), dtype=np.float32)
    sums = np.empty(CHUNK, dtype=np.float32)
    for begin in range(0, count, CHUNK):
        many = min(CHUNK, count - begin)
        last = H[t, begin : begin + many]
        for n in range(many):
            y[t, n] = last[n]
            total[t] += last[n]
        for r in range(t - 1, -1, -1):
            for n in range(many):
                sums[n] = 0.0
            s = r + 1
            while s + 3 <= t:
                a, b, c, d = L[s, r], L[s + 1, r], L[s + 2, r], L[s + 3, r]
                for n in range(many):
                    sums[n] += a * y[s, n] + b * y[s + 1, n] + c * y[s + 2, n] + d * y[s + 3, n]
                s += 4
            while s <= t:
                a = L[s, r]
                for n in range(many):
                    sums[n] += a * y[s, n]
                s += 1
            here = H[r, begin : begin + many]
            added = 0.0
            for n in range(many):
                value = here[n] * sums[n]
                y[r, n] = value
                added += value
            total[r] += added
    return total


@njit(cache=True, fastmath=True, error_model="numpy")
def response_of_many(L, H, t):  # type: ignore[no-untyped-def]
    """The same for several units, whose responses are matrices.

        Y(t) = 1,   Y(r) = H^r sum_{r < s <= t} L(s, r) Y(s),   dg^t/d om^r = Y(r) H^t

    L[s, r] and the sums are k x k; H is times x k x k x trajectories.
    """
    k, count = H.shape[1], H.shape[3]
    total = np.zeros((t + 1, k, k))
    y = np.empty((t + 1, k, k, CHUNK), dtype=np.float32)
    sums = np.empty((k, k, CHUNK), dtype=np.float32)
    for begin in range(0, count, CHUNK):
        many = min(CHUNK, count - begin)
        for i in range(k):
            for j in range(k):
                for n in range(many):
                    y[t, i, j, n] = H[t, i, j, begin + n]
                    total[t, i, j] += H[t, i, j, begin + n]
        for r in range(t - 1, -1, -1):
            sums[:] = 0.0
            for s in range(r + 1, t + 1):
                for i in range(k):
                    for l in range(k):
                        a = L[s, r, i, l]
                        for j in range(k):
                            for n in range(many):
                                sums[i, j, n] += a * y[s, l, j, n]
            for i in range(k):
                for j in range(k):
                    for n in range(many):
                        y[r, i, j, n] = 0.0
                    for l in range(k):
                        for n in range(many):
                            y[r, i, j, n] += H[r, i, l, begin + n] * sums[l, j, n]
                    added = 0.0
                    for n in range(many):
                        added += y[r, i, j, n]
                    total[r, i, j] += added
    return total
