"""Targets and samples at finite size: queries, keys, which scores a row sees, and what the target makes of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import NDArray

from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.random_frame import random_frame
from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.untied.experiment import kernels
from presage.models.untied.problem import Mask
from presage.training.ordered_sums import in_ordered_parts

BLOCK = 4096  # samples of a test that are drawn at a time


def sample_target(law: RectangularLaw | SpectralLaw, d: int, rng: np.random.Generator) -> Floats:
    """Draw a d x d matrix: singular values of a law between two rotations, or eigenvalues in one of their own."""
    if isinstance(law, RectangularLaw):
        return law.sample(d, d, rng)
    if isinstance(law, MarchenkoPastur):
        width = max(1, round(law.kappa_0 * d))
        W_0 = rng.standard_normal((d, width))
        return np.asarray(W_0 @ W_0.T / sqrt(width * d))
    vectors = random_frame(d, d, rng)
    return np.asarray((vectors * law.sample(d, rng)) @ vectors.T)


def seen_scores(mask: Mask, T: int, K: int) -> NDArray[np.bool_]:
    """Which key each query sees, T x K."""
    if mask == "causal":
        return np.tri(T, K, -1, dtype=bool)
    if mask == "off-diagonal":
        return ~np.eye(T, K, dtype=bool)
    return np.ones((T, K), dtype=bool)


@final
@dataclass(frozen=True, eq=False)
class Sequences:
    """Samples of a target: the tokens whose scores matter, and the labels.

    A softmax does not see what all scores of a row share, so that differences of keys from one of them are all that
    it needs: then `first` is 1, and `keys` has one row less a sample.
    """

    queries: Floats = field(repr=False)  # (n T) x d, those of a sample one after the other
    keys: Floats = field(repr=False)  # (n (K - first)) x d
    labels: Floats = field(repr=False)  # n x T x K, zero where nothing is seen
    seen: NDArray[np.bool_]  # T x K
    first: int
    centred: bool  # whether Tr S/sqrt(d) is taken off the diagonal: queries and keys are the same tokens
    size: float  # root mean square of the target's scores, noise included

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def n_queries(self) -> int:
        return int(self.labels.shape[1])

    @property
    def n_keys(self) -> int:
        return int(self.labels.shape[2])

    @property
    def d(self) -> int:
        return int(self.queries.shape[1])

    def shift(self, S: Floats) -> Floats:
        """Mean of the scores of S, T x K."""
        T, K = self.seen.shape
        return np.asarray(np.eye(T, K) * (np.trace(S) / sqrt(self.d) if self.centred else 0.0))


def draw(
    S_0: Floats,
    mask: Mask,
    T: int,
    K: int,
    target_beta: float | None,
    noise: float,
    n: int,
    rng: np.random.Generator,
    *,
    target_gain: float | None = None,
    threads: int = 1,
) -> Sequences:
    """Draw `n` samples of the target `S_0`, with a softmax of inverse temperature `target_beta`, or linear (None).

    ``r_ab = q_a' S_0 k_b/sqrt(d) + sqrt(noise) xi_ab``, each score with noise of its own; with the mask "self" the mean
    ``Tr S_0/sqrt(d)`` is taken off the diagonal. Rows that have nothing to choose from, and keys that no row sees, show
    nothing of the target and are left out; but a row of one key shows the gain of the target, where it has one.
    """
    d, linear = len(S_0), target_beta is None
    seen = seen_scores(mask, T, K)
    rows = seen.sum(axis=1) >= (1 if linear or target_gain is not None else 2)
    columns = seen[rows].any(axis=0)
    queries = rng.standard_normal((n, T, d))
    keys = rng.standard_normal((n, K, d)) if mask == "cross" else queries
    queries, keys = _chosen(queries, rows), _chosen(keys, columns)
    seen, centred = np.ascontiguousarray(seen[rows][:, columns]), mask == "self"
    T, K = seen.shape
    R_0 = np.empty((n, T, K))

    def label(blocks: list[slice]) -> None:
        for block in blocks:
            mapped = (queries[block].reshape(-1, d) @ S_0).reshape(-1, T, d)
            np.matmul(mapped, keys[block].transpose(0, 2, 1), out=R_0[block])

    in_ordered_parts(n, d, T, threads, label)
    R_0 -= np.trace(S_0) * np.eye(T, K) if centred else 0.0
    R_0 /= sqrt(d)
    R_0 += sqrt(noise) * rng.standard_normal(R_0.shape)
    size = float(np.sqrt(np.mean(R_0[:, seen] ** 2)))
    if linear:
        labels, first = np.where(seen, R_0, 0.0), 0
    else:
        labels, first = np.empty_like(R_0), 1
        kernels.softmax(R_0, seen, target_beta, labels)
        labels *= 1.0 if target_gain is None else target_gain
        keys = keys[:, 1:] - keys[:, :1]
    return Sequences(queries.reshape(-1, d), keys.reshape(-1, d), labels, seen, first, centred, size)


def _chosen(tokens: Floats, which: NDArray[np.bool_]) -> Floats:
    return tokens if which.all() else np.ascontiguousarray(tokens[:, which])


def stream(
    S_0: Floats,
    mask: Mask,
    T: int,
    K: int,
    target_beta: float | None,
    noise: float,
    n: int,
    rng: np.random.Generator,
    *,
    target_gain: float | None = None,
    threads: int = 1,
) -> Iterator[Sequences]:
    """Draw `n` samples block by block, so that a test of any size needs the memory of one block."""
    for start in range(0, n, BLOCK):
        count = min(BLOCK, n - start)
        yield draw(S_0, mask, T, K, target_beta, noise, count, rng, target_gain=target_gain, threads=threads)
