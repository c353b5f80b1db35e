"""Samples of the coordinates F of a problem: Gaussian ones, Hermite ones, and quadratic forms of inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from itertools import combinations_with_replacement
from math import factorial, sqrt
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats
from presage.models.compositional.problem import CompositionalProblem, coordinates

Singles = NDArray[np.float32]
BLOCK_BYTES = 32e6  # of the largest array of a block


class Coordinates(ABC):
    """How samples are drawn, projected on directions of R^D, and summed up again; directions are columns of D rows."""

    def __init__(self, d: int, degree: int) -> None:
        self.d, self.degree, self.count = d, degree, coordinates(d, degree)

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers that one sample is kept by."""

    @property
    def per_direction(self) -> int:
        """Numbers that one sample and one direction need while they are projected."""
        return 1

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Singles:
        """So many samples."""

    @abstractmethod
    def project(self, samples: Singles, directions: Floats) -> Floats:
        """``F V``: one row a sample, one column a direction."""

    @abstractmethod
    def back(self, samples: Singles, weights: Floats) -> Floats:
        """``F' W``: sums of samples with these weights, a column each."""

    def block(self, directions: int) -> int:
        """Samples of a block, whose largest array is of a moderate size."""
        numbers = max(self.width, directions * self.per_direction)
        return max(1, int(BLOCK_BYTES / (4 * numbers)))


@final
class GaussianCoordinates(Coordinates):
    """F ~ N(0, 1_D)."""

    @property
    def width(self) -> int:
        return self.count

    def draw(self, n: int, rng: np.random.Generator) -> Singles:
        return rng.standard_normal((n, self.count), dtype=np.float32)

    def project(self, samples: Singles, directions: Floats) -> Floats:
        return np.asarray(samples @ directions.astype(np.float32), dtype=np.float64)

    def back(self, samples: Singles, weights: Floats) -> Floats:
        return np.asarray(samples.T @ weights.astype(np.float32), dtype=np.float64)


@final
class HermiteCoordinates(Coordinates):
    """All Hermite polynomials of a degree of x ~ N(0, 1_d), each of variance one, computed one by one."""

    @property
    def width(self) -> int:
        return self.count

    def draw(self, n: int, rng: np.random.Generator) -> Singles:
        return self.of(rng.standard_normal((n, self.d), dtype=np.float32))

    def of(self, x: Singles) -> Singles:
        """Coordinates of inputs: of x_i x_j before x_i^2 - 1 the order is that of the indices, the last one fastest."""
        powers = [np.ones_like(x), x]
        for k in range(1, self.degree):
            powers.append(x * powers[-1] - np.float32(k) * powers[-2])
        found = np.empty((len(x), self.count), dtype=np.float32)
        for column, indices in enumerate(combinations_with_replacement(range(self.d), self.degree)):
            product: Any = np.float32(1.0)
            for i, k in Counter(indices).items():
                product = product * powers[k][:, i] * np.float32(1.0 / sqrt(factorial(k)))
            found[:, column] = product
        return found

    def project(self, samples: Singles, directions: Floats) -> Floats:
        return np.asarray(samples @ directions.astype(np.float32), dtype=np.float64)

    def back(self, samples: Singles, weights: Floats) -> Floats:
        return np.asarray(samples.T @ weights.astype(np.float32), dtype=np.float64)


@final
class QuadraticForms(Coordinates):
    """Hermite coordinates of degree 2, which are never formed: a direction is a symmetric matrix S of norm one.

    ``<A, F> = <S, xx' - 1>/sqrt(2)`` with ``S_ii = A_ii`` and ``S_ij = A_ij/sqrt(2)``. A sample is its x, of d
    numbers, and a product with a direction takes d^2 operations.
    """

    def __init__(self, d: int) -> None:
        super().__init__(d, 2)
        self.rows, self.columns = np.triu_indices(d)
        self.scale = np.where(self.rows == self.columns, 1.0, sqrt(0.5))

    @property
    def width(self) -> int:
        return self.d

    @property
    def per_direction(self) -> int:
        return self.d

    def draw(self, n: int, rng: np.random.Generator) -> Singles:
        return rng.standard_normal((n, self.d), dtype=np.float32)

    def matrices(self, directions: Floats) -> Floats:
        """Directions as symmetric matrices, one after the other in the last axis but one: d rows, k d columns."""
        k = directions.shape[1]
        S = np.zeros((self.d, k, self.d))
        entries = directions * self.scale[:, None]
        S[self.rows, :, self.columns] = entries
        S[self.columns, :, self.rows] = entries
        return S.reshape(self.d, k * self.d)

    def project(self, samples: Singles, directions: Floats) -> Floats:
        k = directions.shape[1]
        S = self.matrices(directions)
        trace = np.einsum("iki->k", S.reshape(self.d, k, self.d))
        products = (samples @ S.astype(np.float32)).reshape(len(samples), k, self.d)
        forms = np.einsum("mkd,md->mk", products, samples, optimize=False)
        return np.asarray((forms - trace) / sqrt(2.0), dtype=np.float64)

    def back(self, samples: Singles, weights: Floats) -> Floats:
        m, k = weights.shape
        weighted = (samples[:, None, :] * weights.astype(np.float32)[:, :, None]).reshape(m, k * self.d)
        S = np.asarray(samples.T @ weighted, dtype=np.float64).reshape(self.d, k, self.d)
        S[np.arange(self.d), :, np.arange(self.d)] -= weights.sum(axis=0)
        return np.asarray(S[self.rows, :, self.columns] / (self.scale[:, None] * sqrt(2.0)))


def coordinates_of(problem: CompositionalProblem, d: int, *, formed: bool = False) -> Coordinates:
    """The coordinates of a problem; Hermite ones of degree 2 are formed only where that is asked for."""
    if problem.inputs == "surrogate":
        return GaussianCoordinates(d, problem.degree)
    if problem.degree == 2 and not formed:
        return QuadraticForms(d)
    return HermiteCoordinates(d, problem.degree)
