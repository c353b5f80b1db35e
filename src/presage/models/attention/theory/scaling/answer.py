"""`presage.scaling` of this model: the phase of a problem, the law there, and what the exact error does around it."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import final

from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.declaration import SCALING
from presage.models.attention.problem import Problem
from presage.models.attention.theory.decomposition import threshold
from presage.models.attention.theory.scaling.caveats import caveats_of, far_from_law
from presage.models.attention.theory.scaling.composite import composite_law
from presage.models.attention.theory.scaling.curve import curve_in_samples
from presage.models.attention.theory.scaling.law_here import law_here
from presage.models.attention.theory.scaling.local_exponents import local_exponents
from presage.models.attention.theory.scaling.neighbours import neighbours
from presage.models.attention.theory.scaling.phase import PHASES, phase_by_structure
from presage.models.attention.theory.scaling.pruning import Pruning
from presage.models.attention.theory.scaling.quadratic_equivalent import (
    QuadraticEquivalent,
    must_have_weight_decay,
    power_law_of,
    quadratic_equivalent,
)
from presage.models.attention.theory.scaling.softmax_equivalent import softmax_equivalent
from presage.models.attention.theory.scaling.softmax_scaling import SoftmaxScaling, softmax_scaling
from presage.models.attention.theory.scaling.tuned import Tuned, tuned
from presage.models.attention.theory.solution import Solution
from presage.models.attention.theory.solve import ExplicitMap, solve
from presage.protocol import checks
from presage.protocol.scaling import Boundary, Scaling, ScalingCurve

FLOORS = ("test_error_above_floor", "test_floor", "estimation_floor")
FACTOR = 3.0  # either side of a point, over which a local exponent is taken
LARGEST_FACTOR = 1e3


@final
@dataclass(frozen=True)
class PowerLawScaling(Scaling):
    """Scaling of a matrix model whose target's eigenvalues fall as a power of their rank.

    For softmax attention `error` is ``R' = |S_fit/scale - S_0|_F^2/d``, which has the laws of a quadratic network; the
    estimation error has none. Tuning and pruning are left out where the local exponents are, and for a softmax.
    """

    learned: int  # K, features of the target that are learned
    prediction: Solution  # the exact one that all of it is about
    tuned: Tuned | None  # the best weight decay beside the best of all methods
    pruning: Pruning | None  # what can be mended after training
    softmax: SoftmaxScaling | None  # floors, and the quadratic network that softmax attention is

    observables = SCALING
    phases = PHASES

    @property
    def d(self) -> int:
        """The number of eigenvalues of the target, at which samples are counted."""
        return int(self.problem.target.d)

    @property
    def best_weight_decay(self) -> float:
        """Weight decay of least error; nan where it was left out."""
        return nan if self.tuned is None else self.tuned.weight_decay.lambda_tilde / sqrt(self.problem.kappa)

    @property
    def best_error(self) -> float:
        """Error at the best weight decay."""
        return nan if self.tuned is None else self.tuned.weight_decay.error

    @property
    def best_exponent(self) -> float:
        """Exponent in n of the error at the best weight decay, and of the Bayes-optimal one: -1 + 1/(2 gamma)."""
        return nan if self.tuned is None else self.tuned.weight_decay.law.exponent

    @property
    def bayes_error(self) -> float:
        """Least error of any method."""
        return nan if self.tuned is None else self.tuned.bayes.error

    @property
    def ratio(self) -> float:
        """Error at the best weight decay over the least of any method."""
        return nan if self.tuned is None else self.tuned.ratio

    @property
    def ratio_limit(self) -> float:
        """To which that tends for many features: 3 gamma/(1 + gamma)."""
        return nan if self.tuned is None else self.tuned.ratio_limit

    @property
    def pruned_error(self) -> float:
        """Error after the bulk of the learned matrix is cut off."""
        return nan if self.pruning is None else self.pruning.pruned_error

    @property
    def reshrunk_error(self) -> float:
        """Error after each kept eigenvalue of the learned matrix is moved to its best place."""
        return nan if self.pruning is None else self.pruning.reshrunk_error

    @property
    def test_error_above_floor(self) -> float:
        """Of a softmax: test error less what is left of it with infinitely many samples."""
        return nan if self.softmax is None else self.softmax.test_error_above_floor

    @property
    def test_floor(self) -> float:
        """Of a softmax: test error with infinitely many samples."""
        return nan if self.softmax is None else self.softmax.test_floor

    @property
    def estimation_floor(self) -> float:
        """Of a softmax: estimation error with infinitely many samples."""
        return nan if self.softmax is None else self.softmax.estimation_floor

    def curve(self) -> ScalingCurve | None:
        return curve_in_samples(self.problem, self.phase, self.error) if self.softmax is None else None

    def _lines(self) -> list[str]:
        known = {one.name: one for one in self.known_observables}
        further = [known[name] for name in FURTHER if name in known]
        return [*super()._lines(), *(f"{one.name:<25} {getattr(self, one.name):.6g}  {one.words}" for one in further)]


FURTHER = (
    "best_weight_decay",
    "best_error",
    "best_exponent",
    "bayes_error",
    "ratio",
    "ratio_limit",
    "pruned_error",
    "reshrunk_error",
    *FLOORS,
)


def scaling(problem: Problem, *, factor: float | None = FACTOR) -> PowerLawScaling:
    """Find the phase of a problem whose target is a power law, with its law, boundaries and local exponents.

    For quadratic networks, linear and softmax attention with weight decay. The exact error and the local exponents are
    those of `solve`; the phase is read off the structure of that solution (`phase_by_structure`), the law is the
    leading order there. `factor` is how far either side of the point a local exponent is taken, in samples and in
    weight decay; None leaves out local exponents, tuning and pruning, which is several times as quick: a map needs no
    more.

    Equation: derived.
    Checked: tests/models/attention/theory/scaling/test_phase.py::test_every_phase_has_a_point
    Checked: tests/models/attention/theory/scaling/test_answer.py::test_a_report_reads_well
    """
    if factor is not None:
        reason, remedy = "it is how far either side of the point an exponent is taken", "Use <factor=3.0>."
        factor = checks.real("factor", factor, above=1.0, at_most=LARGEST_FACTOR, reason=reason, remedy=remedy)
    if isinstance(problem.channel, Softmax):
        return _of_softmax(problem, factor)
    equivalent = quadratic_equivalent(problem)
    place = equivalent.place
    start = composite_law(place.units, place.alpha, place.L, place.D)
    a = sqrt(equivalent.error)
    wide = _wide(problem, equivalent.place.L * a)
    solution = solve(wide, solver=ExplicitMap(start=(a * start.delta, a * start.c)))
    phase, learned = _structure(equivalent, solution)
    is_exact = phase == "Ib" or (phase in ("III", "VIb") and solution.rank == 1.0)
    best = None if factor is None else tuned(problem)
    law = law_here(place, phase, equivalent.error, is_exact)
    about = caveats_of(problem, equivalent, phase, learned, is_exact, solution)
    about += far_from_law(law.value, solution.estimation_error)
    return PowerLawScaling(
        problem=problem,
        law=law,
        boundaries=_boundaries(equivalent, phase),
        error=solution.estimation_error,
        composite=equivalent.error * start.error,
        local_exponents={} if factor is None else local_exponents(problem, place, factor),
        bars={"error": solution.bars["estimation_error"]},
        notes=about if best is None else (*about, *best.notes),
        learned=learned,
        prediction=solution,
        tuned=best,
        pruning=None if factor is None or solution.rank == 0.0 else Pruning(solution),
        softmax=None,
    )


def _of_softmax(problem: Problem, factor: float | None) -> PowerLawScaling:
    """The same for softmax attention: the laws are those of R', in terms of noise level and cutoff."""
    power_law_of(problem)
    must_have_weight_decay(problem)
    wide = _wide(problem, problem.penalty.scaling * sqrt(problem.kappa))
    solution = solve(wide)
    found = softmax_scaling(wide, solution, factor=factor)
    equivalent = softmax_equivalent(problem, solution, found)
    place = equivalent.place
    phase, learned = _structure(equivalent, solution)
    composite = composite_law(place.units, place.alpha, place.L, place.D)
    law = law_here(place, phase, equivalent.error, False)
    about = caveats_of(problem, equivalent, phase, learned, False, solution)
    return PowerLawScaling(
        problem=problem,
        law=law,
        boundaries=_boundaries(equivalent, phase) if found.well_sampled else (),
        error=found.R_prime,
        composite=equivalent.error * composite.error,
        local_exponents=found.local_exponents.get("R_prime", {}),
        bars={"error": found.bars["R_prime"], **{name: found.bars[name] for name in FLOORS}},
        notes=(*about, *far_from_law(law.value, found.R_prime), *found.notes),
        learned=learned,
        prediction=solution,
        tuned=None,
        pruning=None,
        softmax=found,
    )


def _structure(equivalent: QuadraticEquivalent, solution: Solution) -> tuple[str, int]:
    """Phase of a solution, and how many features are learned."""
    place, a = equivalent.place, sqrt(equivalent.error)
    delta, c = solution.delta / a, solution.cutoff / a
    learned = place.units.above(threshold(delta, c)) if solution.rank > 0.0 else 0
    return phase_by_structure(place, delta, c, empty=solution.rank == 0.0), learned


def _boundaries(equivalent: QuadraticEquivalent, phase: str) -> tuple[Boundary, ...]:
    return tuple(
        Boundary(edge.field, edge.value * equivalent.units[edge.field], edge.here, edge.there, edge.exact)
        for edge in neighbours(equivalent.place, phase)
    )


def _wide(problem: Problem, lambda_tilde: float) -> Problem:
    """The problem of a student that is wide enough, at the same weight decay in terms of S."""
    return problem if problem.kappa >= 1.0 else problem.replace(kappa=1.0, weight_decay=lambda_tilde)
