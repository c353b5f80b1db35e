"""The quadratic network in whose phase diagram softmax attention lies."""

from __future__ import annotations

from math import sqrt

from presage.models.attention.problem import Problem
from presage.models.attention.theory.explicit_map import explicit_map
from presage.models.attention.theory.scaling.peak import saturation
from presage.models.attention.theory.scaling.phase import Place
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from presage.models.attention.theory.scaling.quadratic_equivalent import QuadraticEquivalent, power_law_of
from presage.models.attention.theory.scaling.softmax_scaling import SoftmaxScaling
from presage.models.attention.theory.solution import Solution


def softmax_equivalent(problem: Problem, solution: Solution, found: SoftmaxScaling) -> QuadraticEquivalent:
    """The quadratic network that learns the same matrix, up to its scale.

    With many noisy samples it has ``alpha' = alpha M/4`` and ``Delta' = M V/2`` at the same weight decay. Otherwise it
    is the one of the same noise whose samples and weight decay give this noise level and cutoff: its laws hold, but not
    how samples and weight decay of the softmax enter them.

    Equation: derived: ``S/scale`` is the shrunk ``S_0 + delta GOE`` in both.
    Checked: tests/models/attention/theory/scaling/test_softmax_answer.py::test_the_equivalent_network_learns_the_same
    Checked:
        tests/models/attention/theory/scaling/test_softmax_answer.py::test_a_plain_target_is_placed_in_units_of_second_moment_one
    """
    target = power_law_of(problem)
    units = PowerLawUnits.of(target)
    a = units.size
    (alpha, noise), L = found.effective, problem.penalty.scaling * sqrt(problem.kappa)
    if not found.well_sampled or problem.noise == 0.0:
        noise = problem.noise
        alpha, L = explicit_map(target, noise, solution.delta, solution.cutoff)
    place = Place(
        units=units,
        alpha=alpha,
        L=L / a,
        D=noise / a**2,
        saturated=saturation(target, noise) if noise > 0.0 else None,
    )
    n = problem.alpha * target.d**2
    return QuadraticEquivalent(place, n / place.alpha, problem.penalty.scaling / place.L, a**2)
