"""What the theory says of the features that a signal matrix selects, and of the best readout of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.lofi.declaration import MEASURED, PREDICTED
from presage.models.lofi.problem import LoFiProblem
from presage.models.lofi.theory.emergence import Emergence, sharp, sharp_thresholds, weak_thresholds
from presage.models.lofi.theory.floor import deep_overlap, floor
from presage.models.lofi.theory.label_law import label_laws
from presage.protocol.feature_comparison import Beside
from presage.protocol.observables import Observable
from presage.protocol.prediction import Prediction
from presage.spectra.bulk import Bulk

ROUNDING = 1e-8  # relative, of means over nodes and roots of them
SURE = 1.6  # half width of a 95 % interval of the mean of four, in their standard deviations
EDGE = 2.0 / 3.0  # power of D by which eigenvalues at an edge of the bulk approach it
NEAR = 1.3  # ratio of alpha and the threshold of a feature within which finite sizes smear it


@final
@dataclass(frozen=True, eq=False)
class LoFiSolution(Prediction):
    """Prediction for the selected features, as the coordinates of the lift become many at fixed ``alpha = n/D``."""

    problem: LoFiProblem
    first_overlap: float  # of the feature that the labels show most
    mean_overlap: float
    largest_eigenvalue: float
    floor: float  # error of the best readout of the selected features, over the variance of the labels
    deep_overlap: float  # of the features of the second level
    emerged: int
    upper_edge: float
    lower_edge: float
    overlaps: Floats = field(repr=False)  # squared cosines, in the order of the features of the link
    eigenvalues: Floats = field(repr=False)  # over that of the kernel; the edge where a feature has none of its own
    bars: dict[str, float] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    observables = PREDICTED
    compared = tuple(observable.name for observable in MEASURED)

    @property
    def known_observables(self) -> tuple[Observable, ...]:
        """Where the largest eigenvalue is an edge of the bulk, it approaches that as an edge does."""
        if self.largest_eigenvalue > max(self.upper_edge, -self.lower_edge):
            return PREDICTED
        return tuple(
            replace(one, correction=EDGE, fluctuation=EDGE) if one.name == "largest_eigenvalue" else one
            for one in PREDICTED
        )

    @property
    def bulks(self) -> tuple[Bulk, ...]:
        """The one bulk of the signal matrix."""
        return (Bulk(self.lower_edge, self.upper_edge, 1.0),)

    @property
    def outliers(self) -> tuple[float, ...]:
        """Eigenvalues of the features that have emerged."""
        return tuple(map(float, np.sort(self.eigenvalues[self.overlaps > 0.0])))

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off, by the nodes of the labels' law and the nets of the floor."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where the limit is not yet there, and what is outside of the claim."""
        return (*self.problem.notes, *self.notes)

    def features_beside(self, ensemble: Any) -> Mapping[str, Beside] | None:
        """Overlap of every feature, predicted and of each seed."""
        measured = getattr(ensemble, "overlaps", None)
        if measured is None:
            return None
        words = "squared projection on what was selected"
        return {"overlap": Beside(words, self.overlaps, ensemble.values("overlaps"))}


def solve(problem: LoFiProblem) -> LoFiSolution:
    """Predict eigenvalues, overlaps and the floor of the error, by the sharp formula for bounded labels."""
    laws = label_laws(problem.link)
    found = [sharp(law, problem.link.alike, problem.alpha, problem.tail) for law in laws]
    strongest = int(np.argmax(np.abs(laws[0].theta)))
    observed = [_observed(problem, one, strongest) for one in found]
    error, error_bar = floor(problem.link, found[0].overlap)
    others = [floor(problem.link, one.overlap)[0] for one in found[1:]]
    for values, value in zip(observed, [error, *others], strict=True):
        values["floor"] = value
    bars = {name: _bar([values[name] for values in observed]) for name in observed[0]}
    bars["emerged"] = float(np.ptp([values["emerged"] for values in observed]))
    bars["floor"] += error_bar
    return LoFiSolution(
        problem,
        **observed[0],
        overlaps=found[0].overlap,
        eigenvalues=found[0].eigenvalue,
        bars=bars,
        notes=_notes(problem, found[0]),
    )


def _observed(problem: LoFiProblem, found: Emergence, strongest: int) -> dict[str, Any]:
    low, high = found.edges
    return {
        "first_overlap": float(found.overlap[strongest]),
        "mean_overlap": float(np.mean(found.overlap)),
        "largest_eigenvalue": float(max(np.abs(found.eigenvalue).max(), np.abs(found.other).max(), -low, high)),
        "deep_overlap": deep_overlap(problem.link, found.overlap),
        "emerged": int(np.count_nonzero(found.overlap)),
        "upper_edge": high,
        "lower_edge": low,
    }


def _bar(values: list[float]) -> float:
    """How far the first may be off: by a rougher rule, or by the spread of the parts that it is made of."""
    first, *others = values
    room = abs(first - others[0]) if len(others) == 1 else SURE * float(np.std(others, ddof=1)) / sqrt(len(others)) * 2
    return room + ROUNDING * abs(first)


def _notes(problem: LoFiProblem, found: Emergence) -> tuple[str, ...]:
    """What to know before believing it."""
    said = [
        f"feature {k} comes out on both sides of the bulk and takes two places: overlaps are those of one of them."
        for k in np.flatnonzero(found.other) + 1
    ]
    sizes = np.array(sharp_thresholds(problem.link, problem.tail))
    near = np.flatnonzero((sizes < NEAR * problem.alpha) & (sizes > problem.alpha / NEAR)) + 1
    if near.size:
        which = f"feature {near[0]} is" if len(near) == 1 else f"features {', '.join(map(str, near))} are"
        said.append(f"{which} near the threshold, which finite sizes smear.")
    law = label_laws(problem.link)[0]
    never = np.flatnonzero(~np.isfinite(weak_thresholds(law.square, law.theta))) + 1
    if never.size:
        listed = ", ".join(map(str, never))
        said.append(f"labels have no second moment along feature {listed}: this layer hardly selects it.")
    said.append(
        "the coordinates of the lift are Gaussian here: of true inputs, d <= 60, overlaps are 5 to 30 % smaller."
    )
    return tuple(said)
