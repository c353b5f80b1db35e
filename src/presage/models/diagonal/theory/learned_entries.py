"""The law of the entries that are learned."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import final

import numpy as np
import scipy
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.diagonal.problem import Draw
from presage.models.diagonal.theory.nodes import Nodes
from presage.protocol import checks

BLOCK = 4_000_000  # pairs of a place and an entry that are looked at together


@final
@dataclass(frozen=True, eq=False)
class LearnedEntries:
    """Law of the entries of the fit: ``soft(x; c)`` of ``x = theta + delta z``.

    Equation: [DXGTEZLK25], the fit as a soft threshold of a Gaussian observation.
    Checked: tests/models/diagonal/test_simulate.py::test_entries_of_the_fit_have_the_predicted_law
    """

    target: Nodes = field(repr=False)
    draw: Draw
    delta: float
    cutoff: float
    nonzero: float

    @property
    def zero(self) -> float:
        """Fraction of entries that are zero."""
        return 1.0 - self.nonzero

    @property
    def support(self) -> Floats:
        """The whole line: what noise adds to an entry has no end."""
        return np.array([[-np.inf, np.inf]])

    def density(self, t: ArrayLike) -> Floats:
        """Density away from zero, of total mass `nonzero`."""
        t = np.asarray(t, dtype=np.float64)
        dense = self._mean(t + np.sign(t) * self.cutoff, lambda z: np.exp(-0.5 * z * z) / sqrt(2.0 * pi), density=True)
        return np.where(t == 0.0, 0.0, dense)

    def cdf(self, t: ArrayLike) -> Floats:
        """Fraction of entries at or below ``t``, zeros included."""
        t = checks.places(t)
        return self._mean(np.where(t >= 0.0, t + self.cutoff, t - self.cutoff), scipy.special.ndtr)

    def sample(self, d: int, rng: np.random.Generator) -> Floats:
        """Draw ``d`` entries: of the target one in each of ``d`` slices of equal mass, and the noise on each."""
        position, mass = self.target
        level = (np.arange(d) + rng.random(d)) / d
        theta = position[np.minimum(np.searchsorted(np.cumsum(mass), level * mass.sum()), position.size - 1)]
        if self.draw == "gaussian":
            theta = theta * rng.standard_normal(d)
        x = theta + self.delta * rng.standard_normal(d)
        return np.asarray(np.sign(x) * np.maximum(np.abs(x) - self.cutoff, 0.0))

    def _mean(self, x: Floats, function: Callable[[Floats], Floats], *, density: bool = False) -> Floats:
        """Mean over the entries of a function of x in the units of each, normal about its theta with width delta."""
        position, mass = self.target
        centre, width = position, np.full(position.shape, self.delta)
        if self.draw == "gaussian":
            centre, width = np.zeros(position.shape), np.sqrt(position**2 + self.delta**2)
        flat = x.ravel()
        found = np.empty(flat.shape)
        size = max(1, BLOCK // position.size)
        weight = mass / width if density else mass
        for start in range(0, flat.size, size):
            block = slice(start, start + size)
            found[block] = function((flat[block, None] - centre) / width) @ weight
        return found.reshape(x.shape)
