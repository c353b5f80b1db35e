"""The numbers of samples at which each entry is learned, or lost again around the peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.diagonal.declaration import ALPHA
from presage.models.diagonal.problem import DiagonalProblem
from presage.models.diagonal.theory.coordinates import learned_from
from presage.models.diagonal.theory.scaling.power_problem import power_of
from presage.models.diagonal.theory.solution import DiagonalSolution, solve
from presage.protocol import checks

STEP = 0.1  # in log alpha between points of the curve
AROUND_ONE = np.geomspace(1e-5, 0.5, 24)  # distances from alpha = 1 that are looked at: the peak may be narrow
FEW = 20  # entries that are followed where none are named


@dataclass
class _Walk:
    """The size from which on an entry is learned, along the number of samples; each point starts from the last."""

    problem: DiagonalProblem
    last: DiagonalSolution | None = None

    def __call__(self, log_alpha: float) -> float:
        """Logarithm of that size."""
        self.last = solve(self.problem.replace(alpha=exp(log_alpha)), init=self.last)
        return log(max(learned_from(self.last.delta, self.last.cutoff), 1e-300))


def learned_at(problem: DiagonalProblem, indices: Sequence[int] | None = None) -> tuple[tuple[float, ...], ...]:
    """Every number of samples at which an entry crosses ``max(c, delta)``, at the weight decay of the problem.

    The first is where it is learned, the next where it is lost, and so on: around the peak entries are lost and learned
    again. Empty for one that is never learned up to ``alpha = 1e6``.

    Args:
        problem: its number of samples plays no part.
        indices: ranks of entries, from 1; the first 20 by default.
    """
    gamma, d, amplitude = power_of(problem.target)
    ranks = np.array(_ranks(indices, d), dtype=np.float64)
    sizes = log(amplitude) - gamma * np.log(ranks)
    walk = _Walk(problem)
    places, found = _curve(walk, float(sizes.max()), float(sizes.min()))
    return tuple(tuple(d * exp(x) for x in _crossings(walk, places, found - size, float(size))) for size in sizes)


def _curve(walk: _Walk, largest: float, smallest: float) -> tuple[Floats, Floats]:
    """Points of the curve, from where the largest entry is not learned to where the smallest is for good."""
    lowest, highest = log(ALPHA.at_least or 0.0), log(ALPHA.at_most or 0.0)
    near = [*np.log1p(-AROUND_ONE), *np.log1p(AROUND_ONE)]
    grid = np.unique([*np.arange(lowest, highest, STEP), highest, *near])
    start = int(np.searchsorted(grid, 0.0))
    below, above = [], []
    for place in grid[:start][::-1]:
        below.append((float(place), walk(float(place))))
        if below[-1][1] > largest and place < min(near):
            break
    walk.last = None
    for place in grid[start:]:
        above.append((float(place), walk(float(place))))
        if above[-1][1] < smallest and place > max(near):
            break
    places, found = zip(*below[::-1], *above, strict=True)
    return np.array(places), np.array(found)


def _crossings(walk: _Walk, places: Floats, excess: Floats, size: float) -> list[float]:
    """Where the curve crosses a size, to ten digits."""
    changes = np.flatnonzero(np.sign(excess[1:]) != np.sign(excess[:-1]))
    found = []
    for k in changes:
        walk.last = None
        root = scipy.optimize.brentq(lambda x: walk(x) - size, places[k], places[k + 1], xtol=1e-11)
        found.append(float(root))
    return found


def _ranks(indices: Sequence[int] | None, d: int) -> list[int]:
    if indices is None:
        return list(range(1, min(d, FEW) + 1))
    reason, remedy = "it is the rank of an entry of the target", "Use for example <indices=[1, 2, 5]>."
    return [checks.integer("indices", i, at_least=1, at_most=d, reason=reason, remedy=remedy) for i in indices]
