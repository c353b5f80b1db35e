"""Proximal maps in a few dimensions, of many samples at once: Newton's method from several starts, the lowest kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.njit import njit

MOST_SWEEPS = 200  # evaluations of the loss from one start
RIGID = 1e-13  # relative: added to K, which has directions that give no way at all where weights are nearly all cut
LEAST_STEP = 1e-12  # of a line search: below, rounding is all that is left
DONE = 1e-20  # squared step of Newton's method, relative, after which the next is lost in rounding


class LossTerms(NamedTuple):
    """A loss ``l(u0, u)`` of n samples in P dimensions and its derivatives."""

    value: Floats  # n
    gradient: Floats  # n x P, in u
    hessian: Floats  # n x P x P, in u
    cross: Floats  # n x P x P, d^2 l/du du0: rows are those of u


Loss = Callable[[Floats, Floats], LossTerms]  # of u0 and u, n x P each


class ProximalPoints(NamedTuple):
    """Where ``(h - u)' K^-1 (h - u)/2 + l(u0, h)`` is least, sample by sample."""

    p: Floats  # n x P
    objective: Floats  # n
    terms: LossTerms  # at p


@njit(cache=True, error_model="numpy")
def newton_steps(h, u, inverse, gradient, hessian, steps, slopes):  # type: ignore[no-untyped-def]
    """Write a direction of descent and its slope for each row; curvatures that are not positive are lifted first."""
    n, P = h.shape
    g, L, A = np.empty(P), np.empty((P, P)), np.empty((P, P))
    for row in range(n):
        size = 0.0
        for i in range(P):
            g[i] = gradient[row, i]
            for j in range(P):
                g[i] += inverse[i, j] * (h[row, j] - u[row, j])
                A[i, j] = inverse[i, j] + hessian[row, i, j]
                size = max(size, abs(A[i, j]))
        lift = 0.0
        while True:
            positive = True
            for i in range(P):
                for j in range(i + 1):
                    total = A[i, j] + (lift if i == j else 0.0)
                    for k in range(j):
                        total -= L[i, k] * L[j, k]
                    if i == j:
                        if total <= 1e-10 * size:
                            positive = False
                            break
                        L[i, i] = np.sqrt(total)
                    else:
                        L[i, j] = total / L[j, j]
                if not positive:
                    break
            if positive:
                break
            lift = max(4.0 * lift, 0.05 * size)
        for i in range(P):
            total = -g[i]
            for k in range(i):
                total -= L[i, k] * steps[row, k]
            steps[row, i] = total / L[i, i]
        slopes[row] = 0.0
        for i in range(P - 1, -1, -1):
            total = steps[row, i]
            for k in range(i + 1, P):
                total -= L[k, i] * steps[row, k]
            steps[row, i] = total / L[i, i]
        for i in range(P):
            slopes[row] += g[i] * steps[row, i]


def proximal_points(loss: Loss, u0: Floats, u: Floats, K: Floats, starts: Sequence[Floats]) -> ProximalPoints:
    """Minimise from every start, n x P each, and keep the lowest minimum of each sample."""
    inverse = np.linalg.inv(K + RIGID * np.linalg.norm(K) * np.eye(len(K)))
    inverse = 0.5 * (inverse + inverse.T)
    best: ProximalPoints | None = None
    for start in starts:
        found = minimised(loss, u0, u, inverse, start)
        if best is None:
            best = found
            continue
        lower = found.objective < best.objective
        for old, new in zip(
            (best.p, best.objective, *best.terms), (found.p, found.objective, *found.terms), strict=True
        ):
            old[lower] = new[lower]
    assert best is not None, "there is no start"
    return best


def minimised(loss: Loss, u0: Floats, u: Floats, inverse: Floats, start: Floats) -> ProximalPoints:
    """Newton's method with a line search from one start, of all samples side by side; those that are done rest."""
    h = np.array(start)
    terms = LossTerms(*(np.array(term) for term in loss(u0, h)))
    objective = _quadratic(h, u, inverse) + terms.value
    steps, slopes, lengths = np.empty_like(h), np.empty(len(h)), np.ones(len(h))
    newton_steps(h, u, inverse, terms.gradient, terms.hessian, steps, slopes)
    busy = np.flatnonzero(_moves(steps, h))
    for _ in range(MOST_SWEEPS):
        if not busy.size:
            break
        trial = h[busy] + lengths[busy, None] * steps[busy]
        here = loss(u0[busy], trial)
        lower = _quadratic(trial, u[busy], inverse) + here.value
        slack = 1e-13 * (1.0 + np.abs(objective[busy]))
        fine = lower <= objective[busy] + 1e-4 * lengths[busy] * slopes[busy] + slack
        lengths[busy[~fine]] *= 0.5
        taken = busy[fine]
        h[taken], objective[taken] = trial[fine], lower[fine]
        for old, new in zip(terms, here, strict=True):
            old[taken] = new[fine]
        lengths[taken] = 1.0
        direction, slope = np.empty((taken.size, h.shape[1])), np.empty(taken.size)
        newton_steps(h[taken], u[taken], inverse, terms.gradient[taken], terms.hessian[taken], direction, slope)
        steps[taken], slopes[taken] = direction, slope
        busy = busy[_moves(steps[busy], h[busy]) & (lengths[busy] > LEAST_STEP)]
    return ProximalPoints(h, objective, terms)


def _moves(steps: Floats, h: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.asarray(np.sum(steps * steps, axis=1) > DONE * (1.0 + np.sum(h * h, axis=1)))


def _quadratic(h: Floats, u: Floats, inverse: Floats) -> Floats:
    away = h - u
    return np.asarray(0.5 * np.einsum("ni,ij,nj->n", away, inverse, away, optimize=True))
