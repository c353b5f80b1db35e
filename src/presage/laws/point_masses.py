"""Given eigenvalues with given weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.discrete_law import DiscreteLaw, abbreviated, number_list
from presage.laws.numerical_zeros import with_numerical_zeros
from presage.laws.spectral_law import Atoms
from presage.protocol import checks


@final
@dataclass(frozen=True, eq=False)
class PointMasses(DiscreteLaw):
    """Atoms at given values with given weights (equal ones when `weights` is left out)."""

    values: ArrayLike
    weights: ArrayLike | None = None

    def __post_init__(self) -> None:
        values = number_list("values", self.values, "they are eigenvalues")
        if self.weights is None:
            weights = np.full(values.size, 1.0 / values.size)
        else:
            weights = number_list("weights", self.weights, "they are the masses of the atoms")
        if weights.size != values.size:
            raise checks.complaint(
                "weights",
                "have one entry a value",
                "each atom has its own mass",
                f"{weights.size} weights for {values.size} values",
                "Give as many weights as values, or leave them out for equal ones.",
            )
        if not (weights > 0).all():
            raise checks.complaint(
                "weights",
                "be positive",
                "they are the masses of the atoms",
                float(weights.min()),
                "Leave out the values whose weight is 0.",
            )
        if abs(weights.sum() - 1) > 1e-9:
            raise checks.complaint(
                "weights",
                "sum to one",
                "they are the masses of a probability law",
                f"weights with sum {weights.sum():.10g}",
                "Divide them by their sum.",
            )
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", weights / weights.sum())

    @property
    def notes(self) -> tuple[str, ...]:
        values = np.asarray(self.values)
        tiny = int(np.sum(values != with_numerical_zeros(values, values.size)))
        if not tiny:
            return ()
        return (
            f"{tiny} of the {values.size} values of the target are tiny beside the largest, and count as they are: if "
            "they are the rounding of zeros, use Empirical or SingularValueMasses, which know a zero.",
        )

    def _atoms(self) -> Atoms:
        positions, index = np.unique(np.asarray(self.values), return_inverse=True)
        masses = np.bincount(index, weights=np.asarray(self.weights, dtype=np.float64))
        return Atoms(positions, np.asarray(masses, dtype=np.float64))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PointMasses) and all(
            np.array_equal(mine, theirs) for mine, theirs in zip(self.atoms, other.atoms, strict=True)
        )

    def __hash__(self) -> int:
        return hash((self.atoms.positions.tobytes(), self.atoms.masses.tobytes()))

    def __repr__(self) -> str:
        return f"PointMasses({abbreviated(self.atoms.positions)}, {abbreviated(self.atoms.masses)})"
