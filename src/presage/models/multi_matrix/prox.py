"""What a sample makes of the numbers of its matrices: the proximal point of its loss, and how that point gives way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.links import MatrixLink

STEPS, HALVED = 100, 30  # of Newton's method, and times that one of them is halved
DONE = 1e-14  # what a step is expected to gain at which it is the last, beside one and the value
LEAST = 0.1  # curvature that a step is made with where the true one is smaller, beside that of the first term
APART = 1e-4  # distance of two proximal points that are two


class ProximalPoints(NamedTuple):
    """Proximal points of many samples."""

    p: Floats  # n x L
    value: Floats  # n: the least value
    several: Floats  # n: whether searches from different starts ended in different minima


def proximal_points(link: MatrixLink, y: Floats, z: Floats, V: Floats, starts: Sequence[Floats]) -> ProximalPoints:
    """The lowest of the minima that are found from several starts, for every sample.

        p = argmin_h sum_k (h_k - z_k)^2/(2 V_k) + (y - g(h))^2

    Equation: derived: the squared loss of a label beside a Gaussian of variance V_k about each z_k.
    Checked: tests/models/multi_matrix/test_prox.py::test_prox_against_the_roots_of_a_cubic
    Checked: tests/models/multi_matrix/test_prox.py::test_prox_against_brute_force
    """
    p, value = _descend(link, y, z, V, starts[0])
    several = np.zeros(len(y), dtype=bool)
    for start in starts[1:]:
        other, found = _descend(link, y, z, V, start)
        several |= np.abs(other - p).max(axis=1) > APART * (1.0 + np.abs(p).max(axis=1))
        lower = found < value
        p, value = np.where(lower[:, None], other, p), np.where(lower, found, value)
    return ProximalPoints(p, value, several.astype(np.float64))


def _descend(link: MatrixLink, y: Floats, z: Floats, V: Floats, start: Floats) -> tuple[Floats, Floats]:
    """Newton's method with the absolute curvature, each step halved until it lowers the value, in units of sqrt(V)."""
    root = np.sqrt(V)
    h = np.array(start, dtype=np.float64)
    value = objective(link, y, z, V, h)
    active = np.arange(len(y))
    for _ in range(STEPS):
        g, gradient, hessian = link.derivatives(h[active])
        residual = y[active] - g
        slope = root * ((h[active] - z[active]) / V - 2.0 * residual[:, None] * gradient)
        curvature = loss_hessian(residual, gradient, hessian) * (root[:, None] * root) + np.eye(len(V))
        step = _newton_step(slope, curvature)
        gain = -np.sum(slope * step, axis=1)
        last = gain <= DONE * (1.0 + value[active])  # a last step, of which the value shows nothing but rounding
        h[active[last]] += root * step[last]
        active, step = active[~last], root * step[~last]
        left = np.arange(len(active))
        for halved in range(HALVED):
            if not left.size:
                break
            at = active[left]
            moved = h[at] + 0.5**halved * step[left]
            there = objective(link, y[at], z[at], V, moved)
            lower = there < value[at]
            h[at[lower]], value[at[lower]] = moved[lower], there[lower]
            left = left[~lower]
        active = np.delete(active, left)  # no step lowers the value of these
        if not active.size:
            break
    return h, value


def objective(link: MatrixLink, y: Floats, z: Floats, V: Floats, h: Floats) -> Floats:
    """What a proximal point minimises: ``sum_k (h_k - z_k)^2/(2 V_k) + (y - g(h))^2``."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = 0.5 * np.sum((h - z) ** 2 / V, axis=1) + (y - link(h)) ** 2
    return np.where(np.isfinite(found), found, np.inf)


def loss_hessian(residual: Floats, gradient: Floats, hessian: Floats) -> Floats:
    """Second derivatives of ``(y - g)^2`` in the numbers: ``2 g' g'^T - 2 (y - g) g''``."""
    return np.asarray(2.0 * (gradient[:, :, None] * gradient[:, None, :] - residual[:, None, None] * hessian))


def _newton_step(slope: Floats, curvature: Floats) -> Floats:
    """``-|curvature|^-1 slope``: the eigenvalues of the curvature by their size, not below the least."""
    if slope.shape[1] == 1:
        return np.asarray(-slope / np.maximum(np.abs(curvature[:, :, 0]), LEAST))
    sizes, vectors = np.linalg.eigh(curvature)
    along = np.einsum("nij,ni->nj", vectors, slope) / np.maximum(np.abs(sizes), LEAST)
    return np.asarray(-np.einsum("nij,nj->ni", vectors, along))


def responses(residual: Floats, gradient: Floats, hessian: Floats, V: Floats) -> tuple[Floats, Floats]:
    """How ``lam = (p - z)/V`` gives way: ``D = dlam/dz`` and ``(1 + H V)^-1 2 g'``, ``dlam/dy`` of the label.

        D = -(1 + H V)^-1 H,    H = second derivatives of the loss at p

    Equation: derived: differentiate ``lam = 2 (y - g(p)) g'(p)`` with ``p = z + V lam``.
    Checked: tests/models/multi_matrix/test_prox.py::test_responses_agree_with_differences
    """
    H = loss_hessian(residual, gradient, hessian)
    both = np.concatenate([-H, 2.0 * gradient[:, :, None]], axis=2)
    found = np.linalg.solve(np.eye(len(V)) + H * V, both)
    return found[:, :, :-1], found[:, :, -1]
