"""At which sample sizes each feature is seen: one crossing a feature, the largest first."""

from __future__ import annotations

from presage.models.multi_index.label_law import label_law
from presage.models.multi_index.problem import MultiIndexProblem
from presage.models.multi_index.thresholds import thresholds
from presage.protocol.recovery import Recovery


def recovery(problem: MultiIndexProblem) -> Recovery:
    """The staircase of a problem: feature k is learned from its threshold on, and none is forgotten.

    Its `s` are the sizes of the features; alpha is n/d.
    """
    found = thresholds(problem)
    return Recovery.of_thresholds(
        problem,
        problem.sizes,
        found.alpha,
        relative_error=label_law(problem).error + 1e-9,
        notes=tuple(line for line in found.caveats if line not in problem.notes),
    )
