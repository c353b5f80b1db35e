"""Samples and their labels; only a few directions of a sample decide its label, so that labels come first."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.models.multi_index.gaussian_means import values
from presage.models.multi_index.problem import MultiIndexProblem
from presage.protocol.ensemble import Floats
from presage.training.ordered_sums import PARTS, by_parts
from presage.training.signed_covariance import add_signed_squares

BLOCK_BYTES = 16e6  # samples are drawn in blocks of about this size


def draw_features(p: int, d: int, rng: np.random.Generator) -> Floats:
    """Orthonormal directions, one column a feature, uniformly turned."""
    Q, R = np.linalg.qr(rng.standard_normal((d, p)))
    return np.asarray(Q * np.sign(np.diag(R)))


def clean_labels(problem: MultiIndexProblem, scores: Floats) -> Floats:
    """``sqrt(signal) sum_k a_k f(z_k)``, one row of scores a sample."""
    return np.asarray(values(problem.link, scores) @ problem.weights)


class Drawn(NamedTuple):
    """Scores of samples on the features, and labels with their noise."""

    scores: Floats
    labels: Floats


def draw_labels(problem: MultiIndexProblem, n: int, rng: np.random.Generator) -> Drawn:
    """Scores ``z = W'x`` of n samples, which are standard Gaussian, and their labels."""
    scores = rng.standard_normal((n, problem.features))
    noise = sqrt(problem.noise) * rng.standard_normal(n)
    return Drawn(scores, clean_labels(problem, scores) + noise)


def weighted_covariance(T: Floats, scores: Floats, W: Floats, rng: np.random.Generator, threads: int = 1) -> Floats:
    """``C = (1/n) sum T (x x' - 1)`` over samples x with given scores on the features W; no sample is kept.

    A sample is its scores along the features and fresh Gaussian numbers in every other direction. Blocks of samples
    are in single precision and sums in double; products of a matrix with itself take half the work, so that samples of
    positive and of negative weight are added apart. Sums have the same digits for any number of threads.
    """
    n, (d, _) = len(T), W.shape
    size = max(1, int(BLOCK_BYTES / (4 * d)))
    narrow = W.astype(np.float32)
    streams = dict(zip([n * i // PARTS for i in range(PARTS)], rng.spawn(PARTS), strict=True))  # by where a part begins

    def part(own: slice) -> Floats:
        stream, total = streams[own.start], np.zeros((d, d))
        for start in range(own.start, own.stop, size):
            block = slice(start, min(start + size, own.stop))
            x = stream.standard_normal((block.stop - block.start, d), dtype=np.float32)
            x += (scores[block].astype(np.float32) - x @ narrow) @ narrow.T
            add_signed_squares(total, x, T[block])
        return total

    sums = by_parts(n, threads, part, work=float(n) * d * d)
    return np.asarray(sum(sums) / n - np.mean(T) * np.eye(d))
