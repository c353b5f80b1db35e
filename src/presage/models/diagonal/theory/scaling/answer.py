"""The scaling law of a diagonal network: what `presage.scaling` answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, log, sqrt
from typing import final

from presage.models.diagonal.declaration import ALPHA, SCALING, WEIGHT_DECAY
from presage.models.diagonal.problem import DiagonalProblem
from presage.models.diagonal.theory.coordinates import Coordinates, learned_from
from presage.models.diagonal.theory.scaling.composite import composite_error
from presage.models.diagonal.theory.scaling.curve import curve_in_samples
from presage.models.diagonal.theory.scaling.law_here import PHASES, law_of
from presage.models.diagonal.theory.scaling.phases import boundaries_of, phase_of, weight_decay_of_nothing
from presage.models.diagonal.theory.scaling.power_problem import PowerProblem, power_problem
from presage.models.diagonal.theory.scaling.sample_sizes import learned_at
from presage.models.diagonal.theory.solution import DiagonalSolution, solve
from presage.protocol import checks
from presage.protocol.scaling import Scaling, ScalingCurve, ScalingLaw

FACTOR = 3.0  # by which samples and weight decay are turned either way for a local exponent: the sums are staircases
ALL = 1e-12  # fraction of entries that may be lost where every entry is said to be kept
APART = 0.2  # of the logarithm of the error, by which the law of a phase may differ before that is said


@final
@dataclass(frozen=True)
class DiagonalScaling(Scaling):
    """Phase, law, boundaries and local exponents of a diagonal network whose target falls as a power of the rank.

    The error is ``|theta_fit - theta_0|^2/d``, the number of samples is ``n = alpha d``.
    """

    prediction: DiagonalSolution  # the exact one that all of it is about
    learned: int  # entries above max(c, delta)
    weight_decay_max: float  # from which on the fit is zero for half of all data

    observables = SCALING
    phases = tuple(PHASES)  # all that there are

    @property
    def coordinates(self) -> Coordinates:
        """One row an entry: learned or not, how often it is there, its mean fit, its error."""
        return self.prediction.coordinates

    @property
    def d(self) -> int:
        """The number of entries of the target, at which samples are counted."""
        return power_problem(self.problem).d

    def curve(self) -> ScalingCurve:
        """The exact error against the number of samples around the point, with the laws of the phases on its way."""
        return curve_in_samples(self.problem)

    def learned_at(self, indices: Sequence[int] | None = None) -> tuple[tuple[float, ...], ...]:
        """Every number of samples at which entries of these ranks are learned or lost; the first 20 by default."""
        return learned_at(self.problem, indices)


def scaling(problem: DiagonalProblem, *, factor: float | None = FACTOR) -> DiagonalScaling:
    """Phase, law, boundaries and local exponents of entries ``A i^-gamma``, fixed or Gaussian.

    Args:
        problem: its target is a `PowerLaw`, or a list of values that is one.
        factor: by which samples and weight decay are turned up and down for the local exponents; None leaves them out.
    """
    if factor is not None:
        reason, remedy = "the error is compared above and below", "Use for example <factor=3.0>."
        factor = checks.real("factor", factor, above=1.0, at_most=1e3, reason=reason, remedy=remedy)
    p = power_problem(problem)
    solution = solve(problem)
    law = law_of(p, phase_of(p), exact=solution.nonzero > 1.0 - ALL)
    t = learned_from(solution.delta, solution.cutoff)
    return DiagonalScaling(
        problem=problem,
        law=law,
        boundaries=boundaries_of(p),
        error=solution.estimation_error,
        composite=composite_error(p),
        local_exponents={} if factor is None else _local_exponents(problem, solution, factor),
        bars={"error": solution.error_bars["estimation_error"]},
        notes=(*solution.notes, *_notes(p, law, solution)),
        prediction=solution,
        learned=int((p.theta > t).sum()),
        weight_decay_max=weight_decay_of_nothing(p),
    )


def _local_exponents(problem: DiagonalProblem, here: DiagonalSolution, factor: float) -> dict[str, float]:
    """Slopes of the exact error between a factor below and above, as far as the fields go; none of an error of zero."""
    found = {}
    for name, field, number in (("n", "alpha", ALPHA), ("weight_decay", "weight_decay", WEIGHT_DECAY)):
        value = getattr(problem, field)
        if value == 0.0 or not here.estimation_error > 0.0:
            continue
        low = max(value / factor, number.at_least or 0.0)
        high = min(value * factor, number.at_most or 0.0)
        if problem.weight_decay == 0.0:  # the error diverges at alpha = 1: stay on this side of it
            low, high = (max(low, sqrt(value)), high) if value > 1.0 else (low, min(high, sqrt(value)))
        ends = [solve(problem.replace(**{field: end}), init=here).estimation_error for end in (low, high)]
        if min(ends) > 0.0:
            found[name] = log(ends[1] / ends[0]) / log(high / low)
    return found


def _notes(p: PowerProblem, law: ScalingLaw, solution: DiagonalSolution) -> tuple[str, ...]:
    """What is a leading order only, and what has no exponent here."""
    said = []
    if law.phase in ("IV", "V"):
        said.append(
            "IV and V are not apart: the error is about the sum of both laws, both have factors of log(d/n), and "
            "neither exponent can be read off the error; the composite law has both."
        )
    if law.phase == "peak":
        said.append("at the peak there is no exponent in n: the error falls to both sides.")
    if p.weight_decay == 0.0:
        said.append("without weight decay there is no exponent in it: the error is that of the limit 0+.")
    if not law.exact:
        said.append(
            f"the law of phase {law.phase} is a leading order, and boundaries are right within a factor of about two; "
            "that of Ib is the median over data."
        )
    error = solution.estimation_error
    if not (isfinite(law.value) and law.value > 0.0 < error and abs(log(law.value / error)) < APART):
        said.append(
            f"here the law says {law.value:.3g} and the exact error is {error:.3g}: it is not far inside of its phase."
        )
    return tuple(said)
