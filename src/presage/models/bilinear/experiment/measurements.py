"""What samples see of a matrix without symmetry, as a linear map and its transpose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.bilinear.problem import BilinearProblem


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

    def forward(self, M: Floats) -> Floats:
        return np.asarray(self.X @ M.ravel() / self.entries**0.25)[:, None]

    def transpose(self, g: Floats) -> Floats:
        return np.asarray((g[:, 0] @ self.X).reshape(self.shape) / self.entries**0.25)


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

    @property
    def shape(self) -> tuple[int, int]:  # type: ignore[override]
        d = self.queries.shape[2]
        return d, d

    def forward(self, M: Floats) -> Floats:
        n, T, d = self.queries.shape
        mapped = (self.queries.reshape(n * T, d) @ M).reshape(n, T, d)
        scores = np.matmul(mapped, self.keys.transpose(0, 2, 1))
        if self.centred:
            scores -= np.trace(M) * np.eye(T)
        return np.asarray((scores * (self.seen / sqrt(d))).reshape(n, T * T))

    def transpose(self, g: Floats) -> Floats:
        n, T, d = self.queries.shape
        weights = g.reshape(n, T, T) * (self.seen / sqrt(d))
        mixed = np.matmul(weights, self.keys).reshape(n * T, d)
        gradient = self.queries.reshape(n * T, d).T @ mixed
        if self.centred:
            gradient -= np.eye(d) * np.trace(weights, axis1=1, axis2=2).sum()
        return np.asarray(gradient)


def draw_measurements(problem: BilinearProblem, d: int, n: int, rng: np.random.Generator) -> Measurements:
    """Draw n samples of a problem whose shorter side is `d`."""
    if problem.n_tokens is None:
        shape = (round(problem.target.aspect * d), d)
        return GaussianMeasurements(shape, rng.standard_normal((n, shape[0] * d)))
    T = problem.n_tokens
    queries = rng.standard_normal((n, T, d))
    keys = rng.standard_normal((n, T, d)) if problem.pairs == "cross" else queries
    seen = 1.0 - np.eye(T) if problem.pairs == "distinct" else np.ones((T, T))
    return TokenMeasurements(queries, keys, seen, centred=problem.pairs == "all")


def draw_labels(measurements: Measurements, M_0: Floats, noise: float, rng: np.random.Generator) -> Floats:
    """Scores of the target plus noise of variance Delta on each score that is seen."""
    scores = measurements.forward(M_0)
    errors = sqrt(noise) * rng.standard_normal(scores.shape)
    if isinstance(measurements, TokenMeasurements):
        errors *= measurements.seen.ravel()
    return np.asarray(scores + errors)
