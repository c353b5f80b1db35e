"""The quadratic network in whose phase diagram a problem lies, and how its samples and weight decay count there."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from presage.laws.power_law import PowerLaw
from presage.models.attention.channels.linear import Linear
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory.scaling.peak import saturation
from presage.models.attention.theory.scaling.phase import Place
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from presage.protocol import checks

LEAST_GAMMA = 0.5


class QuadraticEquivalent(NamedTuple):
    """A place in the phase diagram, and the problem's own units: what one of its numbers is there."""

    place: Place
    n: float  # samples of the problem at ``alpha = 1`` of the diagram
    weight_decay: float  # weight decay of the problem at ``L = 1`` of the diagram
    error: float  # error of the problem at ``R = 1`` of the diagram

    @property
    def units(self) -> dict[str, float]:
        """What ``alpha = 1`` and ``L = 1`` are in the fields of the problem."""
        return {"n": self.n, "weight_decay": self.weight_decay}


def quadratic_equivalent(problem: Problem) -> QuadraticEquivalent:
    """The place of a problem in the phase diagram of quadratic networks; refuse one that has none.

    Linear attention is a quadratic network at ``alpha L_in``; a plain target ``i^-g`` is one of second moment one at
    ``(n, L/a, D/a^2)`` with ``a = sqrt(Z/d)``; a width kappa enters by ``L = sqrt(kappa) weight_decay``.

    Equation: [ETZK25] for ``alpha L_in``; derived for the units.
    Checked: tests/models/attention/theory/scaling/test_power_law_units.py::test_a_plain_target_is_a_normalized_one
    Checked: tests/models/attention/theory/scaling/test_answer.py::test_linear_attention_counts_its_components
    Checked: tests/models/attention/theory/scaling/test_answer.py::test_what_has_no_scaling_law_is_refused
    """
    target = power_law_of(problem)
    _linear_channel(problem)
    must_have_weight_decay(problem)
    units, components = PowerLawUnits.of(target), problem.channel.n_in
    a = units.size
    weight_decay = a / sqrt(problem.kappa)
    D = problem.noise / a**2
    place = Place(
        units=units,
        alpha=problem.alpha * components,
        L=problem.penalty.scaling / weight_decay,
        D=D,
        saturated=saturation(target, problem.noise) if D > 0.0 else None,
    )
    return QuadraticEquivalent(place, target.d**2 / components, weight_decay, a**2)


def power_law_of(problem: Problem) -> PowerLaw:
    """The target of a problem, if the laws are known for it."""
    target = problem.target
    if not isinstance(target, PowerLaw):
        raise checks.complaint(
            "target",
            "be a PowerLaw",
            "a scaling law is what eigenvalues that fall as a power of their rank make of the error; "
            "of another spectrum the error has no exponent",
            target,
            "Use for example <target=PowerLaw(1.25, 1000)>, or <solve()> at several <alpha>.",
        )
    if target.gamma <= LEAST_GAMMA:
        raise checks.complaint(
            "target",
            "have gamma above 1/2",
            "up to there most of the second moment is in the smallest eigenvalues, sum i^(-2 gamma) grows with d, and "
            "the prefactors 1/(2 gamma - 1) of the laws diverge",
            target,
            "Use for example <target=PowerLaw(1.25, 1000)>, or <solve()>, which takes any gamma.",
        )
    return target


def _linear_channel(problem: Problem) -> None:
    if not isinstance(problem.channel, Linear):
        raise checks.complaint(
            "channel",
            "be Linear or Softmax",
            "the laws are those of the square loss on a linear output, and of softmax attention",
            problem.channel,
            "Use <quadratic_network()>, <linear_attention()> or <attention()>, or <solve()> at several <alpha>.",
        )


def must_have_weight_decay(problem: Problem) -> None:
    """Refuse another penalty, or none."""
    if not isinstance(problem.penalty, NuclearPSD):
        raise checks.complaint(
            "penalty",
            "be NuclearPSD",
            "the laws are those of weight decay on the factors, which cuts small eigenvalues; another penalty learns "
            "features otherwise",
            problem.penalty,
            "Use NuclearPSD(0.01), or <solve()> at several <alpha>.",
        )
    problem.must_have_a_penalty()
