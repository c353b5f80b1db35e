"""How many samples make each feature of a problem stand out, and how well that is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.problem import CompositionalProblem
from presage.models.compositional.theory.label_law import POINTS
from presage.models.compositional.theory.moments import FOLLOWED, RARE, Moments, bounded_law, large_labels
from presage.models.compositional.theory.outliers import bounded_sample_sizes, room_of_sample_sizes, sample_sizes

ROUNDING = 1e-12
WEAK = "are those of weak features: they are off by a part of order sqrt(D/n), which is in their bars."


class Sureness(NamedTuple):
    """How far the sample sizes of features may be off, relative, one entry a feature; and sentences about it."""

    bars: Floats
    notes: tuple[str, ...]


def sample_sizes_of(problem: CompositionalProblem, found: Moments) -> Floats:
    """n_i/D of every feature, the strongest first: exact for clipped labels as far as features are followed."""
    each = sample_sizes(found.signal, found.variance)
    if problem.clip is not None:  # on the fine grid, as `solve` has them: where its overlaps begin
        each[:FOLLOWED] = bounded_sample_sizes(found.signal[:FOLLOWED], *bounded_law(problem))
    return each


def sureness_of(problem: CompositionalProblem, found: Moments, each: Floats) -> Sureness:
    """The next order in 1/sqrt(alpha) of weak features, what a coarser grid changes of clipped labels.

    Where labels without a bound make outliers of their own, a threshold is known by its order of magnitude only.
    """
    bars = room_of_sample_sizes(found.signal, found.variance, found.third_row) + found.error + ROUNDING
    if problem.clip is not None:
        coarse = bounded_sample_sizes(found.signal[:FOLLOWED], *bounded_law(problem, POINTS // 2))
        known = np.isfinite(each[:FOLLOWED])
        bars[:FOLLOWED] = ROUNDING
        bars[:FOLLOWED][known] += np.abs(coarse[known] / each[:FOLLOWED][known] - 1.0)
        beyond = f"thresholds beyond those of the first {FOLLOWED} features {WEAK}"
        return Sureness(bars, (beyond,) if len(each) > FOLLOWED else ())
    lost = large_labels(problem, each) > RARE
    if not lost.any():
        return Sureness(bars, (f"thresholds {WEAK}",))
    said = (
        f"{int(lost.sum())} of {len(each)} thresholds are where labels without a bound make outliers of their own, "
        "which look like features: they are orders of magnitude. Use for example clip=3, for which they are exact."
    )
    return Sureness(np.where(lost, np.maximum(bars, 1.0), bars), (f"thresholds {WEAK}", said))
