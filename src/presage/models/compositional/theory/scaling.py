"""The scaling law of strengths that fall as a power: features one by one make a power law of the error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, log
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.compositional.declaration import SCALING
from presage.models.compositional.links import IdentityLink
from presage.models.compositional.problem import CompositionalProblem
from presage.models.compositional.theory.outliers import overlap_of_weak_labels
from presage.models.compositional.theory.solution import solve
from presage.protocol import checks
from presage.protocol.scaling import Boundary, Scaling, ScalingCurve, ScalingLaw

FACTOR = 3.0  # by which samples are turned either way for a local exponent: the sum is a staircase
APART = 0.2  # of the logarithm of the error, by which the law of a phase may differ before that is said
EQUAL = 0.5  # decay at which both ends of the features weigh the same
CLOSE = 0.02  # distance from there within which the prefactor of a law is far off
POINTS, REACH = 61, 100.0  # of a curve, and how far it goes either way, as a factor


class PowerFeatures(NamedTuple):
    """Strengths ``lam_i = Z i^-g`` of so many features, and samples over D."""

    g: float
    features: int
    alpha: float

    @property
    def Z2(self) -> float:
        """``Z^2 = 1/sum_i i^-2g``."""
        return 1.0 / float(np.sum(np.arange(1, self.features + 1, dtype=np.float64) ** (-2.0 * self.g)))

    @property
    def learned(self) -> float:
        """How many features stand out, as a continuum: ``m = (2 Z^2 alpha)^(1/2g)``.

        Equation: [WTDKL26], ``m_n = (Z^2 n/D)^(1/(2g))``, here with its constant: ``n_m = D/(2 lam_m^2) = n``
        Checked: tests/models/compositional/test_scaling.py::test_number_of_learned_features
        """
        return float((2.0 * self.Z2 * self.alpha) ** (0.5 / self.g))


def error_in_sequence(p: PowerFeatures) -> float:
    """Error while features are learned one by one, g > 1/2: ``Z^2 m^(1-2g) [2 - 1/(2g+1) + 1/(2g-1)]``.

    It falls as ``alpha^(-1 + 1/(2g))``.

    Equation: derived: ``sum_i lam_i^2 (1 - cos_i^4)`` with ``cos_i^2 = 1 - (i/m)^2g``, the sum an integral; the
        exponent is that of [WTDKL26].
    Checked: tests/models/compositional/test_scaling.py::test_slope_of_the_error_is_the_published_one
    """
    g = p.g
    return float(p.Z2 * p.learned ** (1.0 - 2.0 * g) * (2.0 - 1.0 / (2.0 * g + 1.0) + 1.0 / (2.0 * g - 1.0)))


def error_of_slow_strengths(p: PowerFeatures) -> float:
    """Error while features are learned one by one, g < 1/2: ``1 - (m/d_1)^(1-2g) [1 - 2(1-2g) + (1-2g)/(1+2g)]``.

    With ``(m/d_1)^(1-2g) = (2 (1-2g) alpha/d_1)^(1/(2g) - 1)``.

    Equation: derived: ``sum_i lam_i^2 cos_i^4`` as an integral; the exponent of what is learned is that of [WTDKL26].
    Checked: tests/models/compositional/test_scaling.py::test_slow_strengths_are_learned_at_the_published_rate
    """
    g = p.g
    share = (p.learned / p.features) ** (1.0 - 2.0 * g)
    return float(1.0 - share * (1.0 - 2.0 * (1.0 - 2.0 * g) + (1.0 - 2.0 * g) / (1.0 + 2.0 * g)))


def error_of_all_learned(p: PowerFeatures) -> float:
    """Error where every feature stands out far: ``(d_1 + 4)/alpha``, whatever the strengths.

    Equation: derived: ``sum_i 2 lam_i^2 (1 - cos_i^2)`` with ``1 - cos_i^2 = (1 + 4 lam_i^2)/(2 alpha lam_i^2)``.
    Checked: tests/models/compositional/test_scaling.py::test_error_of_many_samples
    """
    return (p.features + 4.0) / p.alpha


def error_of_continuum(p: PowerFeatures) -> float:
    """The law of all phases: ``sum_i lam_i^2 (1 - cos_i^4)`` with the overlaps of weak labels.

    Equation: derived: `error_of_layers` for plain labels.
    Checked: tests/models/compositional/test_scaling.py::test_error_of_many_samples
    """
    power = np.arange(1, p.features + 1, dtype=np.float64) ** (-2.0 * p.g)
    squares = power / power.sum()
    overlap = overlap_of_weak_labels(0.5 / (squares * p.alpha), 1.0 + 4.0 * squares)
    return float(np.sum(squares * (1.0 - overlap**2)))


class Phase(NamedTuple):
    """What is said of a phase."""

    words: str
    formula: str
    law: Callable[[PowerFeatures], float]
    exponents: Callable[[float], dict[str, float]]


PHASES = {
    "none": Phase("no feature stands out of the noise", "1", lambda p: 1.0, lambda g: {"n": 0.0}),
    "sequence": Phase(
        "features are learned one after the other, the strongest first",
        "Z^2 m^(1-2g) (2 - 1/(2g+1) + 1/(2g-1)), m = (2 Z^2 alpha)^(1/2g)",
        error_in_sequence,
        lambda g: {"n": -1.0 + 0.5 / g},
    ),
    "slow": Phase(
        "features are learned one after the other, and the many weak ones weigh most",
        "1 - (m/d_1)^(1-2g) (1 - 2(1-2g) + (1-2g)/(1+2g)), m = (2 Z^2 alpha)^(1/2g)",
        error_of_slow_strengths,
        lambda g: {},
    ),
    "all": Phase(
        "every feature is learned, and comes with less and less noise",
        "(d_1 + 4)/alpha",
        error_of_all_learned,
        lambda g: {"n": -1.0},
    ),
}


@final
@dataclass(frozen=True)
class CompositionalScaling(Scaling):
    """Phase, law, boundaries and local exponent of strengths that fall as a power; the number of samples is over D."""

    learned: int  # features that stand out

    observables = SCALING
    phases = tuple(PHASES)

    def curve(self) -> ScalingCurve:
        """The error against samples over D around the point, with the laws of the phases on its way."""
        return _curve(self)


def scaling(problem: CompositionalProblem, *, factor: float | None = FACTOR) -> CompositionalScaling:
    """Phase, law, boundaries and local exponent of strengths ``Z i^-decay``, in samples over D.

    Args:
        problem: diagonal and with plain labels: the laws are of those.
        factor: by which samples are turned up and down for the local exponent; None leaves it out.
    """
    if factor is not None:
        reason, remedy = "the error is compared above and below", "Use for example <factor=3.0>."
        factor = checks.real("factor", factor, above=1.0, at_most=1e3, reason=reason, remedy=remedy)
    p = _power_features(problem)
    solution = solve(problem)
    phase = phase_of(p)
    said = PHASES[phase]
    law = ScalingLaw(phase, said.words, said.formula, said.law(p), said.exponents(p.g), False)
    notes = list(solution.notes)
    if not (law.value > 0.0 and abs(log(law.value / solution.test_error)) < APART):
        error = solution.test_error
        notes.append(f"here the law says {law.value:.3g} and the error is {error:.3g}: it is not far inside its phase.")
    if abs(p.g - EQUAL) < CLOSE and phase in ("sequence", "slow"):
        notes.append(
            f"a decay within {CLOSE:g} of 1/2 has next to a logarithm in place of a power: the law of the phase is of "
            "no use near 1/2, the composite one is."
        )
    if phase == "slow":
        notes.append("with a decay below 1/2 the error has no exponent: what is learned grows as n^(1/(2g) - 1).")
    local = {}
    if factor is not None:
        ends = [error_of_continuum(p._replace(alpha=p.alpha * f)) for f in (1.0 / factor, factor)]
        local["n"] = log(ends[1] / ends[0]) / (2.0 * log(factor))
    return CompositionalScaling(
        problem=problem,
        law=law,
        boundaries=_boundaries(p),
        error=solution.test_error,
        composite=error_of_continuum(p),
        local_exponents=local,
        bars={"error": solution.error_bars["test_error"]},
        notes=tuple(notes),
        learned=solution.learned,
    )


def phase_of(p: PowerFeatures) -> str:
    """Which part of the features stands out: none, some or all."""
    first, last = _ends(p)
    if p.alpha < first:
        return "none"
    if p.alpha >= last:
        return "all"
    return "sequence" if p.g > EQUAL else "slow"


def _ends(p: PowerFeatures) -> tuple[float, float]:
    """Samples over D at which the first and the last feature stand out."""
    first = 0.5 / p.Z2
    return first, first * p.features ** (2.0 * p.g)


def _boundaries(p: PowerFeatures) -> tuple[Boundary, ...]:
    first, last = _ends(p)
    middle = "sequence" if p.g > EQUAL else "slow"
    names = [("none", middle, first), (middle, "all", last)] if last > first else [("none", "all", first)]
    return tuple(
        Boundary("alpha", at, low if p.alpha < at else high, high if p.alpha < at else low, False)
        for low, high, at in names
    )


def _power_features(problem: CompositionalProblem) -> PowerFeatures:
    reason = "a law is about strengths Z i^-decay and labels as they are"
    if problem.decay is None:
        remedy = 'Use <mixing="diagonal"> with <decay=1.0>; <solve()> takes any.'
        raise checks.complaint("decay", "be given here", reason, problem.decay, remedy)
    if not isinstance(problem.link, IdentityLink):
        remedy = "Leave it out; <solve()> takes any."
        raise checks.complaint("link", "be the identity here", reason, problem.link, remedy)
    if problem.clip is not None:
        raise checks.complaint("clip", "be left out here", reason, problem.clip, "Leave it out; <solve()> takes any.")
    if problem.decay in (0.0, EQUAL):
        raise checks.complaint(
            "decay",
            "be positive, and not 0.5",
            "equal features come all at once, and at 0.5 the law has a logarithm in place of a power",
            problem.decay,
            "Use for example <decay=1.0>; <solve()> takes any.",
        )
    return PowerFeatures(problem.decay, problem.features, problem.alpha)


def _curve(found: CompositionalScaling) -> ScalingCurve:
    p = _power_features(found.problem)
    x = np.geomspace(p.alpha / REACH, p.alpha * REACH, POINTS)
    first, last = _ends(p)
    middle = "sequence" if p.g > EQUAL else "slow"
    spans = [("none", float(x[0]), first), (middle, first, last), ("all", last, float(x[-1]))]
    passed = tuple(
        (name, max(low, float(x[0])), min(high, float(x[-1])))
        for name, low, high in spans
        if min(high, float(x[-1])) > max(low, float(x[0]))
    )
    error = _along(error_of_continuum, p, x)
    laws = {}
    for name, low, high in passed:
        inside = x[(x >= low) & (x <= high)]
        said = _along(PHASES[name].law, p, inside)
        good = np.isfinite(said) & (said > 0.0)
        laws[name] = inside[good], said[good]
    walls = tuple(b for b in found.boundaries if isfinite(b.value) and x[0] < b.value < x[-1])
    return ScalingCurve("alpha", p.alpha, x, error, (x, error), laws, passed, walls)


def _along(law: Callable[[PowerFeatures], float], p: PowerFeatures, x: Floats) -> Floats:
    return np.array([law(p._replace(alpha=float(a))) for a in x])
