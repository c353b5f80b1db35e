"""Which problems have a flow that is known, whoever follows it: complaints that theory and networks share."""

from __future__ import annotations

from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.population_descent import PopulationDescent
from presage.models.attention.population_flow import PopulationFlow
from presage.models.attention.problem import Problem
from presage.protocol import checks


def check_population(problem: Problem, trainer: PopulationFlow | PopulationDescent) -> None:
    """Complain about outputs that are not linear in S, about an S without a factor, and about a start of no room."""
    if not problem.channel.linear:
        reason = "the loss of infinitely many samples is a square of S - S_0 for outputs that are scores themselves"
        remedy = "Use <quadratic_network> or <linear_attention>, or leave the <trainer> out."
        raise checks.complaint("problem", "have a linear channel here", reason, problem.channel, remedy)
    if not problem.penalty.factorized:
        reason, remedy = "the factor W of S is what flows", "Use <trainer=MatrixFlow()>, or <quadratic_network>."
        raise checks.complaint("problem", "be of a network with a factor W", reason, problem.penalty, remedy)
    if trainer.eps is not None and problem.kappa < 1.0:
        reason = "a student of fewer columns than rows has no W W' that is a multiple of one"
        remedy = "Use <kappa=1.0>, or Gaussian weights, <trainer=PopulationFlow(deviation=0.1)>."
        raise checks.complaint("kappa", "be at least 1 for a start of eps 1", reason, problem.kappa, remedy)


def check_matrix(problem: Problem) -> float:
    """The ridge of a matrix that is trained itself with linear outputs; complain about other problems."""
    if not problem.channel.linear:
        reason = "the way of a softmax, or of another output that is not linear, is not known from finite samples"
        remedy = "Use <unfactorized_linear_attention>, or leave the <trainer> out for message passing."
        raise checks.complaint("problem", "have a linear channel here", reason, problem.channel, remedy)
    if not isinstance(problem.penalty, Frobenius):
        reason = "from finite samples the way is known of a matrix S that is trained itself, with a ridge or none"
        remedy = "Use <unfactorized_linear_attention>, or <trainer=PopulationFlow()> for a factor W."
        raise checks.complaint("problem", "have a Frobenius penalty here", reason, problem.penalty, remedy)
    return problem.penalty.ridge
