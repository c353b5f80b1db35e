"""Given singular values with given weights."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.discrete_law import number_list
from presage.laws.numerical_zeros import note_on_zeros, refuse_half_precision, with_numerical_zeros
from presage.laws.point_masses import PointMasses
from presage.laws.rectangular_law import ASPECT, RectangularLaw
from presage.protocol import checks


@final
@dataclass(frozen=True, eq=False)
class SingularValueMasses(RectangularLaw):
    """Given singular values with given weights (equal ones when `weights` is left out); their rounding is zero."""

    values: ArrayLike
    weights: ArrayLike | None = None
    aspect: float = 1.0
    rounded: int = field(init=False, default=0, repr=False)  # how many were set to zero

    @classmethod
    def of_matrix(cls, matrix: ArrayLike) -> Self:
        """The singular values of a given matrix, and its aspect."""
        given = np.asarray(matrix)
        if given.ndim != 2 or given.size == 0:
            got = f"an array of shape {given.shape}"
            raise checks.complaint("matrix", "have two sides", "its singular values are meant", got, "Pass a matrix.")
        entries = number_list("matrix", given.ravel(), "they are the entries of a matrix").reshape(given.shape)
        short, long = sorted(given.shape)
        values = np.linalg.svd(entries, compute_uv=False)
        precision = given.dtype if given.dtype.kind == "f" else np.float64  # which says what of them is rounding
        return cls(values.astype(precision), aspect=long / short)

    def __post_init__(self) -> None:
        refuse_half_precision("values", np.asarray(self.values))
        law = PointMasses(self.values, self.weights)  # says what is wrong with values or weights
        values = np.asarray(law.values, dtype=np.float64)
        if values.min() < 0:
            raise checks.complaint(
                "values",
                "be zero or positive",
                "they are singular values",
                float(values.min()),
                "Drop the sign: it belongs to the singular vectors.",
            )
        object.__setattr__(self, "weights", np.asarray(law.weights, dtype=np.float64))
        object.__setattr__(self, "aspect", ASPECT.checked("aspect", self.aspect))
        longer = round(self.aspect * values.size)
        exact = with_numerical_zeros(values, longer, np.asarray(self.values).dtype)
        object.__setattr__(self, "values", exact)
        object.__setattr__(self, "rounded", int(np.sum(exact != values)))

    @property
    def notes(self) -> tuple[str, ...]:
        return note_on_zeros(self.rounded, np.size(self.values), "singular values")

    @cached_property
    def squared(self) -> PointMasses:
        return PointMasses(np.asarray(self.values) ** 2, self.weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingularValueMasses) and self.aspect == other.aspect and self.squared == other.squared

    def __hash__(self) -> int:
        return hash((self.aspect, self.squared))
