"""Real matrices, real samples, and the quadratic forms between them."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.random_frame import random_frame
from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.problem import MultiMatrixProblem
from presage.training.ordered_sums import in_ordered_parts


class Samples(NamedTuple):
    """Samples with their labels."""

    X: Floats  # n x d
    y: Floats  # n


def draw_matrices(problem: MultiMatrixProblem, d: int, rng: np.random.Generator) -> Floats:
    """Matrices of the laws of the target with random eigenvectors, L x d x d."""
    found = []
    for law in problem.laws:
        vectors = random_frame(d, d, rng)
        found.append((vectors * law.sample(d, rng)) @ vectors.T)
    return np.array(found)


def quadratic_forms(X: Floats, S: Floats, threads: int = 1) -> Floats:
    """One number a sample and matrix, n x L.

        z_h = (x' S_h x - Tr S_h)/sqrt(2d)

    Equation: derived: the definition of the model.
    Checked: tests/models/multi_matrix/test_experiment.py::test_quadratic_forms_have_the_variance_of_their_matrix
    """
    n, d = X.shape

    def sweep(blocks: list[slice]) -> list[Floats]:
        return [forms_of_block(X[block], S) for block in blocks]

    parts = in_ordered_parts(n, d, 1, threads, sweep)
    return np.concatenate([one for part in parts for one in part])


def forms_of_block(X: Floats, S: Floats) -> Floats:
    """The same for a block of samples."""
    d = X.shape[1]
    columns = [np.einsum("ni,ni->n", X @ one, X) - np.trace(one) for one in S]
    return np.asarray(np.stack(columns, axis=1) / sqrt(2.0 * d))


def draw_samples(problem: MultiMatrixProblem, S_0: Floats, n: int, rng: np.random.Generator, threads: int) -> Samples:
    """Gaussian samples, and labels ``y = g(z_0) + sqrt(noise) xi``."""
    X = rng.standard_normal((n, S_0.shape[1]))
    y = problem.link(quadratic_forms(X, S_0, threads)) + sqrt(problem.noise) * rng.standard_normal(n)
    return Samples(X, y)
