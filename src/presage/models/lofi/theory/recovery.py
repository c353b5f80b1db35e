"""At which sample sizes each feature emerges: one crossing a feature."""

from __future__ import annotations

import numpy as np

from presage.models.lofi.problem import LoFiProblem
from presage.models.lofi.theory.label_law import label_laws
from presage.models.lofi.thresholds import thresholds
from presage.protocol.recovery import Recovery


def recovery(problem: LoFiProblem) -> Recovery:
    """The staircase of a problem: a feature is selected from its threshold on, and none is lost again.

    Its `s` are the second moments of the labels along the features; alpha is n/D.
    """
    found = thresholds(problem)
    each = np.where(np.isfinite(found.alpha), found.alpha, 1.0)
    return Recovery.of_thresholds(
        problem,
        label_laws(problem.link)[0].theta,
        found.alpha,
        relative_error=found.bars / each,
        notes=tuple(line for line in found.caveats if line not in problem.notes),
        order="in the order of the link",
        strength="second moment of the labels along it, theta",
        counted_by="the number D of coordinates that you mean",
    )
