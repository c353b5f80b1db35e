"""A head whose factors are random, at its exact size: what its singular values are."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from presage.checkpoints.nulls.samplers import product_values
from presage.laws.spectral_law import Floats
from presage.protocol import checks
from presage.spectra.bulks.tracy_widom import exceeded_with
from presage.spectra.random_products import TW_DEVIATION, TW_MEAN, Top, product_edges, product_top


@final
@dataclass(frozen=True)
class HeadNull:
    """Singular values of ``W_Q W_K'`` with independent entries of variance one, W_Q d_q x h and W_K d_k x h.

    Entries of other variances multiply every value by ``sigma_q sigma_k``.
    """

    h: int
    d_q: int
    d_k: int | None = None  # d_q by default

    def __post_init__(self) -> None:
        object.__setattr__(self, "d_k", self.d_q if self.d_k is None else self.d_k)
        for name, words in (
            ("h", "the width of a head"),
            ("d_q", "the size of a token"),
            ("d_k", "the size of a token"),
        ):
            remedy = "Use for example HeadNull(64, 512)."
            checks.integer(name, getattr(self, name), at_least=1, reason=f"it is {words}", remedy=remedy)

    @property
    def _shape(self) -> tuple[int, int, int]:
        assert self.d_k is not None
        return self.h, self.d_q, self.d_k

    @property
    def edges(self) -> tuple[float, float]:
        """Where the bulk of the singular values begins and ends, for large sizes."""
        return product_edges(*self._shape)

    @property
    def top_square(self) -> Top:
        """Mean and standard deviation of the square of the largest, by Tracy and Widom."""
        return product_top(*self._shape)

    @property
    def top_mean(self) -> float:
        """Mean of the largest, by Tracy and Widom."""
        mean, deviation = self.top_square
        return sqrt(mean) * (1.0 - 0.125 * (deviation / mean) ** 2)

    @property
    def top_sd(self) -> float:
        """Standard deviation of the largest, by Tracy and Widom."""
        mean, deviation = self.top_square
        return 0.5 * deviation / sqrt(mean)

    def quantile(self, p: ArrayLike) -> Floats:
        """Below this the largest is with probability p, by Tracy and Widom."""
        mean, deviation = self.top_square
        beyond = (exceeded_with(1.0 - checks.levels(p)) - TW_MEAN) / TW_DEVIATION
        return np.sqrt(np.maximum(mean + deviation * beyond, 0.0))

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Draws of all singular values, decreasing, one a row: exact at any size, and without matrices of size d."""
        checks.integer(
            "size", size, at_least=1, reason="it is how many heads are drawn", remedy="Use for example 1000."
        )
        return product_values(*self._shape, size, rng)
