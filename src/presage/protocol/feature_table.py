"""What becomes of each feature of a target: one row a feature, the largest first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from presage.protocol.columns import Columns
from presage.protocol.ensemble import Floats

MEANINGS = {
    "i": "number of the feature, the largest first",
    "s": "eigenvalue of the target",
    "mass": "fraction of the eigenvalues of the target that are this one",
    "learned": "whether it stands out of the noise and is kept",
    "position": "its eigenvalue in S_fit, were it alone on the noise; 0 where it has none",
    "overlap": "of its eigenvector with that of S_fit, squared, were it alone; 0 where it is not learned",
    "F": "v' S_fit v: what is learned along its eigenvector v",
    "e": "|S_fit v/scale - s v|^2: its error, whose mean is the whole",
}


@final
@dataclass(frozen=True, eq=False)
class FeatureTable(Columns):
    """Features of a target, the largest first, and what is learned of each."""

    i: NDArray[np.int64] = field(repr=False)
    s: Floats = field(repr=False)
    mass: Floats = field(repr=False)
    learned: NDArray[np.bool_] = field(repr=False)
    position: Floats = field(repr=False)
    overlap: Floats = field(repr=False)
    F: Floats = field(repr=False)
    e: Floats = field(repr=False)
    threshold: float  # features above it are learned
    scale: float  # of S_fit: e is the error of S_fit/scale
    unresolved: float = field(repr=False)  # relative error that quadrature has left in F and e, at most
    learned_at: tuple[tuple[float, ...], ...] | None = field(default=None, repr=False)  # None unless it was asked for
    counted_in: str = "n"  # what `learned_at` is a number of: samples, or alpha where the target has no dimension

    @property
    def meanings(self) -> Mapping[str, str]:
        """The columns in words; when each feature is learned is one where it was asked for."""
        if self.learned_at is None:
            return MEANINGS
        words = f"every {self.counted_in} at which it is learned, then forgotten, then learned again"
        return {**MEANINGS, "learned_at": words}

    def column(self, name: str) -> NDArray[Any]:
        if name != "learned_at" or self.learned_at is None:
            return super().column(name)
        found = np.empty(len(self.learned_at), dtype=object)
        found[:] = self.learned_at
        return found

    @property
    def number_learned(self) -> int:
        """How many of these are learned."""
        return int(self.learned.sum())

    @property
    def head(self) -> str:
        return f"{self.number_learned} of the first {len(self)} features are learned, those above {self.threshold:.6g}"
