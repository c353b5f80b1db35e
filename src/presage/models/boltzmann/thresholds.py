"""From how many samples on a machine sees a direction, and from how many the prediction is claimed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf, isfinite, isnan, nan
from typing import final

from presage.models.boltzmann.declaration import THRESHOLDS
from presage.models.boltzmann.hidden import GaussianUnits
from presage.models.boltzmann.problem import BoltzmannProblem
from presage.models.boltzmann.theory.stability import (
    ACCURACY,
    has_lines,
    onset_samples,
    onset_signal,
    stability_samples,
    stability_signal,
)
from presage.protocol.errors import SolveError
from presage.protocol.prediction import SampleSizes
from presage.spectra.spiked import spiked_wishart


@final
@dataclass(frozen=True)
class BoltzmannThresholds(SampleSizes):
    """Samples, ``alpha = n/d``, at the signal of a problem; and the same lines read as signals at its alpha."""

    weak_recovery: float  # alpha from which on principal components see the strongest direction
    onset: float  # and from which on replica-symmetric weights do
    stability: float  # and from which on replica symmetry is stable
    weak_recovery_signal: float = nan  # signals of the strongest direction at the alpha of the problem
    onset_signal: float = nan
    stability_signal: float = nan
    caveats: tuple[str, ...] = ()
    problem: BoltzmannProblem | None = field(default=None, repr=False)

    observables = THRESHOLDS

    @property
    def error_bars(self) -> Mapping[str, float]:
        """Roots of equations that are solved to nine digits; one that is infinite, or not known, has none."""
        values = {one.name: getattr(self, one.name) for one in self.observables}
        return {name: 10.0 * ACCURACY * value for name, value in values.items() if isfinite(value)}


def thresholds(problem: BoltzmannProblem) -> BoltzmannThresholds:
    """Where principal components, replica-symmetric weights and the claim of the prediction begin, in alpha."""
    said = list(problem.notes)
    if not has_lines(problem):
        said.append(
            "of units that are not independent, or have a mean, neither onset nor stability line is known: a mean "
            "pulls at the weights, and weak_recovery is that of principal components alone."
        )
        lines = (nan, nan, nan, nan)
    else:
        found = (onset_samples, stability_samples, onset_signal, stability_signal)
        lines = tuple(_known(line, problem) for line in found)  # type: ignore[assignment]
        if any(isnan(value) for value in lines):
            said.append(
                "a line that is not known is outside of what is looked at, or would need a grid of three units, or its "
                "equations do not come to rest."
            )
        if problem.units > problem.spikes.count:
            said.append("units that are left over fit noise, and such minima are never replica symmetric.")
    if has_lines(problem) and not isinstance(problem.hidden, GaussianUnits):
        said.append(
            "the onset is that of the replica-symmetric equations, which are unstable there; that weights of greatest "
            "likelihood see a direction where principal components do is an argument, and not proved."
        )
    onset, stability, at_onset, at_stability = lines
    return BoltzmannThresholds(
        weak_recovery=problem.strongest**-2 if problem.strongest > 0.0 else inf,
        onset=onset,
        stability=stability,
        weak_recovery_signal=float(spiked_wishart(0.0, problem.alpha).threshold),
        onset_signal=at_onset,
        stability_signal=at_stability,
        caveats=tuple(said),
        problem=problem,
    )


def _known(line: Callable[[BoltzmannProblem], float], problem: BoltzmannProblem) -> float:
    """A line, or nan where its equations do not come to rest."""
    try:
        return line(problem)
    except SolveError:
        return nan
