"""Random sets of rules, many at a time: which symbols a class is written with at every position of every level."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from presage.models.random_hierarchy.problem import RandomHierarchyProblem

Floats = NDArray[np.float64]
DRAWS = 96  # sets of rules that are averaged over
FEWEST = 4
MOST_NUMBERS = 4_000_000  # of all sets at one level: fewer sets are drawn where each is large
SEED = 2307  # the same sets at every alpha, so that curves are smooth


def symbols_of_classes(problem: RandomHierarchyProblem, draws: int = DRAWS) -> tuple[Floats, ...]:
    """Frequencies ``P(a at position p|c)`` of every level below the classes: (set, position, class, symbol).

    The first is of the lowest level that is clustered, whose symbols are each written as a tuple of the input.
    """
    numbers = (problem.symbols, problem.n_classes, problem.synonyms, problem.branching, problem.depth)
    return _drawn(*numbers, draws)


def number_of_sets(problem: RandomHierarchyProblem, draws: int = DRAWS) -> int:
    """How many sets of rules are drawn: those asked for, or what fits."""
    v, positions = problem.symbols, problem.branching ** (problem.depth - 1)
    largest = max(v**problem.branching, positions * v * max(problem.n_classes, v))
    return min(draws, max(FEWEST, MOST_NUMBERS // int(largest)))


@lru_cache(maxsize=8)
def _drawn(v: int, n_c: int, m: int, s: int, depth: int, draws: int) -> tuple[Floats, ...]:
    problem = RandomHierarchyProblem(1.0, v, m, depth, s, n_c)
    sets, rng = number_of_sets(problem, draws), np.random.default_rng(SEED)
    frequencies = slots(sets, n_c, problem, rng)
    levels = [frequencies]
    for _ in range(depth - 2):
        below = slots(sets, v, problem, rng)
        written = frequencies[:, :, None] @ below[:, None]  # set, position, slot, class, symbol
        frequencies = written.reshape(sets, -1, n_c, v)
        levels.append(frequencies)
    for level in levels:
        level.flags.writeable = False
    return tuple(reversed(levels))


def slots(sets: int, above: int, problem: RandomHierarchyProblem, rng: np.random.Generator) -> Floats:
    """Frequencies of symbols at each slot of the tuples of each symbol above: (set, slot, above, symbol)."""
    v, m, s = problem.symbols, problem.synonyms, problem.branching
    tuples = rng.random((sets, v**s)).argsort(axis=1)[:, : above * m].reshape(sets, above, m)
    digits = np.stack([tuples // v ** (s - 1 - slot) % v for slot in range(s)], axis=1)
    return np.asarray((digits[..., None] == np.arange(v)).mean(axis=3))
