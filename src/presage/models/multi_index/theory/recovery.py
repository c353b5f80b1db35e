"""At which sample sizes each feature is seen: one crossing a feature, the largest first."""

from __future__ import annotations

import numpy as np

from presage.models.multi_index.label_law import label_law
from presage.models.multi_index.problem import MultiIndexProblem
from presage.models.multi_index.thresholds import thresholds
from presage.protocol.recovery import Recovery

MARGIN = 10.0  # how far before the first crossing and beyond the last is said to be followed


def recovery(problem: MultiIndexProblem) -> Recovery:
    """The staircase of a problem: feature k is learned from its threshold on, and none is forgotten.

    Its `s` are the sizes of the features; alpha is n/d.
    """
    found = thresholds(problem)
    seen = np.flatnonzero(np.isfinite(found.alpha))
    order = seen[np.argsort(found.alpha[seen], kind="stable")]
    alpha = found.alpha[order]
    followed = (float(alpha[0]) / MARGIN, float(alpha[-1]) * MARGIN) if len(alpha) else (0.0, np.inf)
    return Recovery(
        problem,
        s=problem.sizes,
        feature=np.asarray(order + 1, dtype=np.int64),
        alpha=alpha,
        learned=np.ones(len(alpha), dtype=np.bool_),
        followed=followed,
        d=None,
        relative_error=label_law(problem).error + 1e-9,
        notes=tuple(line for line in found.caveats if line not in problem.notes),
    )
