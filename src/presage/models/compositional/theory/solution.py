"""What the theory says about a compositional target that is learned layer by layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Any, final

import numpy as np

from presage.laws.semicircle import Semicircle
from presage.laws.spectral_law import Floats
from presage.models.compositional.declaration import MEASURED
from presage.models.compositional.problem import CompositionalProblem
from presage.models.compositional.theory.bounded_bulk import BoundedBulk
from presage.models.compositional.theory.label_law import POINTS
from presage.models.compositional.theory.moments import (
    FOLLOWED,
    RARE,
    SURE,
    Moments,
    bounded_law,
    large_labels,
    moments,
)
from presage.models.compositional.theory.outliers import (
    Outliers,
    bounded_outliers,
    weak_outliers,
)
from presage.models.compositional.theory.sample_sizes import sample_sizes_of
from presage.protocol.feature_comparison import Beside
from presage.protocol.prediction import Prediction
from presage.spectra.bulk import Bulk

NEAR = 1.3  # factor in samples about a threshold within which it is said to be near
RESOLVED = 1e-4  # of the grid, relative
ROUNDING = 1e-12


@final
@dataclass(frozen=True, eq=False)
class CompositionalSolution(Prediction):
    """Prediction for the layers of a compositional target: many coordinates, a fixed number of features.

    Arrays have one entry a feature, the strongest first.
    """

    problem: CompositionalProblem
    test_error: float  # squared error on a fresh sample, over the variance of the labels
    mean_overlap: float
    first_overlap: float
    largest_eigenvalue: float
    signals: Floats = field(repr=False)  # theta_i = E[T (h_i^2 - 1)]
    thresholds: Floats = field(repr=False)  # n_i/D
    overlaps: Floats = field(repr=False)  # squared, of each feature with its eigenvector
    eigenvalues: Floats = field(repr=False)  # of C, those at the edge where a feature is not learned
    edges: tuple[float, float]  # of the bulk of C
    bars: dict[str, float] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    observables = MEASURED
    compared = tuple(observable.name for observable in MEASURED)
    convention = "eigenvalues of C = (1/n) sum T(y) (FF' - 1), labels as they are"

    @property
    def learned(self) -> int:
        """How many features stand out of the noise."""
        return int(np.sum(self.overlaps > 0.0))

    @cached_property
    def spectrum(self) -> Semicircle | BoundedBulk:
        """Law of the bulk of C, which has all of its eigenvalues but those of the features that are learned."""
        if self.problem.clip is None:
            return Semicircle((0.5 * self.edges[1]) ** 2)
        labels, mass, _ = bounded_law(self.problem)
        return BoundedBulk(labels, mass, self.problem.alpha, self.edges)

    @property
    def bulks(self) -> tuple[Bulk, ...]:
        """The one bulk of C."""
        return (Bulk(*self.edges, 1.0),)

    @property
    def outliers(self) -> tuple[float, ...]:
        """Eigenvalues of C that stand out, one for every feature that is learned."""
        return tuple(map(float, np.sort(self.eigenvalues[self.overlaps > 0.0])))

    @property
    def error_bars(self) -> dict[str, float]:
        """How far each number may be off: the next order in 1/sqrt(alpha) of labels of any size, rounding of others."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        """Plain sentences: where the limit is not yet there, and what it is a limit of."""
        return (*self.problem.notes, *self.notes)

    def features_beside(self, ensemble: Any) -> Mapping[str, Beside] | None:
        """Overlap of every feature with the learned space, predicted and of each seed."""
        overlaps = ensemble.values("overlaps")
        return {"overlap": Beside("squared overlap with the learned space", self.overlaps, overlaps)}


def solve(problem: CompositionalProblem) -> CompositionalSolution:
    """Predict what the layers learn, in the limit of many coordinates: closed forms, or sums over the law of labels."""
    found = moments(problem)
    outliers = _outliers(problem, found)
    thresholds = sample_sizes_of(problem, found)
    error, error_bar = error_of_layers(found, outliers)
    overlap_bar = outliers.overlap_bar
    top = int(np.argmax(np.abs(outliers.eigenvalue)))
    bars = {
        "test_error": error_bar + found.error,
        "mean_overlap": float(np.mean(overlap_bar)) + found.error,
        "first_overlap": float(overlap_bar[0]) + found.error,
        "largest_eigenvalue": float(outliers.eigenvalue_bar[top]) + found.error,
    }
    return CompositionalSolution(
        problem,
        test_error=error,
        mean_overlap=float(np.mean(outliers.overlap)),
        first_overlap=float(outliers.overlap[0]),
        largest_eigenvalue=float(np.abs(outliers.eigenvalue[top])),
        signals=found.signal,
        thresholds=thresholds,
        overlaps=outliers.overlap,
        eigenvalues=outliers.eigenvalue,
        edges=outliers.edges,
        bars=bars,
        notes=_notes(problem, found, thresholds),
    )


def error_of_layers(found: Moments, outliers: Outliers) -> tuple[float, float]:
    """Test error over the variance of the labels, and its bar: ``1 - sum_i t_i^2 cos_i^4/(2 Var y)``.

    ``t_i = E[y (h_i^2 - 1)]``. A feature that is not learned is lost, one that is learned comes with noise of its own:
    for plain labels ``sum_i lam_i^2 (1 - cos_i^4)``.

    Equation: derived: learned features ``g_i = c_i h_i + sqrt(1 - c_i^2) noise`` have the second layer
        ``sum_i t_i c_i^2 (g_i^2 - 1)``, of variance ``2 sum t_i^2 c_i^4``, half of which is its covariance
        with y; a straight line is fitted last.
    Checked: tests/models/compositional/test_witnesses.py::test_layers_are_on_the_curve
    """
    share = found.readout**2 / (2.0 * found.labels)
    error = max(1.0 - float(np.sum(share * outliers.overlap**2)), 0.0)  # not below zero by rounding
    return error, float(np.sum(2.0 * share * outliers.overlap * outliers.overlap_bar)) + 1e-14


def _outliers(problem: CompositionalProblem, found: Moments) -> Outliers:
    alpha = problem.alpha
    weak = weak_outliers(found.signal, found.variance, found.row, found.third, found.third_row, alpha)
    if problem.clip is None:
        return weak
    followed = min(problem.features, FOLLOWED)
    fine, coarse = (_bounded(problem, found.signal[:followed], points) for points in (POINTS, POINTS // 2))
    eigenvalue, overlap = ((4.0 * a - b) / 3.0 for a, b in zip(fine[:2], coarse[:2], strict=True))
    overlap = np.where(fine[1] > 0.0, np.clip(overlap, 0.0, 1.0), 0.0)
    bars = [SURE * np.abs(a - b) + ROUNDING for a, b in zip(fine[:2], coarse[:2], strict=True)]
    edges = fine[2]
    if followed == problem.features:
        return Outliers(eigenvalue, overlap, bars[0], bars[1], edges)
    rest = slice(followed, None)
    return Outliers(
        np.concatenate([eigenvalue, weak.eigenvalue[rest]]),
        np.concatenate([overlap, weak.overlap[rest]]),
        np.concatenate([bars[0], weak.eigenvalue_bar[rest]]),
        np.concatenate([bars[1], weak.overlap_bar[rest]]),
        edges,
    )


def _bounded(problem: CompositionalProblem, signal: Floats, points: int) -> tuple[Floats, Floats, tuple[float, float]]:
    return bounded_outliers(signal, *bounded_law(problem, points), problem.alpha)


def _notes(problem: CompositionalProblem, found: Moments, sizes: Floats) -> tuple[str, ...]:
    said = []
    near = np.flatnonzero((sizes < NEAR * problem.alpha) & (sizes > problem.alpha / NEAR))
    if near.size:
        said.append(
            f"{near.size} of {problem.features} features are within a factor {NEAR:g} of their threshold, which finite "
            "sizes smear."
        )
    if problem.clip is None:
        rare = float(large_labels(problem, np.array([problem.alpha]))[0])
        if rare > RARE:
            bound = sqrt(problem.alpha)
            said.append(
                f"a label beyond {bound:.3g} standard deviations makes an outlier of its own, and {rare:.1e} of all "
                "are: with many samples these take the place of features. Use for example clip=3."
            )
    if problem.inputs == "hermite":
        said.append(
            "the prediction is that of Gaussian coordinates; true Hermite coordinates have heavy tails, which at d = "
            "36 leave 0.17 of a feature where 0.94 is predicted: clip the labels, and use d of at least 120."
        )
    if found.error > RESOLVED:
        said.append(f"expectations over the labels are known to {found.error:.1e} only.")
    return tuple(said)
