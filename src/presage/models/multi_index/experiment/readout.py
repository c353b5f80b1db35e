"""The readout: ridge regression of labels on Hermite polynomials of the recovered coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import comb, factorial, sqrt

import numpy as np
from numpy.polynomial import hermite_e

from presage.models.multi_index.experiment.samples import clean_labels
from presage.models.multi_index.problem import MultiIndexProblem
from presage.protocol.ensemble import Floats

BLOCK_BYTES = 64e6  # polynomials of samples are held in blocks of about this size
MOST_COLUMNS = 3000  # polynomials of a readout


def column_count(directions: int, problem: MultiIndexProblem) -> int:
    """Polynomials of so many coordinates, the constant included."""
    degree = problem.readout_degree
    return 1 + directions * degree if problem.readout == "separate" else comb(directions + degree, degree)


def columns(s: Floats, problem: MultiIndexProblem) -> Floats:
    """Hermite polynomials of variance one of coordinates, one row a sample: of each alone, or products of all."""
    degree = problem.readout_degree
    scale = np.array([sqrt(factorial(one)) for one in range(degree + 1)])
    table = hermite_e.hermevander(s, degree) / scale  # sample, coordinate, degree
    if problem.readout == "separate":
        return np.concatenate([np.ones((len(s), 1)), table[:, :, 1:].reshape(len(s), -1)], axis=1)
    found = []
    for total in range(degree + 1):
        for chosen in combinations_with_replacement(range(s.shape[1]), total):
            column = np.ones(len(s))
            for coordinate in set(chosen):
                column = column * table[:, coordinate, chosen.count(coordinate)]
            found.append(column)
    return np.stack(found, axis=1)


class Coordinates:
    """Fresh samples as the features and the recovered directions see them: scores z and coordinates s.

    Both are Gaussian with the inner products of the directions as covariances, so that nothing else is drawn.
    """

    def __init__(self, W: Floats, V: Floats) -> None:
        self.p = W.shape[1]
        _, self.root = np.linalg.qr(np.concatenate([W, V], axis=1))

    def draw(self, count: int, width: int, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
        """Scores and coordinates of so many samples, in blocks for so many polynomials."""
        block = max(1, int(BLOCK_BYTES / (8 * (width + len(self.root)))))
        for start in range(0, count, block):
            both = rng.standard_normal((min(block, count - start), len(self.root))) @ self.root
            yield both[:, : self.p], both[:, self.p :]


def fit(
    problem: MultiIndexProblem, seen: Coordinates, width: int, n: int, ridge: float, rng: np.random.Generator
) -> Floats:
    """Weights of the polynomials: ridge regression of n fresh, noisy labels on them."""
    gram, along = np.zeros((width, width)), np.zeros(width)
    for z, s in seen.draw(n, width, rng):
        A = columns(s, problem)
        y = clean_labels(problem, z) + sqrt(problem.noise) * rng.standard_normal(len(z))
        gram += A.T @ A
        along += A.T @ y
    return np.asarray(np.linalg.solve(gram + ridge * n * np.eye(width), along))


def risk(problem: MultiIndexProblem, seen: Coordinates, weights: Floats, n: int, rng: np.random.Generator) -> float:
    """Mean squared error of the readout on the clean labels of n fresh samples."""
    total = 0.0
    for z, s in seen.draw(n, len(weights), rng):
        total += float(np.sum((columns(s, problem) @ weights - clean_labels(problem, z)) ** 2))
    return total / n
