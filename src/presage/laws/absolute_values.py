"""Singular values of a symmetric matrix: the absolute values of its eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.discrete_law import DiscreteLaw
from presage.laws.point_masses import PointMasses
from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Atoms, Complexes, Floats, SpectralLaw


@final
@dataclass(frozen=True)
class AbsoluteValues(RectangularLaw):
    """Law of ``|x|`` for the eigenvalues x of a symmetric d x d matrix, whose singular values these are."""

    eigenvalues: SpectralLaw
    aspect: float = field(init=False, default=1.0, repr=False)

    def check_itself(self, name: str) -> None:
        self.eigenvalues.check_itself(name)

    @property
    def notes(self) -> tuple[str, ...]:
        return self.eigenvalues.notes

    @property
    def second_moment(self) -> float:
        return self.eigenvalues.second_moment

    @cached_property
    def squared(self) -> SpectralLaw:
        law = self.eigenvalues
        if isinstance(law, DiscreteLaw):
            return PointMasses(law.atoms.positions**2, law.atoms.masses)
        return Squares(law)


@final
@dataclass(frozen=True)
class Squares(SpectralLaw):
    """Law of ``x^2`` for x from a law: eigenvalues of the square of a symmetric matrix.

    With ``z = sqrt(w)`` in the upper half plane ``1/(w - x^2)`` is ``[1/(z - x) + 1/(z + x)]/(2 z)``, and the second
    term is the first one of the mirrored law: ``G(w) = [G_x(z) - conj G_x(-conj z)]/(2 z)``.
    """

    law: SpectralLaw

    def stieltjes_pair(self, z: Complexes) -> tuple[Complexes, Complexes]:
        root = np.sqrt(z)
        both, slopes = self.law.stieltjes_pair(np.concatenate([root, -np.conj(root)]))
        g = (both[: root.size] - np.conj(both[root.size :])) / (2.0 * root)
        slope = (slopes[: root.size] + np.conj(slopes[root.size :])) / (2.0 * root)  # in the root
        return g, (slope - g / root) / (2.0 * root)

    @property
    def support(self) -> Floats:
        ends = self.law.support
        inside = (ends[:, 0] < 0.0) & (ends[:, 1] > 0.0)
        squares = np.sort(ends**2, axis=1)
        squares[inside, 0] = 0.0
        return joined(squares)

    @property
    def atoms(self) -> Atoms:
        positions, masses = self.law.atoms
        squares, index = np.unique(positions**2, return_inverse=True)
        return Atoms(squares, np.asarray(np.bincount(index, weights=masses, minlength=squares.size), dtype=np.float64))

    def density(self, x: ArrayLike) -> Floats:
        points = np.asarray(x, dtype=np.float64)
        root = np.sqrt(np.maximum(points, 0.0))
        with np.errstate(divide="ignore", invalid="ignore"):
            value = (self.law.density(root) + self.law.density(-root)) / (2.0 * root)
        return np.where(points > 0.0, value, 0.0)

    def _continuous_below(self, x: Floats, power: int = 0) -> Floats:
        root = np.sqrt(np.maximum(x, 0.0))
        return self.law._continuous_below(root, 2 * power) - self.law._continuous_below(-root, 2 * power)


def joined(intervals: Floats) -> Floats:
    """Intervals, sorted, those that overlap made one."""
    rows: list[list[float]] = []
    for left, right in sorted(intervals.tolist()):
        if rows and left <= rows[-1][1]:
            rows[-1][1] = max(rows[-1][1], right)
        else:
            rows.append([left, right])
    return np.array(rows)
