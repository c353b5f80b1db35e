"""How many samples show each feature: sharp, and by the formula of weak features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.lofi.declaration import THRESHOLDS
from presage.models.lofi.problem import LoFiProblem
from presage.models.lofi.theory.emergence import sharp_thresholds, weak_thresholds
from presage.models.lofi.theory.label_law import label_laws
from presage.protocol.prediction import SampleSizes

ROUNDING = 1e-7  # relative, of a root


@final
@dataclass(frozen=True, eq=False)
class LoFiThresholds(SampleSizes):
    """Sample ratios ``alpha = n/D`` from which on features emerge, as a number each and for every feature."""

    first: float
    last: float
    weak_first: float
    weak_last: float
    alpha: Floats = field(repr=False)  # of every feature, in the order of the link
    weak: Floats = field(repr=False)  # the same by the formula of weak features
    bars: Floats = field(repr=False)  # how far `alpha` may be off
    caveats: tuple[str, ...] = ()
    problem: LoFiProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS

    @property
    def error_bars(self) -> dict[str, float]:
        """How far the sharp ones may be off, by the nodes of the labels' law."""
        return {"first": float(self.bars[np.argmin(self.alpha)]), "last": float(self.bars[np.argmax(self.alpha)])}


def thresholds(problem: LoFiProblem) -> LoFiThresholds:
    """Thresholds of every feature in ``alpha = n/D``: sharp for bounded labels, and by the formula of weak features."""
    laws = label_laws(problem.link)
    sizes = np.array([sharp_thresholds(problem.link, problem.tail, rule) for rule in range(len(laws))])
    each, weak = sizes[0], weak_thresholds(laws[0].square, laws[0].theta)
    never = np.isinf(sizes)
    with np.errstate(invalid="ignore"):
        off = np.abs(sizes[1:] - each).max(axis=0)
    # Infinite by all rules is sure; by some it is not, and nothing bounds the error.
    bars = np.where(never.all(axis=0), 0.0, np.where(never.any(axis=0), np.inf, off + ROUNDING * each))
    said = list(problem.notes)
    if np.isinf(each).any():
        said.append("features without a second moment of the labels never emerge in this layer.")
    unsure = np.flatnonzero(np.isinf(bars)) + 1
    if unsure.size:
        listed = ", ".join(map(str, unsure))
        said.append(f"whether feature {listed} ever emerges depends on the nodes of the law: its bar is infinite.")
    return LoFiThresholds(
        float(each.min()),
        float(each.max()),
        float(weak.min()),
        float(weak.max()),
        each,
        weak,
        bars,
        tuple(said),
        problem,
    )
