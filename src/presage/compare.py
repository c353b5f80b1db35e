"""The two witnesses side by side: what the theory predicts and what trained networks show.

This is the only module that sees both.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import nan, sqrt
from typing import Any, NamedTuple, final

import numpy as np

from presage import _check
from presage.experiment.ensemble import OBSERVABLES, Ensemble
from presage.model.laws import Floats
from presage.theory.solution import Solution

AGREE = 3.0  # standard errors
POINTS = 400  # of the quantile functions whose distance is taken


class Row(NamedTuple):
    """One observable: prediction, measurement at each d, and what is left of it as d grows."""

    name: str
    prediction: float
    error_bar: float  # of the prediction, half width of a 95 % interval
    d: tuple[int, ...]
    mean: Floats  # over the seeds, one a dimension
    standard_error: Floats
    a: float  # limit: of the fit a + b/d, or with a single d the mean itself
    a_error: float
    b: float  # 0 with a single d
    z: float  # (a - prediction) in standard errors

    @property
    def agrees(self) -> bool:
        """Whether prediction and measurement are within three standard errors."""
        return abs(self.z) < AGREE

    @property
    def sentence(self) -> str:
        """The row in words."""
        sizes = " and ".join(map(str, self.d))
        how = f"networks of d = {sizes} extrapolate to" if len(self.d) > 1 else f"networks of d = {sizes} show"
        verdict = "they agree" if self.agrees else "they do not agree"
        if len(self.d) == 1:
            verdict += ", finite-size effects of order 1/d included"
        return (
            f"{self.name}: predicted {self.prediction:.6g}, {how} {self.a:.6g} +- {self.a_error:.1e} "
            f"(z = {self.z:+.1f}): {verdict}."
        )


class Spectrum(NamedTuple):
    """How far the eigenvalues of the networks of one dimension are from the predicted law."""

    d: int
    wasserstein: float  # mean distance of the non-zero eigenvalues to the quantiles they should have
    kolmogorov_smirnov: float  # largest difference of the distribution functions of the non-zero part
    zero: float  # fraction of eigenvalues that are zero
    zero_error: float
    zero_predicted: float

    @property
    def sentence(self) -> str:
        """The distances in words."""
        return (
            f"spectrum at d = {self.d}: non-zero eigenvalues are {self.wasserstein:.3g} from their quantiles on "
            f"average, their distribution function differs by at most {self.kolmogorov_smirnov:.3g}; "
            f"{self.zero:.4g} +- {self.zero_error:.1e} of all are zero, predicted {self.zero_predicted:.4g}."
        )


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """Prediction and training, observable by observable."""

    solution: Solution = field(repr=False)
    ensembles: tuple[Ensemble, ...] = field(repr=False)
    rows: tuple[Row, ...]
    spectra: tuple[Spectrum, ...]

    def __getitem__(self, name: str) -> Row:
        """The row of an observable."""
        for row in self.rows:
            if row.name == name:
                return row
        raise KeyError(f"{name!r} is not among {', '.join(row.name for row in self.rows)}")

    @property
    def agrees(self) -> bool:
        """Whether every observable agrees."""
        return all(row.agrees for row in self.rows)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What to know before believing it, from both sides."""
        said = [*self.solution.caveats]
        said += [f"d = {ensemble.d}: {line}" for ensemble in self.ensembles for line in ensemble.caveats]
        if len(self.rows[0].d) == 1:
            said.append("a single d cannot tell a difference from a finite-size effect: add an ensemble of another d.")
        return tuple(said)

    def __str__(self) -> str:
        sentences = [row.sentence for row in self.rows] + [spectrum.sentence for spectrum in self.spectra]
        return "\n".join([*sentences, *(f"caveat: {line}" for line in self.caveats)])


def compare(solution: Solution, *ensembles: Ensemble) -> Comparison:
    """Set trained networks beside the prediction.

    Several dimensions are fitted by ``a + b/d``, each mean weighted by its standard error; ``z`` is the distance of
    ``a`` from the prediction over both uncertainties. With one dimension the mean itself is compared.
    """
    _check.instance(
        "solution", solution, Solution, reason="it is the prediction", remedy="Pass solve(problem) as first argument."
    )
    if not ensembles:
        remedy = "Pass simulate(problem, d=100) too."
        raise _check.complaint("ensembles", "be given", "there is nothing to compare with", ensembles, remedy)
    for ensemble in ensembles:
        _check.instance(
            "ensembles", ensemble, Ensemble, reason="they are trained networks", remedy="Pass simulate(problem, d=100)."
        )
        if ensemble.problem != solution.problem:
            raise _check.complaint(
                "ensembles",
                "have the problem of the solution",
                f"the prediction is for {solution.problem}",
                ensemble.problem,
                "Pass the same problem to solve and simulate.",
            )
        if len(ensemble.values("test_error")) < 2:
            raise _check.complaint(
                "ensembles",
                "have at least two networks each",
                "one network has no standard error",
                f"{len(ensemble.values('test_error'))} at d = {ensemble.d}",
                "Use more seeds.",
            )
    ordered = _joined(ensembles)
    rows = tuple(_row(name, solution, ordered) for name in OBSERVABLES)
    return Comparison(solution, ensembles, rows, tuple(_spectrum(solution, d, group) for d, group in ordered.items()))


def fit_limit(d: Floats, mean: Floats, standard_error: Floats) -> tuple[float, float, float]:
    """Weighted least squares of ``mean = a + b/d``: a, its standard error, and b."""
    exact = (
        float(np.max(standard_error)) * 1e-6 + 1e-300
    )  # an observable that does not vary at one d still has a weight
    weight = 1.0 / np.maximum(standard_error, exact)
    if len(d) == 1:
        return float(mean[0]), float(standard_error[0]), 0.0
    design = np.column_stack([weight, weight / d])
    (a, b), *_ = np.linalg.lstsq(design, weight * mean)
    covariance = np.linalg.inv(design.T @ design)
    return float(a), sqrt(float(covariance[0, 0])), float(b)


def _joined(ensembles: tuple[Ensemble, ...]) -> dict[int, list[Ensemble]]:
    """Ensembles by dimension, increasing: those of one dimension count as one larger ensemble."""
    return {d: [e for e in ensembles if e.d == d] for d in sorted({e.d for e in ensembles})}


def _row(name: str, solution: Solution, groups: dict[int, list[Ensemble]]) -> Row:
    values = [np.concatenate([ensemble.values(name) for ensemble in group]) for group in groups.values()]
    mean = np.array([value.mean() for value in values])
    standard_error = np.array([value.std(ddof=1) / sqrt(len(value)) for value in values])
    a, a_error, b = fit_limit(np.array(list(groups), dtype=np.float64), mean, standard_error)
    prediction, bar = float(getattr(solution, name)), solution.error_bars[name]
    spread = sqrt(a_error**2 + (0.5 * bar) ** 2)
    difference = a - prediction
    z = difference / spread if spread > 0 else (0.0 if difference == 0 else nan)
    return Row(name, prediction, bar, tuple(groups), mean, standard_error, a, a_error, b, z)


def _spectrum(solution: Solution, d: int, group: list[Ensemble]) -> Spectrum:
    """Distance of the pooled eigenvalues to the predicted law; which are zero is said by the rank of each network."""
    ranks = np.concatenate([ensemble.values("rank") for ensemble in group])
    rows = np.concatenate([ensemble.values("eigenvalues") for ensemble in group])
    kept = np.sort(np.concatenate([row[d - round(rank * d) :] for row, rank in zip(rows, ranks, strict=True)]))
    zero, zero_error = 1.0 - float(ranks.mean()), float(ranks.std(ddof=1) / sqrt(len(ranks)))
    wasserstein = distance = nan
    law: Any = solution.spectrum
    if len(kept) and solution.rank > 0:
        level = (np.arange(POINTS) + 0.5) / POINTS
        predicted = law.quantile(1.0 - solution.rank + solution.rank * level)
        wasserstein = float(np.mean(np.abs(np.quantile(kept, level) - predicted)))
        below = (law.cdf(kept) - (1.0 - solution.rank)) / solution.rank
        steps = np.arange(len(kept) + 1) / len(kept)
        distance = float(max(np.max(np.abs(below - steps[1:])), np.max(np.abs(below - steps[:-1]))))
    return Spectrum(d, wasserstein, distance, zero, zero_error, 1.0 - solution.rank)
