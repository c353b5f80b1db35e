"""At which sample sizes each feature emerges: one crossing a feature."""

from __future__ import annotations

import numpy as np

from presage.models.lofi.problem import LoFiProblem
from presage.models.lofi.theory.label_law import label_laws
from presage.models.lofi.thresholds import thresholds
from presage.protocol.recovery import Recovery

MARGIN = 10.0  # how far before the first crossing and beyond the last is said to be followed


def recovery(problem: LoFiProblem) -> Recovery:
    """The staircase of a problem: a feature is selected from its threshold on, and none is lost again.

    Its `s` are the second moments of the labels along the features; alpha is n/D.
    """
    found = thresholds(problem)
    seen = np.flatnonzero(np.isfinite(found.alpha))
    order = seen[np.argsort(found.alpha[seen], kind="stable")]
    alpha = found.alpha[order]
    followed = (float(alpha[0]) / MARGIN, float(alpha[-1]) * MARGIN) if len(alpha) else (0.0, np.inf)
    return Recovery(
        problem,
        s=label_laws(problem.link)[0].theta,
        feature=np.asarray(order + 1, dtype=np.int64),
        alpha=alpha,
        learned=np.ones(len(alpha), dtype=np.bool_),
        followed=followed,
        d=None,
        relative_error=float(np.max(found.bars[order] / alpha)) if len(alpha) else 0.0,
        notes=tuple(line for line in found.caveats if line not in problem.notes),
    )
