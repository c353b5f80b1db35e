"""Gaussian coordinates of a lift in place of true ones: samples are drawn, and directions selected, in blocks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy

from presage.models.lofi.experiment.signal_matrix import (
    DENSE,
    Pick,
    Selected,
    by_sides,
    edges_of,
    joined,
    leading,
)
from presage.models.lofi.problem import LoFiProblem
from presage.protocol.ensemble import Floats
from presage.protocol.errors import TrainError
from presage.training.ordered_sums import PARTS, by_parts
from presage.training.signed_covariance import add_signed_squares

BLOCK_BYTES = 16e6  # samples are drawn in blocks of about this size
FURTHER = 8  # directions that are looked for beside those of the features
SETTLED = 1e-9  # relative error of an eigenvalue at which it is known


class Found(NamedTuple):
    """Selected directions in the active coordinates, one column of norm one each, and what they stand out of."""

    vectors: Floats
    values: Floats
    edges: tuple[float, float]
    largest: float  # size of an eigenvalue


def draw_labels(problem: LoFiProblem, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Features of n samples and their labels without the mean that these have."""
    h = rng.standard_normal((n, problem.features))
    y = problem.link(h)
    return h, np.asarray(y - y.mean())


def select(problem: LoFiProblem, D: int, pick: Pick, rng: np.random.Generator, threads: int) -> Found:
    """Draw samples whose first coordinates are the features, and select as many directions as there are features."""
    n = problem.samples(D)
    h, y = draw_labels(problem, n, rng)
    shuffled = rng.permutation(y)
    if problem.tail > 0.0:
        return _with_tail(problem, D, h, y, shuffled, pick, rng)
    C, null = covariances(h, y, shuffled, D, rng, threads)
    edges = edges_of(null, rng)
    found = by_sides(C, edges, problem.features, rng) if pick == "sides" else leading(C, problem.features, rng)
    return Found(found.vectors, found.values, edges, float(np.abs(leading(C, 1, rng).values[0])))


def covariances(
    h: Floats, y: Floats, shuffled: Floats, D: int, rng: np.random.Generator, threads: int
) -> tuple[Floats, Floats]:
    """``C = (1/n) sum y F F'`` of samples with these features, and that of the same samples with other labels.

    Blocks of samples are in single precision and sums in double. Sums have the same digits for any number of threads.
    """
    n, p = h.shape
    size = max(1, int(BLOCK_BYTES / (4 * D)))
    streams = dict(zip([n * i // PARTS for i in range(PARTS)], rng.spawn(PARTS), strict=True))

    def part(own: slice) -> Floats:
        stream, total = streams[own.start], np.zeros((2, D, D))
        for start in range(own.start, own.stop, size):
            block = slice(start, min(start + size, own.stop))
            x = stream.standard_normal((block.stop - block.start, D), dtype=np.float32)
            x[:, :p] = h[block]
            add_signed_squares(total[0], x.copy(), y[block])
            add_signed_squares(total[1], x, shuffled[block])
        return total

    whole = sum(by_parts(n, threads, part, work=2.0 * n * D * D))
    both = np.asarray(whole / n)
    return both[0], both[1]


def _with_tail(
    problem: LoFiProblem, D: int, h: Floats, y: Floats, shuffled: Floats, pick: Pick, rng: np.random.Generator
) -> Found:
    """The same where a sample has a tail besides, of which only its squared norm ``rho D`` matters.

    Tails of different samples are orthogonal, so that the Gram matrix is ``G = F F' + rho D 1``. The signal matrix has
    the eigenvalues of ``G^1/2 diag(y) G^1/2/n``, and an eigenvector u of that has the active part ``F' G^-1/2 u``. A
    fresh sample has a tail that no direction sees: what counts is the active part, at norm one.
    """
    n, p = h.shape
    F = np.concatenate([h, rng.standard_normal((n, D - p))], axis=1)
    U, s, W = scipy.linalg.svd(F, full_matrices=False, check_finite=False)
    tail = np.sqrt(problem.tail * D)
    more = np.sqrt(s**2 + tail**2) - tail

    def root(u: Floats) -> Floats:
        return np.asarray(tail * u + (U * more) @ (U.T @ u))

    def ends(labels: Floats, count: int) -> Selected:
        def product(u: Any) -> Floats:
            return np.asarray(root(labels * root(np.asarray(u).ravel())) / n)

        if n <= DENSE:
            return Selected(*np.linalg.eigh(root(labels[:, None] * root(np.eye(n))) / n))
        M = scipy.sparse.linalg.LinearOperator((n, n), matvec=product, dtype=np.float64)
        options: dict[str, Any] = {"k": count, "v0": rng.standard_normal(n), "ncv": 60 + count, "tol": SETTLED}
        try:
            low, high = (Selected(*scipy.sparse.linalg.eigsh(M, which=which, **options)) for which in ("SA", "LA"))
        except scipy.sparse.linalg.ArpackNoConvergence as stuck:
            said = f"Eigenvalues at the ends of the spectrum of {n} samples with a tail did not settle."
            raise TrainError(said, "Use another seed, a smaller <tail>, or another <alpha>.") from stuck
        return joined(low, high)

    low_high = ends(shuffled, 1).values
    edges = float(low_high.min()), float(low_high.max())
    found = ends(y, p + FURTHER)
    out = np.maximum(found.values - edges[1], edges[0] - found.values) if pick == "sides" else np.abs(found.values)
    order = np.argsort(-out, kind="stable")[:p]
    active = W.T @ ((s / np.sqrt(s**2 + tail**2))[:, None] * (U.T @ found.vectors[:, order]))
    vectors = active / np.linalg.norm(active, axis=0)
    return Found(vectors, found.values[order], edges, float(np.abs(found.values).max()))
