"""From how many samples each level is learned."""

from __future__ import annotations

import numpy as np

from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.models.random_hierarchy.theory.curves import ACCURACY, FOLLOWED, crossings
from presage.models.random_hierarchy.theory.signal import signal
from presage.protocol.recovery import Recovery

NOTE = (
    "a feature is a level, counted from the input, and its eigenvalue is the signal of that level; it counts as "
    "learned from half way between chance and clean, by a count of partitions and not by a theorem."
)


def recovery(problem: RandomHierarchyProblem) -> Recovery:
    """From which alpha each level is learned: a feature is a level here, counted from 1 at the input.

    The lowest comes first, since nothing above it can be read before. The eigenvalue of a level is its signal, which
    grows from the input to the classes.
    """
    levels = np.arange(1, problem.depth)
    found = crossings(problem).purity
    known = np.array([crossing.alpha < FOLLOWED[1] for crossing in found])
    alpha = np.array([crossing.alpha for crossing in found])
    order = np.flatnonzero(known)[np.argsort(alpha[known], kind="stable")]
    signals = np.array([signal(problem, int(level)) for level in levels])
    learned = np.ones(len(order), dtype=bool)
    d = problem.own_dimension
    return Recovery(problem, signals, levels[order], alpha[order], learned, FOLLOWED, d, ACCURACY, (NOTE,))
