"""Sums over scattered points for a softmax of two tokens, compiled."""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.pair_prox import pair_prox, scan_space
from presage.models.attention.channels.prox_report import REPORTED
from presage.models.attention.theory.rules.sample_sums import F_A, F_B, SQUARE
from presage.protocol.njit import njit


@njit(cache=True, error_model="numpy")
def pair_points(points, root_rho, mean, sigma, Sigma, beta, ratio):  # type: ignore[no-untyped-def]
    """Sum the reports, ``|f|^2``, ``f.a`` and ``f.b`` over points ``(a1, a2, b1, b2)``."""
    total = np.zeros(REPORTED + 3)
    report = np.empty(REPORTED)
    scan = scan_space()
    for i in range(points.shape[0]):
        a1, a2, b1, b2 = points[i]
        anchor_1, anchor_2 = ratio * root_rho * a1, ratio * root_rho * a2
        z1, z2 = mean * a1 + sigma * b1, mean * a2 + sigma * b2
        f1, f2 = pair_prox(anchor_1, anchor_2, z1, z2, Sigma, beta, report, scan)
        for k in range(REPORTED):
            total[k] += report[k]
        total[SQUARE] += f1 * f1 + f2 * f2
        total[F_A] += f1 * a1 + f2 * a2
        total[F_B] += f1 * b1 + f2 * b2
    return total
