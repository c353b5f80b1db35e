"""Samples of one layer: kept where they are few, drawn again in every pass where they are many."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.experiment.coordinates import Coordinates, Singles
from presage.models.compositional.experiment.target import Target
from presage.training.ordered_sums import by_parts

KEPT_BYTES = 4e8  # up to which samples stay in memory


class Samples:
    """n samples, in blocks with random numbers of their own: a pass over them draws the same ones again.

    Blocks are gone through in a fixed number of parts, by as many threads as there are: sums have the same digits for
    any number of them.
    """

    def __init__(self, coordinates: Coordinates, n: int, key: int, directions: int, threads: int = 1) -> None:
        self.coordinates, self.n, self.key, self.threads = coordinates, n, key, threads
        self.size = min(n, coordinates.block(directions))
        self.count = -(-n // self.size)
        self._kept: dict[int, Singles] | None = {} if 4.0 * n * coordinates.width <= KEPT_BYTES else None

    def block(self, number: int) -> tuple[slice, Singles]:
        """Where a block is among the samples, and the block."""
        place = slice(number * self.size, min((number + 1) * self.size, self.n))
        if self._kept is not None and number in self._kept:
            return place, self._kept[number]
        rng = np.random.Generator(np.random.SFC64([self.key, number]))
        block = self.coordinates.draw(place.stop - place.start, rng)
        if self._kept is not None:
            self._kept[number] = block
        return place, block

    @property
    def work(self) -> float:
        """Multiplications of one product, about."""
        return float(self.n) * self.coordinates.width

    def project(self, directions: Floats) -> Floats:
        """Values of these directions, one row a sample."""
        found = np.empty((self.n, directions.shape[1]))

        def part(numbers: slice) -> None:
            for number in range(numbers.start, numbers.stop):
                place, block = self.block(number)
                found[place] = self.coordinates.project(block, directions)

        by_parts(self.count, self.threads, part, work=self.work)
        return found

    def labels(self, target: Target) -> Floats:
        """Their labels."""
        return target.labels(self.project(target.A))


class FirstLayer:
    """The matrix ``C = (1/n) sum T (FF' - 1)`` of samples and the labels T that are used, without forming it."""

    def __init__(self, samples: Samples, used: Floats) -> None:
        self.samples, self.used = samples, used

    @property
    def count(self) -> int:
        """Number of rows."""
        return self.samples.coordinates.count

    @cached_property
    def noise(self) -> float:
        """How far the noise reaches, by the size of the labels: twice the root of ``<T^2> D/n``."""
        return 2.0 * float(np.sqrt(np.mean(self.used**2) * self.count / self.samples.n))

    def times(self, directions: Floats) -> Floats:
        """``C V``, in one pass."""
        samples, coordinates = self.samples, self.samples.coordinates

        def part(numbers: slice) -> Floats:
            total = np.zeros(directions.shape)
            for number in range(numbers.start, numbers.stop):
                place, block = samples.block(number)
                weights = self.used[place, None] * coordinates.project(block, directions)
                total += coordinates.back(block, weights)
            return total

        parts = by_parts(samples.count, samples.threads, part, work=samples.work)
        return np.asarray((np.sum(parts, axis=0) - self.used.sum() * directions) / samples.n)

    def formed(self) -> Floats:
        """C itself."""
        total = np.zeros((self.count, self.count))
        for number in range(self.samples.count):
            place, block = self.samples.block(number)
            total += block.T @ (block * self.used[place, None].astype(np.float32))
        total[np.diag_indices_from(total)] -= self.used.sum()
        return np.asarray((total + total.T) / (2.0 * self.samples.n))
