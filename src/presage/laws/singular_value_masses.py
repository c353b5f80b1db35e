"""Given singular values with given weights."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.point_masses import PointMasses
from presage.laws.rectangular_law import ASPECT, RectangularLaw
from presage.protocol import checks


@final
@dataclass(frozen=True, eq=False)
class SingularValueMasses(RectangularLaw):
    """Given singular values with given weights (equal ones when `weights` is left out)."""

    values: ArrayLike
    weights: ArrayLike | None = None
    aspect: float = 1.0

    def __post_init__(self) -> None:
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
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "weights", np.asarray(law.weights, dtype=np.float64))
        object.__setattr__(self, "aspect", ASPECT.checked("aspect", self.aspect))

    @cached_property
    def squared(self) -> PointMasses:
        return PointMasses(np.asarray(self.values) ** 2, self.weights)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SingularValueMasses) and self.aspect == other.aspect and self.squared == other.squared

    def __hash__(self) -> int:
        return hash((self.aspect, self.squared))
