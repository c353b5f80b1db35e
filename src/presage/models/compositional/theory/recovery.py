"""Features one by one: at which number of samples each stands out of the noise."""

from __future__ import annotations

import numpy as np

from presage.models.compositional.problem import CompositionalProblem
from presage.models.compositional.theory.moments import moments
from presage.models.compositional.theory.sample_sizes import sample_sizes_of, sureness_of
from presage.protocol.recovery import Recovery

ROOM = 4.0  # factor in samples before the first and beyond the last


def recovery(problem: CompositionalProblem) -> Recovery:
    """The sample sizes ``n_i/D`` at which features are learned, in their order; none is forgotten."""
    found = moments(problem)
    each = sample_sizes_of(problem, found)
    bars, told = sureness_of(problem, found, each)
    never = int(np.sum(~np.isfinite(each)))
    notes = [*told]
    if never:
        notes.append(f"{never} of the features have no strength, and are never learned.")
    return Recovery.of_thresholds(
        problem, problem.strengths, each, relative_error=bars, notes=tuple(notes), margin=ROOM
    )
