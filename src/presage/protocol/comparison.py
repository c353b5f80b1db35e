"""The two witnesses side by side: what the theory predicts and what trained networks show.

No model is named here: predictions and ensembles say themselves what can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isnan, nan, sqrt
from typing import Any, NamedTuple, final, overload

import numpy as np
from numpy.typing import ArrayLike

from presage.protocol import checks
from presage.protocol.compared_networks import check_given, check_networks, joined_by_dimension
from presage.protocol.comparison_row import Row, row_of
from presage.protocol.ensemble import KEPT, Ensemble
from presage.protocol.extrapolation import over
from presage.protocol.feature_comparison import FeatureComparison
from presage.protocol.largest_by_rank import largest_by_rank
from presage.protocol.observables import Observable, by_name
from presage.protocol.prediction import Prediction
from presage.protocol.recorded import Recorded
from presage.protocol.trained_elsewhere import TrainedElsewhere, set_beside
from presage.protocol.trajectory import Trajectory
from presage.protocol.trajectory_comparison import TrajectoryComparison, compare_trajectory

MISFIT = 1e-4  # probability below which a + b/d is said not to hold
POINTS = 400  # of the quantile functions whose distance is taken


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
        if isnan(self.wasserstein):
            return f"spectrum at d = {self.d}: there are no non-zero eigenvalues on both sides to compare."
        return (
            f"spectrum at d = {self.d}: non-zero eigenvalues are {self.wasserstein:.3g} from their quantiles on "
            f"average, their distribution function differs by at most {self.kolmogorov_smirnov:.3g}; "
            f"{self.zero:.4g} +- {self.zero_error:.1e} of all are zero, predicted {self.zero_predicted:.4g}."
        )


@final
@dataclass(frozen=True, eq=False)
class Comparison(Recorded):
    """Prediction and training, observable by observable."""

    solution: Prediction = field(repr=False)
    ensembles: tuple[Ensemble, ...] = field(repr=False)
    rows: tuple[Row, ...]
    spectra: tuple[Spectrum, ...]
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def observables(self) -> tuple[Observable, ...]:
        """What the rows are about: observables of the prediction, and those that networks have if they kept enough."""
        known = {observable.name for observable in self.solution.observables}
        if all(row.name in known for row in self.rows):  # counterparts take time, and are asked for where they are
            return self.solution.observables
        return (*self.solution.observables, *(one.observable for one in self.solution.counterparts))

    @property
    def features(self) -> FeatureComparison:
        """The features of the target one by one, where prediction and networks know them.

        Raises:
            InputError: where they do not, with what to ask `simulate` for.
        """
        for d, group in joined_by_dimension(self.ensembles).items():
            found = [beside for ensemble in group if (beside := self.solution.features_beside(ensemble)) is not None]
            if found:
                together = {
                    name: one._replace(measured=np.concatenate([each[name].measured for each in found]))
                    for name, one in found[0].items()
                }
                return FeatureComparison.of(d, together)
        reason = "a feature is an eigenvector of a target of as many eigenvalues as the networks have dimensions"
        needs = {one.needs for one in self.solution.counterparts if one.needs}
        remedy = f"Train networks of the target's own d with {' and '.join(sorted(needs)) or 'what it takes'}."
        raise checks.complaint("ensembles", "have kept the features of their targets", reason, self._told(), remedy)

    def _told(self) -> str:
        return ", ".join(f"{type(ensemble).__name__} of d = {ensemble.d}" for ensemble in self.ensembles)

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
        departures = {line for ensemble in self.ensembles for line in ensemble.departures}
        of_networks = [(ensemble.d, line) for ensemble in self.ensembles for line in ensemble.caveats]
        said += [f"d = {d}: {line}" for d, line in of_networks if line not in departures]
        said += sorted(departures)
        said += self.notes
        bent = [row.name for row in self.rows if row.misfit < MISFIT]
        if bent:
            laws = dict.fromkeys(f"a + b{over(row.correction)[1:]}" for row in self.rows if row.name in bent)
            told = f"{' and '.join(laws)} {'does' if len(laws) == 1 else 'do'} not describe"
            said.append(f"{told} the {', '.join(bent)} of these sizes: use larger ones.")
        if len(self.rows[0].d) == 1 and self.solution.problem.own_dimension is None:
            said.append("a single d cannot tell a difference from a finite-size effect: add an ensemble of another d.")
        return tuple(said)

    def __str__(self) -> str:
        sentences = [row.sentence for row in self.rows] + [spectrum.sentence for spectrum in self.spectra]
        return "\n".join([*sentences, *(f"caveat: {line}" for line in self.caveats)])


@overload
def compare(solution: Trajectory, *ensembles: Ensemble) -> TrajectoryComparison: ...


@overload
def compare(solution: Prediction, *ensembles: Ensemble) -> Comparison: ...


@overload
def compare(
    solution: Prediction,
    *ensembles: ArrayLike,
    zero: float | None = None,
    draws: int | None = None,
    progress: bool | None = None,
) -> TrainedElsewhere: ...


def compare(
    solution: Prediction | Trajectory,
    *ensembles: Any,
    zero: float | None = None,
    draws: int | None = None,
    progress: bool | None = None,
) -> Comparison | TrainedElsewhere | TrajectoryComparison:
    """Set trained networks beside the prediction: that of `solve`, or that of `bayes_optimal` for a posterior mean.

    Several dimensions are fitted by ``a + b/d``, or by the power of d that an observable declares; ``z`` is the
    distance of ``a`` from the prediction over both uncertainties, made as rare as Student's law for few seeds says.
    With one dimension the mean itself is compared.

    Networks that were trained elsewhere are given by their eigenvalues (singular values, entries), an array a network:
    these are set beside the predicted law, and their distance from it beside that of networks which follow the law.
    Values of at most `zero` count as zero then; by default those that are rounding beside the largest. How far such
    networks are from the law is read off `draws` of them: by default 200 up to d = 223 and fewer above, which takes
    some ten seconds at d = 1000; `progress` shows a bar, by default on a terminal.

    A `trajectory` is set beside networks that kept theirs, ``simulate(..., keep="trajectory")``, time by time.
    """
    if isinstance(solution, Trajectory):
        _no_options(zero=zero, draws=draws, progress=progress)
        return compare_trajectory(solution, ensembles)
    remedy = "Pass <solve()>, <bayes_optimal()> or <trajectory()> as first argument."
    checks.instance("solution", solution, Prediction, reason="it is the prediction", remedy=remedy)
    check_given(ensembles)
    if not any(isinstance(one, Ensemble) for one in ensembles) and all(_is_array(one) for one in ensembles):
        return set_beside(solution, ensembles, zero, draws, progress)
    _no_options(zero=zero, draws=draws, progress=progress)
    check_networks(solution, ensembles)
    ordered = joined_by_dimension(ensembles)
    known = by_name(solution.known_observables)
    rows = [_row(known.get(name) or Observable(name, name), solution, ordered) for name in solution.compared]
    further, notes = _further(solution, ordered) if any(map(_kept_something, ensembles)) else ([], ())
    spectra = tuple(_spectrum(solution, d, group) for d, group in ordered.items() if solution.spectrum_measured_as)
    return Comparison(solution, ensembles, (*rows, *further), spectra, notes)


def _no_options(**given: Any) -> None:
    """Complain about what is for networks that were trained elsewhere."""
    reasons = {
        "zero": "which values of networks of presage are zero is said by their rank",
        "draws": "networks of presage are set beside the numbers of the prediction, and none is drawn",
        "progress": "networks of presage are compared at once",
    }
    for name, value in given.items():
        if value is not None:
            raise checks.complaint(name, "be left out here", reasons[name], value, "Leave it out.")


def _is_array(one: Any) -> bool:
    return isinstance(one, np.ndarray | list | tuple)


def _kept_something(ensemble: Ensemble) -> bool:
    """Whether networks kept more than what every one is measured by: only then may they have counterparts."""
    return any(getattr(ensemble, name) is not None for name in KEPT)


def _further(solution: Prediction, groups: dict[int, list[Any]]) -> tuple[list[Row], tuple[str, ...]]:
    """Rows of what networks show if they kept enough; where some did and others did not, a sentence instead."""
    rows, notes = [], []
    for one in solution.counterparts:
        measured = {d: [one.measured(ensemble) for ensemble in group] for d, group in groups.items()}
        have = [values is not None for group in measured.values() for values in group]
        if all(have):
            values = [np.concatenate(group) for group in measured.values()]
            rows.append(row_of(one.observable, one.prediction, one.error_bar, list(groups), values))
        elif any(have):
            notes.append(f"{one.observable.name} is left out: not all of the networks were trained with {one.needs}.")
    return rows, tuple(notes)


def _row(observable: Observable, solution: Prediction, groups: dict[int, list[Any]]) -> Row:
    name = observable.name
    values = [np.concatenate([ensemble.values(name) for ensemble in group]) for group in groups.values()]
    free = solution.problem.own_dimension is None
    return row_of(
        observable, float(getattr(solution, name)), solution.error_bars[name], list(groups), values, free=free
    )


def _spectrum(solution: Prediction, d: int, group: list[Ensemble]) -> Spectrum:
    """Distance of the pooled eigenvalues to the predicted law; which are zero is said by the rank of each network."""
    ranks = np.concatenate([ensemble.values("rank") for ensemble in group])
    rows = np.concatenate([ensemble.values(str(solution.spectrum_measured_as)) for ensemble in group])
    largest = [largest_by_rank(row, rank) for row, rank in zip(rows, ranks, strict=True)]
    nonzero = np.sort(np.concatenate(largest))
    zero, zero_error = 1.0 - float(ranks.mean()), float(ranks.std(ddof=1) / sqrt(len(ranks)))
    wasserstein = distance = nan
    law: Any = solution.spectrum
    if len(nonzero) and solution.rank > 0:
        level = (np.arange(POINTS) + 0.5) / POINTS
        zeros = 1.0 - solution.rank
        negative = max(float(law.cdf(0.0)) - zeros, 0.0)
        mass = solution.rank * level
        predicted = law.quantile(np.where(mass < negative, mass, mass + zeros))
        wasserstein = float(np.mean(np.abs(np.quantile(nonzero, level) - predicted)))
        below = (law.cdf(nonzero) - np.where(nonzero < 0.0, 0.0, zeros)) / solution.rank
        steps = np.arange(len(nonzero) + 1) / len(nonzero)
        distance = float(max(np.max(np.abs(below - steps[1:])), np.max(np.abs(below - steps[:-1]))))
    return Spectrum(d, wasserstein, distance, zero, zero_error, 1.0 - solution.rank)
