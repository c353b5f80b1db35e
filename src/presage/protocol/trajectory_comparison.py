"""The way of a training beside its prediction, time by time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, final

import numpy as np
import scipy
from numpy.typing import NDArray

from presage.protocol import checks
from presage.protocol.columns import Columns
from presage.protocol.compared_networks import check_given, check_networks, joined_by_dimension
from presage.protocol.comparison_row import AGREE, Row, row_of
from presage.protocol.ensemble import Ensemble, Floats
from presage.protocol.observables import Observable
from presage.protocol.trajectory import TIME, Trajectory

PARTS = {  # of each observable: the columns, in words
    "predicted": "predicted",
    "trained": "what is left of the networks as d grows",
    "error": "standard error of that",
    "z": "difference in standard errors",
}


@final
@dataclass(frozen=True, eq=False)
class TrajectoryComparison(Columns):
    """Prediction and training at every time that both have.

    Many numbers are compared at once, and of many some are far off by chance: `limit` is the z that one of so many
    exceeds as seldom as a single number exceeds 3.
    """

    trajectory: Trajectory = field(repr=False)
    ensembles: tuple[Ensemble, ...] = field(repr=False)
    times: Floats = field(repr=False)
    rows: dict[str, tuple[Row, ...]] = field(repr=False)  # of each observable, one a time

    @property
    def solution(self) -> Trajectory:
        """The prediction."""
        return self.trajectory

    @property
    def problem(self) -> Any:
        """What was learned."""
        return self.trajectory.problem

    @property
    def observables(self) -> tuple[Observable, ...]:
        """What was followed."""
        return self.trajectory.observables

    @property
    def z(self) -> dict[str, Floats]:
        """Distance of training and prediction in standard errors, of each observable, one entry a time."""
        return {name: np.array([row.z for row in rows]) for name, rows in self.rows.items()}

    @property
    def limit(self) -> float:
        """The z at which agreement ends: 3 for a single number, more where the largest of many is looked at."""
        count = sum(len(rows) for rows in self.rows.values())
        return float(-scipy.special.ndtri(scipy.special.ndtr(-AGREE) / count))

    @property
    def largest(self) -> tuple[str, float, float]:
        """The number that is furthest off: its name, its time, its z."""
        name = max(self.rows, key=lambda one: float(np.max(np.nan_to_num(np.abs(self.z[one]), nan=-1.0))))
        z = self.z[name]
        worst = int(np.argmax(np.nan_to_num(np.abs(z), nan=-1.0)))
        return name, float(self.times[worst]), float(z[worst])

    @property
    def agrees(self) -> bool:
        """Whether every number at every time agrees; one without an error bar does not."""
        return all(not isnan(row.z) and abs(row.z) < self.limit for rows in self.rows.values() for row in rows)

    @property
    def meanings(self) -> Mapping[str, str]:
        told = {TIME: self.trajectory.trainer.clock}
        for one in self.observables:
            told |= {f"{one.name}_{part}": f"{one.words}, {words}" for part, words in PARTS.items()}
        return told

    def column(self, name: str) -> NDArray[Any]:
        if name == TIME:
            return self.times
        observable, _, part = name.rpartition("_")
        taken = {"predicted": "prediction", "trained": "a", "error": "a_error", "z": "z"}[part]
        return np.array([getattr(row, taken) for row in self.rows[observable]])

    @property
    def head(self) -> str:
        name, time, z = self.largest
        count = sum(len(rows) for rows in self.rows.values())
        sizes = " and ".join(str(d) for d in sorted({ensemble.d for ensemble in self.ensembles}))
        verdict = "they agree" if self.agrees else "they do not agree"
        at = f"{self.trajectory.trainer.moment} {time:g}"
        return (
            f"{', '.join(self.rows)} at {len(self)} times beside networks of d = {sizes}: {verdict}. Furthest off of "
            f"{count} numbers is {name} at {at} (z = {z:+.1f}; {self.limit:.1f} is where agreement ends)"
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        said = [*self.trajectory.caveats]
        departures = {line for ensemble in self.ensembles for line in ensemble.departures}
        of_networks = [(ensemble.d, line) for ensemble in self.ensembles for line in ensemble.caveats]
        said += [f"d = {d}: {line}" for d, line in of_networks if line not in departures]
        said += sorted(departures)
        if len({ensemble.d for ensemble in self.ensembles}) == 1 and _is_free(self.trajectory):
            said.append("a single d cannot tell a difference from a finite-size effect: add an ensemble of another d.")
        return tuple(said)


def compare_trajectory(trajectory: Trajectory, ensembles: tuple[Any, ...]) -> TrajectoryComparison:
    """Set networks that kept their way beside the predicted one, at every time that all of them have."""
    check_given(ensembles)
    check_networks(trajectory, ensembles)
    for ensemble in ensembles:
        _must_have_followed(trajectory, ensemble)
    times = _common_times(trajectory, ensembles)
    free = _is_free(trajectory)
    groups = joined_by_dimension(ensembles)
    rows: dict[str, tuple[Row, ...]] = {}
    for one in trajectory.observables:
        at = np.searchsorted(trajectory.times, times)
        values = [
            np.concatenate([_measured(ensemble, one.name, times) for ensemble in group]) for group in groups.values()
        ]
        predicted, bars = trajectory.values[one.name][at], trajectory.error_bars[one.name][at]
        rows[one.name] = tuple(
            row_of(one, float(p), float(b), list(groups), [value[:, k] for value in values], free=free)
            for k, (p, b) in enumerate(zip(predicted, bars, strict=True))
        )
    return TrajectoryComparison(trajectory, ensembles, times, rows)


def _is_free(trajectory: Trajectory) -> bool:
    """Whether networks of any size tell something about it, which grows with them."""
    return trajectory.problem.own_dimension is None and trajectory.d is None


def _must_have_followed(trajectory: Trajectory, ensemble: Ensemble) -> None:
    """Complain about networks that kept no trajectory, went another way, or were not asked for these numbers."""
    if trajectory.d not in (None, ensemble.d):
        reason, remedy = f"the prediction is about networks of d = {trajectory.d}", f"Use <d={trajectory.d}>."
        raise checks.complaint("ensembles", "be of the dimension of the prediction", reason, ensemble.d, remedy)
    if ensemble.trajectory is None:
        reason = "the steps of a training are not kept unless they are asked for"
        remedy = 'Train with simulate(problem, d=..., trainer=trajectory.trainer, <keep="trajectory">).'
        raise checks.complaint("ensembles", "have kept their trajectories", reason, repr(ensemble), remedy)
    if ensemble.trainer != trajectory.trainer:
        reason = f"the prediction follows {trajectory.trainer}"
        remedy = "Pass <trainer=trajectory.trainer> to simulate."
        raise checks.complaint("ensembles", "be trained in the way that is followed", reason, ensemble.trainer, remedy)
    followed = [one.name for one in ensemble.followed]
    missing = [one.name for one in trajectory.observables if one.name not in followed]
    if missing:
        raise TypeError(f"{type(ensemble).__name__} does not follow {', '.join(missing)}: list it in `followed`.")


def _common_times(trajectory: Trajectory, ensembles: Sequence[Ensemble]) -> Floats:
    """Times that the prediction and every network have."""
    common = trajectory.times
    for ensemble in ensembles:
        for way in ensemble.values("trajectory"):
            common = np.intersect1d(common, way[:, 0])
    if not len(common):
        reason, remedy = "nothing is known of both at the same step", "Use the same <steps> for both."
        raise checks.complaint("ensembles", "have times of the prediction", reason, "no common time", remedy)
    return np.asarray(common)


def _measured(ensemble: Ensemble, name: str, times: Floats) -> Floats:
    """An observable of every network that has a result (rows) at these times (columns)."""
    column = 1 + [one.name for one in ensemble.followed].index(name)
    ways = ensemble.values("trajectory")
    return np.array([way[np.searchsorted(way[:, 0], times), column] for way in ways])
