"""Sums over nodes for a softmax of two tokens, compiled: pairs of nodes of two planes, or scattered points."""

from __future__ import annotations

import numpy as np

from presage.models.attention.channels.pair_prox import pair_prox, scan_space
from presage.models.attention.channels.prox_report import (
    REPORTED,
)
from presage.protocol.njit import njit


@njit(cache=True, error_model="numpy")
def pair_sums(plane, lightest, root_rho, mean, sigma, Sigma, beta, ratio):  # type: ignore[no-untyped-def]
    """Sum the reports, ``|f|^2``, ``f.a``, ``f.b`` and the weights over pairs of nodes of the two planes."""
    total = np.zeros(REPORTED + 4)
    report = np.empty(REPORTED)
    scan = scan_space()
    for i in range(plane.shape[0]):
        a1, b1, weight_1 = plane[i]
        for j in range(plane.shape[0]):
            a2, b2, weight_2 = plane[j]
            weight = weight_1 * weight_2
            if weight < lightest:
                break
            point = (a1, a2, b1, b2)
            _add_pair(total, report, scan, weight, point, root_rho, mean, sigma, Sigma, beta, ratio)
            total[REPORTED + 3] += weight
    return total


@njit(cache=True, error_model="numpy")
def pair_points(points, root_rho, mean, sigma, Sigma, beta, ratio):  # type: ignore[no-untyped-def]
    """Sum the reports, ``|f|^2``, ``f.a`` and ``f.b`` over points ``(a1, a2, b1, b2)``."""
    total = np.zeros(REPORTED + 3)
    report = np.empty(REPORTED)
    scan = scan_space()
    for i in range(points.shape[0]):
        _add_pair(total, report, scan, 1.0, points[i], root_rho, mean, sigma, Sigma, beta, ratio)
    return total


@njit(cache=True, error_model="numpy", inline="always")
def _add_pair(total, report, scan, weight, point, root_rho, mean, sigma, Sigma, beta, ratio):  # type: ignore[no-untyped-def]
    """Add one weighted node ``(a1, a2, b1, b2)``: its report, then ``|f|^2``, ``f.a`` and ``f.b``."""
    a1, a2, b1, b2 = point
    f1, f2 = pair_prox(
        ratio * root_rho * a1,
        ratio * root_rho * a2,
        mean * a1 + sigma * b1,
        mean * a2 + sigma * b2,
        Sigma,
        beta,
        report,
        scan,
    )
    for k in range(REPORTED):
        total[k] += weight * report[k]
    total[REPORTED] += weight * (f1 * f1 + f2 * f2)
    total[REPORTED + 1] += weight * (f1 * a1 + f2 * a2)
    total[REPORTED + 2] += weight * (f1 * b1 + f2 * b2)
