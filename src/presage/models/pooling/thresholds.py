"""How many sequences it takes until the class of the tokens comes out."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isinf
from typing import final

from presage.models.pooling.declaration import THRESHOLDS
from presage.models.pooling.problem import PoolingProblem
from presage.models.pooling.theory.solution import NO_SIGNAL
from presage.models.pooling.theory.transitions import effective_signal, gain_of, least_samples
from presage.protocol.prediction import SampleSizes


@final
@dataclass(frozen=True)
class PoolingThresholds(SampleSizes):
    """Sequences over the dimension, ``alpha = N/d``, from which on the class is seen."""

    outlier: float
    caveats: tuple[str, ...] = ()
    problem: PoolingProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS


def thresholds(problem: PoolingProblem) -> PoolingThresholds:
    """The number of sequences; none is enough where the table is too small for the signal."""
    delta = 1.0 / problem.vocabulary
    gain = gain_of(problem)
    found = least_samples(effective_signal(gain, problem.signal, delta), delta)
    said: tuple[str, ...] = ()
    if isinf(found):
        least = (delta**0.5 + delta) / gain - delta if gain > 0.0 else float("inf")
        more = f"it is seen from a signal of {max(least, 0.0):.4g} on" if least < 1e12 else "no signal is enough"
        said = (f"the table itself hides the class, however many sequences are seen: {more}.",)
    elif problem.signal == 0.0:
        said = (NO_SIGNAL,)
    return PoolingThresholds(found, (*problem.notes, *said), problem)
