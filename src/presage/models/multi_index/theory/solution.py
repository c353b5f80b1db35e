"""What the theory says of features that are recovered by a spectral method, and of the readout of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_index.declaration import MEASURED, PREDICTED
from presage.models.multi_index.label_law import label_law
from presage.models.multi_index.problem import MultiIndexProblem
from presage.models.multi_index.theory.outliers import Outliers, outliers, unbounded, weak_outliers, weak_threshold
from presage.models.multi_index.theory.readout import excess_risk, floor
from presage.protocol.feature_comparison import Beside
from presage.protocol.prediction import Prediction

CUTS = tuple(np.geomspace(1e-9, 1e-2, 43))  # chances of labels that are left out, of weights without a bound
FEWER = 10.0  # times as many are left out for an error bar
SEEN = 1e-6  # a chance that matrices of usual size see
LARGEST = 0.8  # of the weights, beside the l of the edge: above, single samples make outliers
ROUNDING = 1e-9  # relative, of what quadrature is trusted to
AMPLIFIED = 100.0  # by how much overlaps may move with the law of the labels
NEAR = 1.3  # ratio of alpha and the threshold of a feature within which transitions are seen to be smeared
SMEARED = 0.25  # part that such features have in the unlearned energy, to be said
UNRESOLVED = 1e-4  # error of the law of the labels, to be said
FLOOR = 0.1  # part of the excess risk that has too high a degree for the readout, to be said


@final
@dataclass(frozen=True, eq=False)
class MultiIndexSolution(Prediction):
    """Prediction for the spectral method and its readout, as the dimension grows at fixed ``alpha = n/d``."""

    problem: MultiIndexProblem
    excess_risk: float  # squared error of the readout on a clean label
    unlearned: float  # part of the energy sum a_k^2 that is outside of the recovered subspace
    top_eigenvalue: float  # furthest from zero, over the size of the weights
    recovered: int  # eigenvectors outside of the bulk
    edge: float  # of the bulk, on the side of the outliers
    overlaps: Floats = field(repr=False)  # |P w_k|^2 of every feature, the largest first
    bars: dict[str, float] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    observables = PREDICTED
    compared = tuple(observable.name for observable in MEASURED if observable.name != "recovered")

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off, by quadrature and by labels that are too rare to be seen."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where the limit is not yet there, and what is outside of the claim."""
        return (*self.problem.notes, *self.notes)

    def features_beside(self, ensemble: Any) -> Mapping[str, Beside] | None:
        """Overlap of every feature, predicted and of each network."""
        measured = getattr(ensemble, "overlaps", None)
        if measured is None:
            return None
        words = "squared projection on the recovered subspace"
        return {"overlap": Beside(words, self.overlaps, ensemble.values("overlaps"))}


def solve(problem: MultiIndexProblem) -> MultiIndexSolution:
    """Predict overlaps, eigenvalues and the excess risk of the spectral method followed by a readout.

    Weights without a bound (preprocessing "identity" and "hermite") are cut where single samples would make outliers,
    and a caveat says so where these are not too rare to be seen; with very few samples the formulas of weak features
    stand in their place.
    """
    whole, notes = outliers(problem), []
    other = whole
    if unbounded(problem):
        whole, other, rare = _without_rare_labels(problem)
        if rare > SEEN:
            notes.append(
                f"labels that come once in {1.0 / rare:.0e} samples have weights that make outliers by themselves, and "
                'are left out of the prediction: use more samples, or the preprocessing "bounded".'
            )
    if whole.largest > 1.0 - 1e-6:
        notes.append("there are so few samples that those of the largest weight make the edge of the bulk.")
    found, beside = _observed(problem, whole), _observed(problem, other)
    error = AMPLIFIED * label_law(problem).error + ROUNDING
    bars = {name: abs(value - beside[name]) + error * abs(value) for name, value in found.items()}
    return MultiIndexSolution(
        problem, overlaps=whole.overlap, bars=bars, notes=(*notes, *_notes(problem, found)), **found
    )


def _without_rare_labels(problem: MultiIndexProblem) -> tuple[Outliers, Outliers, float]:
    """Outliers without those labels whose weights make some by themselves, with still fewer, and how rare these are."""
    for rare in CUTS:
        whole = outliers(problem, rare)
        if whole.largest <= LARGEST:
            return whole, outliers(problem, FEWER * rare), rare
    return weak_outliers(problem), outliers(problem, CUTS[-1]), CUTS[-1]


def unlearned(problem: MultiIndexProblem, overlap: Floats) -> float:
    """Part of the energy of the target outside of the recovered subspace, ``sum a_k^2 (1 - |P w_k|^2)/sum a_k^2``.

    Equation: [DKLM26a], over the whole energy
    Checked: tests/models/multi_index/test_theory.py::test_slopes_of_risk_and_energy
    """
    energy = problem.sizes**2
    return float(np.sum(energy * (1.0 - overlap)) / np.sum(energy))


def _observed(problem: MultiIndexProblem, found: Outliers) -> dict[str, Any]:
    return {
        "excess_risk": excess_risk(problem, found.overlap),
        "unlearned": unlearned(problem, found.overlap),
        "top_eigenvalue": found.top,
        "recovered": found.recovered,
        "edge": found.edge,
    }


def _notes(problem: MultiIndexProblem, found: dict[str, Any]) -> tuple[str, ...]:
    """What to know before believing it."""
    said = []
    ratio, energy = problem.alpha / weak_threshold(problem), problem.sizes**2
    near = np.flatnonzero((ratio > 1.0 / NEAR) & (ratio < NEAR)) + 1
    if energy[near - 1].sum() > SMEARED * found["unlearned"] * energy.sum():
        which = f"feature {near[0]} is" if len(near) == 1 else f"features {near[0]} to {near[-1]} are"
        said.append(f"{which} near the threshold, which a finite d smears by a part of order 1/sqrt(d).")
    off = label_law(problem).error
    if off > UNRESOLVED:
        said.append(f"labels have tails that are resolved to {off:.0e} of their variance only: use more noise.")
    lost = floor(problem)
    if lost > FLOOR * found["excess_risk"]:
        share = lost / found["excess_risk"]
        said.append(
            f"{share:.0%} of the excess risk has no part in the readout, of degree {problem.readout_degree}: it does "
            "not fall with more samples."
        )
    if problem.decay == 0.0 and problem.features > 1 and problem.readout == "separate":
        said.append(
            "equal features share an eigenvalue: their eigenvectors are turned at random, and the excess risk is a "
            'mean over that; the readout "joint" does not depend on it.'
        )
    return tuple(said)
