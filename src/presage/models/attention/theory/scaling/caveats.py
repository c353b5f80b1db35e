"""What to know before believing a scaling law: in plain sentences."""

from __future__ import annotations

from math import isfinite

from presage.models.attention.problem import Problem
from presage.models.attention.theory.scaling.peak import half_width, peak_height
from presage.models.attention.theory.scaling.phase import PHASES, Place, phase_by_boundaries
from presage.models.attention.theory.scaling.quadratic_equivalent import QuadraticEquivalent
from presage.models.attention.theory.solution import Solution

ASYMPTOTIC = (
    "the law is a leading order, and so are the boundaries: right within a factor of 2, but for those of Ib and "
    "between III and VIb, which are exact."
)
SEES_A_PLATEAU = 1e6  # d from which on the exponents of IV and V can be seen in the error
SHIFTED = 0.1  # of its half width: a peak that is further from 1/4 is lower than its law
MANY_FEATURES = 5  # from which on a sum over the learned ones is nearly an integral
FAR = 2.0  # a law that is off by more is said to be
NEAR_THE_THEORY = 40.0  # samples over d from which on trained networks follow the theory


def caveats_of(
    problem: Problem, equivalent: QuadraticEquivalent, phase: str, learned: int, is_exact: bool, solution: Solution
) -> tuple[str, ...]:
    """Sentences about the law of a phase at a place: what is asymptotic, and where no plateau exists."""
    place = equivalent.place
    said = [*solution.notes]
    if not is_exact:
        said.append(ASYMPTOTIC)
    said += [*_plateaus(place, phase), *_crossover(place, phase), *_composite(place, phase)]
    if phase == "peak":
        said += _peak(problem, equivalent)
    if not place.units.normalized:
        said.append(
            f"the target is plain, i^-gamma: in units of second moment one its noise is {place.D:.4g}, growing with d."
        )
    if problem.kappa < solution.rank:
        said.append(
            f"kappa = {problem.kappa:g} is below the rank {solution.rank:.4g}: all numbers here are those of a student "
            "that is wide enough, with the same weight decay in terms of S; solve has the error of the narrow one."
        )
    if phase in ("II", "IV") and learned < MANY_FEATURES:
        said.append(
            f"{learned} of the features {'is' if learned == 1 else 'are'} learned: the law is one of many, and the "
            "error is a staircase."
        )
    n_eff = place.alpha * place.units.d
    if n_eff < NEAR_THE_THEORY and phase not in ("Ia", "Ib"):
        said.append(
            f"there are {n_eff:.3g} samples a dimension (n/d, tokens counted): trained networks follow the theory to a "
            "few per cent from about 40 on, and are 5 to 20 % above it at 10, whatever d."
        )
    return tuple(said)


def far_from_law(law: float, error: float) -> tuple[str, ...]:
    """Where the law of a phase and the exact error are far apart, in words."""
    if error / FAR <= law <= FAR * error:
        return ()
    return (f"here the law says {law:.3g} and the exact error is {error:.3g}: the point is not far inside its phase.",)


def _peak(problem: Problem, equivalent: QuadraticEquivalent) -> list[str]:
    place, top = equivalent.place, equivalent.place.saturated
    if top is None or not isfinite(top.error):
        return []
    said = [
        f"the peak is at alpha = {top.alpha * problem.alpha / place.alpha:.6g} and saturates at an error of "
        f"{top.error * equivalent.error:.4g}: its law in weight decay holds far above "
        f"weight_decay = {top.weight_decay * equivalent.weight_decay:.2g} only. In n there is no power law here."
    ]
    if top.alpha - 0.25 > SHIFTED * half_width(peak_height(top, place.L, place.D), place.D):
        said.append(
            f"d = {place.units.d} is small for the law of the peak: the threshold of interpolation is as far from 1/4 "
            "as the peak is wide, or nearly, and the error stays below the law."
        )
    return said


def _plateaus(place: Place, phase: str) -> list[str]:
    g, d = place.units.gamma, place.units.d
    said = []
    if g < 1.0 and phase in ("IV", "V", "VIa", "peak"):
        said.append(
            f"gamma = {g:g} is below 1: no plateau exists at any d that can be computed, corrections to the exponents "
            "fall as (K/d)^(2 gamma - 1) only."
        )
    elif phase in ("IV", "V") and d < SEES_A_PLATEAU and place.D > 0.0:
        said.append(
            f"the exponent of {phase} cannot be read off the error at d = {d}: from IV it runs into V within a decade "
            f"of n, and a plateau needs d above {SEES_A_PLATEAU:g}. The error at the best weight decay shows IV."
        )
    return said


def _crossover(place: Place, phase: str) -> list[str]:
    number = phase_by_boundaries(place.units, place.alpha, place.L, place.D, place.saturated)
    name = PHASES[int(number)]
    if name == phase:
        return []
    return [f"this point is in the crossover between {phase} and {name}: the asymptotic boundaries put it in {name}."]


def _composite(place: Place, phase: str) -> list[str]:
    if place.units.gamma < 1.0 and phase in ("Ia", "IV", "V", "peak", "VIa"):
        return [
            "for gamma below 1 the features that are not learned shift the bulk: the composite law is up to half too "
            "high here."
        ]
    return []
