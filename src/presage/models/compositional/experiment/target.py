"""The target of one seed: orthonormal features of the coordinates, how they are mixed, and the labels of samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.experiment.coordinates import Coordinates
from presage.models.compositional.links import OuterLink
from presage.models.compositional.problem import CompositionalProblem


class Target(NamedTuple):
    """Directions A of the first layer (columns), the matrix B of the second, and the last function."""

    A: Floats
    B: Floats
    link: OuterLink

    @property
    def principal(self) -> Floats:
        """Features in the eigenbasis of B, the largest strength first: columns."""
        values, vectors = np.linalg.eigh(self.B)
        return np.asarray(self.A @ vectors[:, np.argsort(-np.abs(values), kind="stable")])

    def labels(self, first: Floats) -> Floats:
        """Labels of these values of the first layer, one row a sample."""
        second = (np.einsum("mi,ij,mj->m", first, self.B, first, optimize=True) - np.trace(self.B)) / np.sqrt(2.0)
        return np.asarray(self.link(second), dtype=np.float64)


def draw_target(problem: CompositionalProblem, coordinates: Coordinates, rng: np.random.Generator) -> Target:
    """Random orthonormal directions; a dense B has the eigenvalues of the problem in a random basis."""
    A, _ = np.linalg.qr(rng.standard_normal((coordinates.count, problem.features)))
    B = np.diag(problem.strengths)
    if problem.mixing == "gaussian":
        Q, R = np.linalg.qr(rng.standard_normal(B.shape))
        Q = Q * np.sign(np.diag(R))
        B = Q @ B @ Q.T
    return Target(A, B, problem.link)
