"""Overlaps and hats in turn, from matrices near the target and from matrices that hardly know it."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.problem import MultiMatrixProblem
from presage.models.multi_matrix.symmetries import invisible
from presage.models.multi_matrix.theory.sample_means import Hats, SampleMeans, sample_means
from presage.models.multi_matrix.theory.weight_side import Shrunk, shrunk
from presage.protocol.errors import SolveError
from presage.solving.vector_state_evolution import Overlaps, change, settled

INFORMED, UNINFORMED = 0.9, 0.1  # overlap with the target to start from, over its size
RESPONSE = 0.3  # of the first matrices
KEPT = 0.5  # part of the old overlaps that a step keeps
STEPS, POLISHED = 600, 60  # that are taken at the most, of the iteration itself and of its end
NEAR = 2e-3  # change of overlaps from which on the end is looked for directly
LEAST = 1e-10  # response and size that a step may end at


class FixedPoint(NamedTuple):
    """Overlaps that come back after a step."""

    overlaps: Overlaps
    means: SampleMeans
    weights: tuple[Shrunk, ...]
    residual: float


def start(problem: MultiMatrixProblem, part: float) -> Overlaps:
    """Matrices of which the target is so large a part of their overlap: the squared size is the same part of it."""
    sizes = problem.sizes
    return Overlaps(part * sizes, part * sizes, np.full(len(sizes), RESPONSE))


def weights_of(problem: MultiMatrixProblem, hats: Hats) -> tuple[Shrunk, ...]:
    """Every matrix for itself, given what samples say of it."""
    given = zip(problem.laws, hats.m_hat, hats.q_hat, hats.v_hat, strict=True)
    return tuple(shrunk(law, float(m), float(q), float(v), problem.weight_decay) for law, m, q, v in given)


def overlaps_of(weights: tuple[Shrunk, ...]) -> Overlaps:
    """The overlaps among what is known of every matrix."""
    m, q, v = (np.array([getattr(one, name) for one in weights]) for name in ("m", "q", "v"))
    return Overlaps(m, np.maximum(q, LEAST), np.maximum(v, LEAST))


def fixed_point(problem: MultiMatrixProblem, begin: Overlaps, normals: Floats, tol: float) -> FixedPoint:
    """Follow state evolution from a start until it comes to rest.

    The iteration itself, half of each step taken, decides where it ends; only its end is extrapolated.

    Raises:
        SolveError: where it does not come to rest.
    """
    now, moved, guess = begin, inf, None
    for _ in range(STEPS):
        means = sample_means(problem, now, normals, guess)
        guess = means.p
        new = overlaps_of(weights_of(problem, means.hats))
        moved = change(now, new)
        now = Overlaps(*(KEPT * old + (1.0 - KEPT) * one for old, one in zip(now, new, strict=True)))
        if moved < NEAR:
            break
    return polished(problem, now, normals, tol, guess)


def polished(
    problem: MultiMatrixProblem, near: Overlaps, normals: Floats, tol: float, guess: Floats | None = None
) -> FixedPoint:
    """The fixed point beside overlaps that are nearly one."""
    known = [guess]

    def step(overlaps: Overlaps) -> Overlaps:
        means = sample_means(problem, overlaps, normals, known[0])
        known[0] = means.p
        return overlaps_of(weights_of(problem, means.hats))

    def allowed(overlaps: Overlaps) -> bool:
        m, q, v = overlaps
        sizes = problem.sizes
        return bool(np.all(q > 0.0) and np.all(v > 0.0) and np.all(m * m <= q * sizes * (1.0 + 1e-9)))

    found = settled(near, step, allowed, tol=tol, most=POLISHED)
    if not found.residual <= tol:
        what = f"State evolution did not come to rest: overlaps still move by {found.residual:.1e}."
        raise SolveError(what, "Use more <alpha> or <weight_decay>: near a transition the iteration is slow.", found)
    overlaps = with_signs_put_right(problem, found.overlaps)
    means = sample_means(problem, overlaps, normals, all_starts=True)
    return FixedPoint(overlaps, means, weights_of(problem, means.hats), found.residual)


def with_signs_put_right(problem: MultiMatrixProblem, overlaps: Overlaps) -> Overlaps:
    """The same with those signs of the matrices, of the ones that labels do not tell, with the largest overlaps."""
    same = tuple(range(problem.matrices))
    signs = [np.array(one.signs) for one in invisible(problem.link) if one.order == same]
    return overlaps._replace(m=max((one * overlaps.m for one in signs), key=lambda m: float(m.sum())))
