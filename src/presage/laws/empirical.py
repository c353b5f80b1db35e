"""The eigenvalues of a given matrix, or a list of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.discrete_law import DiscreteLaw, abbreviated, number_list
from presage.laws.numerical_zeros import note_on_zeros, refuse_half_precision, with_numerical_zeros
from presage.laws.spectral_law import Atoms
from presage.protocol import checks


@final
@dataclass(frozen=True, eq=False)
class Empirical(DiscreteLaw):
    """Eigenvalues as they are: of a given symmetric matrix, or given as a list; what is their rounding is zero."""

    eigenvalues: ArrayLike
    rounded: int = field(init=False, default=0, repr=False)  # how many were set to zero

    def __post_init__(self) -> None:
        try:
            given = np.asarray(self.eigenvalues)
        except ValueError:  # rows of unequal length
            given = np.asarray(self.eigenvalues, dtype=object)
        refuse_half_precision("eigenvalues", given)
        if given.ndim == 2:
            entries = number_list("eigenvalues", given.ravel(), "they are the entries of a matrix")
            matrix = entries.reshape(len(given), -1)
            square = len(matrix) == len(matrix.T)
            if not square or np.abs(matrix - matrix.T).max() > 1e-8 * (np.abs(matrix).max() + 1e-300):
                raise checks.complaint(
                    "eigenvalues",
                    "be a list of eigenvalues or a symmetric matrix",
                    "the target of the model is a symmetric matrix",
                    f"a matrix of shape {matrix.shape} that is not symmetric",
                    "Pass W @ W.T / sqrt(m d) for a factor W, or (A + A.T)/2.",
                )
            values = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))
        else:
            values = np.sort(number_list("eigenvalues", given, "they are eigenvalues"))
        exact = with_numerical_zeros(values, values.size, given.dtype)
        object.__setattr__(self, "eigenvalues", exact)
        object.__setattr__(self, "rounded", int(np.sum(exact != values)))

    @property
    def notes(self) -> tuple[str, ...]:
        return note_on_zeros(self.rounded, np.size(self.eigenvalues), "eigenvalues")

    def _atoms(self) -> Atoms:
        positions, counts = np.unique(np.asarray(self.eigenvalues), return_counts=True)
        return Atoms(positions, counts / counts.sum())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Empirical) and np.array_equal(
            np.asarray(self.eigenvalues), np.asarray(other.eigenvalues)
        )

    def __hash__(self) -> int:
        return hash(np.asarray(self.eigenvalues).tobytes())

    def __repr__(self) -> str:
        return f"Empirical({abbreviated(np.asarray(self.eigenvalues))})"
