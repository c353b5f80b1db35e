"""What samples see of a matrix without symmetry, as a linear map and its transpose.

Threads take parts of the samples, always the same ones, and sums are added in their order: numbers do not depend on how
many threads there are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.bilinear.problem import BilinearProblem
from presage.training.ordered_sums import by_parts


class Measurements(ABC):
    """A linear map from matrices to scores, ``<X, M>/(p N)^(1/4)`` each, and its transpose."""

    shape: tuple[int, int]

    @property
    def entries(self) -> int:
        """Number of entries of the matrix, ``p N``."""
        return self.shape[0] * self.shape[1]

    @abstractmethod
    def forward(self, M: Floats) -> Floats:
        """Scores of M, one row a sample."""

    @abstractmethod
    def transpose(self, g: Floats) -> Floats:
        """``sum g X/(p N)^(1/4)`` over samples and scores: the transpose of `forward`."""


@final
@dataclass(frozen=True, eq=False)
class GaussianMeasurements(Measurements):
    """Regression on sequences: a sample is a Gaussian matrix, kept as a row of X."""

    shape: tuple[int, int]
    X: Floats = field(repr=False)  # n x (rows columns)
    threads: int = 1

    def forward(self, M: Floats) -> Floats:
        flat = M.ravel()
        parts = by_parts(len(self.X), self.threads, lambda part: self.X[part] @ flat, work=self.X.size)
        return np.asarray(np.concatenate(parts) / self.entries**0.25)[:, None]

    def transpose(self, g: Floats) -> Floats:
        flat = g[:, 0]
        parts = by_parts(len(self.X), self.threads, lambda part: flat[part] @ self.X[part], work=self.X.size)
        return np.asarray(np.sum(parts, axis=0).reshape(self.shape) / self.entries**0.25)


@final
@dataclass(frozen=True, eq=False)
class TokenMeasurements(Measurements):
    """Attention: scores ``q_a' M k_b/sqrt(d)`` of tokens, by matrix products; memory O(n T d).

    `seen` (T x T) is one where a score belongs to the sample; with `centred`, ``Tr M/sqrt(d)`` is subtracted on the
    diagonal, which is its mean when queries and keys are the same tokens.
    """

    queries: Floats = field(repr=False)  # n x T x d
    keys: Floats = field(repr=False)
    seen: Floats
    centred: bool
    threads: int = 1

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        d = self.queries.shape[2]
        return d, d

    @property
    def work(self) -> float:
        """Multiplications of a product with all queries."""
        return float(self.queries.size * self.queries.shape[2])

    def forward(self, M: Floats) -> Floats:
        n, T, d = self.queries.shape

        def scores(part: slice) -> Floats:
            queries = self.queries[part]
            mapped = (queries.reshape(-1, d) @ M).reshape(queries.shape)
            return np.asarray(np.matmul(mapped, self.keys[part].transpose(0, 2, 1)))

        found = np.concatenate(by_parts(n, self.threads, scores, work=self.work))
        if self.centred:
            found -= np.trace(M) * np.eye(T)
        return np.asarray((found * (self.seen / sqrt(d))).reshape(n, T * T))

    def transpose(self, g: Floats) -> Floats:
        n, T, d = self.queries.shape
        weights = g.reshape(n, T, T) * (self.seen / sqrt(d))

        def pulled(part: slice) -> Floats:
            mixed = np.matmul(weights[part], self.keys[part]).reshape(-1, d)
            return np.asarray(self.queries[part].reshape(-1, d).T @ mixed)

        gradient = np.sum(by_parts(n, self.threads, pulled, work=self.work), axis=0)
        if self.centred:
            gradient -= np.eye(d) * np.trace(weights, axis1=1, axis2=2).sum()
        return np.asarray(gradient)


def draw_measurements(
    problem: BilinearProblem, d: int, n: int, rng: np.random.Generator, *, threads: int = 1
) -> Measurements:
    """Draw n samples of a problem whose shorter side is `d`."""
    if problem.n_tokens is None:
        shape = (round(problem.target.aspect * d), d)
        return GaussianMeasurements(shape, rng.standard_normal((n, shape[0] * d)), threads)
    T = problem.n_tokens
    queries = rng.standard_normal((n, T, d))
    keys = rng.standard_normal((n, T, d)) if problem.pairs == "cross" else queries
    seen = 1.0 - np.eye(T) if problem.pairs == "distinct" else np.ones((T, T))
    return TokenMeasurements(queries, keys, seen, problem.pairs == "all", threads)


def draw_labels(measurements: Measurements, M_0: Floats, noise: float, rng: np.random.Generator) -> Floats:
    """Scores of the target plus noise of variance Delta on each score that is seen."""
    scores = measurements.forward(M_0)
    errors = sqrt(noise) * rng.standard_normal(scores.shape)
    if isinstance(measurements, TokenMeasurements):
        errors *= measurements.seen.ravel()
    return np.asarray(scores + errors)
