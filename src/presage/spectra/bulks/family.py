"""What a law of a bulk answers once it is fitted: where it ends, how sharply, and what stands out of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np

from presage.laws.spectral_law import Floats

LOW, HIGH = 0.05, 0.75  # levels of the order statistics that a fit looks at: no edge, and nothing that may stand out


class BulkFamily(ABC):
    """A fitted law of the bulk of n eigenvalues, of which `zeros` are zero and `count` others are in the bulk."""

    name: ClassVar[str]
    two_sided: ClassVar[bool] = False  # whether values stand out below it too

    count: int  # eigenvalues in the bulk that are not zero
    zeros: int

    @property
    def called(self) -> str:
        """Its name in a sentence."""
        return f"a {self.name}"

    @property
    def size(self) -> int:
        """Eigenvalues in the bulk, zeros included."""
        return self.count + self.zeros

    @property
    @abstractmethod
    def edge(self) -> float:
        """Upper edge: what the largest eigenvalue of noise of this size is near to."""

    @property
    @abstractmethod
    def width(self) -> float:
        """Unit of the fluctuations of the largest eigenvalue about the edge, by Tracy and Widom."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """From the middle of the bulk to its edge; for a bulk that is cut, from zero."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float]:
        """What was fitted, by name."""

    @abstractmethod
    def cdf(self, x: Floats) -> Floats:
        """Fraction of the `size` eigenvalues at or below x, for x that is not zero."""

    @abstractmethod
    def density(self, x: Floats) -> Floats:
        """Density of the part that is not zero, as a fraction of all `size` eigenvalues."""

    @abstractmethod
    def strength(self, x: float) -> float:
        """Strength of the direction behind a value beyond the edge, 1 where it would just stand out; nan if unknown."""

    @property
    @abstractmethod
    def left(self) -> float:
        """Lower end of the part that is not zero."""


def order_statistics(count: int) -> tuple[slice, Floats]:
    """Which of `count` increasing values a fit looks at, and their levels among them."""
    levels = (np.arange(count) + 0.5) / count
    first, last = np.searchsorted(levels, [LOW, HIGH])
    return slice(int(first), int(last)), levels[first:last]
