"""`presage.scaling` of this model: the phase of a problem, the law there, and what the exact error does around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any, final

from presage.models.attention.declaration import SCALING
from presage.models.attention.problem import Problem
from presage.models.attention.theory.scaling.caveats import caveats_of
from presage.models.attention.theory.scaling.composite import composite_law, learned_above
from presage.models.attention.theory.scaling.curve import curve_in_samples
from presage.models.attention.theory.scaling.law_here import law_here
from presage.models.attention.theory.scaling.local_exponents import local_exponents
from presage.models.attention.theory.scaling.neighbours import neighbours
from presage.models.attention.theory.scaling.phase import PHASES, phase_by_structure
from presage.models.attention.theory.scaling.quadratic_equivalent import QuadraticEquivalent, quadratic_equivalent
from presage.models.attention.theory.solution import Solution
from presage.models.attention.theory.solve import ExplicitMap, solve
from presage.protocol import checks
from presage.protocol.model import found
from presage.protocol.scaling import Boundary, Scaling, ScalingCurve

# Numbers that take longer than all the rest, each with the place of the function that has it: of a problem and its
# solution it makes a named tuple with that name. In the declaration they are observables that are `costly`.
FURTHER: dict[str, str] = {}
FACTOR = 3.0  # either side of a point, over which a local exponent is taken
LARGEST_FACTOR = 1e3


@final
@dataclass(frozen=True)
class PowerLawScaling(Scaling):
    """Scaling of a matrix model whose target's eigenvalues fall as a power of their rank.

    Numbers of `FURTHER` are computed when they are first asked for.
    """

    learned: int  # K, features of the target that are learned
    prediction: Solution  # the exact one that all of it is about

    observables = SCALING
    phases = PHASES

    @property
    def d(self) -> int:
        """The number of eigenvalues of the target, at which samples are counted."""
        return int(self.problem.target.d)

    def curve(self) -> ScalingCurve:
        return curve_in_samples(self.problem, self.phase, self.error)

    @cached_property
    def _computed(self) -> dict[str, Any]:
        """What the functions of `FURTHER` returned, by their places."""
        return {}

    def __getattr__(self, name: str) -> Any:
        """A number of `FURTHER`, computed once."""
        if name not in FURTHER:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        place = FURTHER[name]
        if place not in self._computed:
            self._computed[place] = found(place)(self.prediction.problem, self.prediction)
        return getattr(self._computed[place], name)


def scaling(problem: Problem, *, factor: float | None = FACTOR) -> PowerLawScaling:
    """Find the phase of a problem whose target is a power law, with its law, boundaries and local exponents.

    For quadratic networks and linear attention with weight decay. The exact error and the local exponents are those of
    `solve`; the phase is read off the structure of that solution (`phase_by_structure`), the law is the leading order
    there. `factor` is how far either side of the point a local exponent is taken, in samples and in weight decay; None
    leaves the local exponents out, which is several times as quick: a map needs no more.

    Equation: derived.
    Checked: tests/models/attention/theory/scaling/test_phase.py::test_every_phase_has_a_point
    Checked: tests/models/attention/theory/scaling/test_answer.py::test_a_report_reads_well
    """
    if factor is not None:
        reason, remedy = "it is how far either side of the point an exponent is taken", "Use <factor=3.0>."
        factor = checks.real("factor", factor, above=1.0, at_most=LARGEST_FACTOR, reason=reason, remedy=remedy)
    equivalent = quadratic_equivalent(problem)
    place = equivalent.place
    start = composite_law(place.units, place.alpha, place.L, place.D)
    solution = _of_a_wide_student(problem, equivalent, (start.delta, start.c))
    a = sqrt(equivalent.error)
    delta, c = solution.delta / a, solution.cutoff / a
    phase = phase_by_structure(place, delta, c, empty=solution.rank == 0.0)
    learned = place.units.above(learned_above(delta, c)) if solution.rank > 0.0 else 0
    is_exact = phase == "Ib" or (phase in ("III", "VIb") and _cuts_nothing(solution))
    edges = tuple(
        Boundary(edge.field, edge.value * equivalent.units[edge.field], edge.here, edge.there, edge.exact)
        for edge in neighbours(place, phase)
    )
    return PowerLawScaling(
        problem=problem,
        law=law_here(place, phase, equivalent.error, is_exact),
        boundaries=edges,
        error=solution.estimation_error,
        composite=equivalent.error * start.error,
        local_exponents={} if factor is None else local_exponents(problem, place, factor),
        bars={"error": solution.bars["estimation_error"]},
        notes=caveats_of(problem, equivalent, phase, learned, is_exact, solution),
        learned=learned,
        prediction=solution,
    )


def _of_a_wide_student(problem: Problem, equivalent: QuadraticEquivalent, start: tuple[float, float]) -> Solution:
    """The solution for a student that is wide enough, at the same weight decay in terms of S."""
    a = sqrt(equivalent.error)
    wide = problem
    if problem.kappa < 1.0:
        wide = problem.replace(kappa=1.0, weight_decay=equivalent.place.L * a)
    return solve(wide, solver=ExplicitMap(start=(a * start[0], a * start[1])))


def _cuts_nothing(solution: Solution) -> bool:
    """Whether the cutoff is below the whole spectrum: the rank is one, and the law of III and VIb an identity."""
    return bool(solution.spectrum.free.support[0, 0] > solution.cutoff)
