"""From a problem to its solution: picks the solver, and says in words what happened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

import numpy as np

from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.attention.theory import explicit_map as quadratic
from presage.models.attention.theory import fixed_point, ridge
from presage.models.attention.theory.interpolation import unpenalized_point
from presage.models.attention.theory.log_map import OBSERVABLES, State
from presage.models.attention.theory.order_parameters import Conjugates
from presage.models.attention.theory.rank_limited import cutoff_of_penalty, solve_rank_limited
from presage.models.attention.theory.rules.rule import Rule
from presage.models.attention.theory.solution import Solution
from presage.models.attention.theory.state_evolution import weight_side
from presage.models.attention.theory.unpenalized import solve_unpenalized
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.solving.newton import NoConvergenceError

JUMPS_WORTH_SAYING = 1e-3
UNKNOWN = 1.0  # a relative standard error above this leaves nothing of a number


class Solver(ABC):
    """A way to solve a problem."""

    @abstractmethod
    def solve(self, problem: Problem, *, init: Solution | None, tol: float) -> Solution:
        """Solve, or raise a SolveError that carries the best solution found."""


@final
@dataclass(frozen=True)
class ExplicitMap(Solver):
    """For linear channels (quadratic networks, linear attention): no fixed point, no sampling.

    `start` is a noise level and a cutoff that Newton's method begins with, for who knows them nearly.
    """

    start: tuple[float, float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        for value in self.start or ():
            reason, remedy = "it is a noise level and a cutoff", "Leave it out, or use for example <start=(1.0, 0.5)>."
            checks.real("start", value, above=0.0, reason=reason, remedy=remedy)

    def solve(self, problem: Problem, *, init: Solution | None, tol: float) -> Solution:
        if not problem.channel.linear:
            raise checks.complaint(
                "solver",
                "fit the channel",
                "the explicit map exists for linear channels only",
                self,
                "Leave solver out, or use StateEvolution().",
            )
        if not problem.penalty.closed_form:
            raise checks.complaint(
                "solver",
                "fit the penalty",
                "the explicit map exists for NuclearPSD and Frobenius only",
                self,
                "Leave solver out, or use StateEvolution().",
            )
        L, alpha = problem.channel.n_in, problem.alpha
        if isinstance(problem.penalty, NuclearPSD):
            strength = problem.penalty.lambda_tilde(problem.kappa)
            if problem.penalty.vanishes:
                point = unpenalized_point(problem.target, problem.noise, alpha * L)
                m_hat = 8.0 * (alpha * L - point.functionals.I)
            else:
                point = quadratic.solve_point(problem.target, problem.noise, alpha * L, strength, start=self.start)
                m_hat = 2.0 * strength / point.c
            if point.functionals.rank > problem.kappa:
                raise checks.complaint(
                    "solver",
                    "fit the width",
                    f"kappa = {problem.kappa:g} is below the rank {point.functionals.rank:.4g}, "
                    "and the explicit map is for students at least as wide as that",
                    self,
                    "Leave solver out, or use StateEvolution().",
                )
            conjugates = Conjugates(m_hat, (point.delta * m_hat) ** 2, m_hat)
            residual, count = point.residual, point.evaluations
            relative = residual + point.functionals.relative_error
        else:
            conjugates = ridge.conjugates(problem, alpha * L, problem.penalty.scaling)
            residual, count, relative = 0.0, 1, 1e-14
        message = "explicit map of a linear channel, no fixed point"
        about = {"message": message, "evaluations": count, "residual": residual}
        solution = _of_linear_channel(problem, conjugates, relative, **about)
        if residual > tol:
            raise SolveError(
                f"The two equations of the linear channel are met only to {residual:.1e}.",
                "Use a larger <weight_decay> or <noise>; or take error.partial as it is.",
                solution,
            )
        return solution


def _of_linear_channel(problem: Problem, conjugates: Conjugates, relative: float, **about: Any) -> Solution:
    """The solution of a linear channel, in closed form, from conjugates that are off by `relative` of themselves."""
    L = problem.channel.n_in
    side = weight_side(problem.penalty, problem.target, problem.kappa, conjugates)
    shrunk = 1.0 / (1.0 + 4.0 * side.overlaps.Sigma)
    test_error = 2.0 * L * (side.estimation_error + 0.5 * problem.noise)
    train_error = test_error * shrunk**2
    values = {
        "test_error": test_error,
        "train_error": train_error,
        "train_loss": problem.alpha * train_error + side.penalty,
        "estimation_error": side.estimation_error,
        "rank": side.rank,
        "square_slope": 16.0 * L * shrunk**2,
        **side.overlaps._asdict(),
        **conjugates._asdict(),
    }
    # Errors of delta and c enter every number; a factor ten covers their sensitivity away from the peak.
    bars = {name: 10.0 * relative * abs(value) + 1e-15 for name, value in values.items()}
    return Solution.of(problem, values, bars, **about)


@final
@dataclass(frozen=True)
class RankLimited(Solver):
    """For linear channels and students narrower than what they would learn: one equation, or state evolution."""

    lambda_tilde: float
    delta: float  # noise level of a student that is wide enough, where the search starts

    def solve(self, problem: Problem, *, init: Solution | None, tol: float) -> Solution:
        alpha = problem.alpha * problem.channel.n_in
        cutoff = partial(cutoff_of_penalty, alpha=alpha, lambda_tilde=self.lambda_tilde)
        start = self.delta if init is None else init.delta
        try:
            point = solve_rank_limited(problem.target, problem.noise, alpha, problem.kappa, cutoff, start=start)
        except NoConvergenceError:
            return StateEvolution().solve(problem, init=init, tol=tol)
        f = point.functionals
        m_hat = 2.0 * self.lambda_tilde / f.c
        message = "one equation in the noise level, by secants, for the largest eigenvalues that a narrow student keeps"
        about = {"message": message, "evaluations": point.evaluations, "residual": point.residual}
        conjugates = Conjugates(m_hat, (f.delta * m_hat) ** 2, m_hat)
        return _of_linear_channel(problem, conjugates, point.relative_error + f.relative_error, **about)


@final
@dataclass(frozen=True)
class StateEvolution(Solver):
    """For channels that need averages: Newton on the fixed point, with rules as fine as the accuracy asks for.

    `accuracy` is the relative standard error of test error, loss and rank, and decides how fine the first rule is. Left
    out it is 1e-4 for two tokens, 1e-3 for three, 3e-3 beyond; for a channel of one's own 1e-4, 3e-4, 1e-3 for one,
    two, three active directions. `most_nodes` bounds the points of an average (a quarter of it where points cost more:
    beyond two tokens, and for a channel of one's own), and where it is not enough the error bars say so.
    """

    accuracy: float | None = None
    most_nodes: int = 2**20
    seed: int = 0
    rule: Rule | None = None  # average with this rule only, however fine

    def __post_init__(self) -> None:
        remedy = "Leave it out, or use for example StateEvolution(accuracy=1e-4, most_nodes=2**20, seed=0)."
        if self.accuracy is not None:
            reason, smaller = "it is a relative standard error", "Leave it out, or use for example <accuracy=1e-4>."
            checks.real("accuracy", self.accuracy, above=0.0, at_most=1.0, reason=reason, remedy=smaller)
        reason = "it bounds the number of points of an average"
        nodes = checks.integer("most_nodes", self.most_nodes, at_least=2**17, reason=reason, remedy=remedy)
        reason = "it seeds the scrambled points"
        seed = checks.integer("seed", self.seed, at_least=0, reason=reason, remedy=remedy)
        if self.rule is not None:
            reason = "it says how averages over a sample are taken"
            checks.instance("rule", self.rule, Rule, reason=reason, remedy=remedy)
            if not self.rule.has_error_bar:
                reason = "scattered points show it by two replicates at least, a grid by a coarser one: 6 nodes or more"
                raise checks.complaint("rule", "show its own error", reason, self.rule, remedy)
        object.__setattr__(self, "most_nodes", nodes)
        object.__setattr__(self, "seed", seed)

    def solve(self, problem: Problem, *, init: Solution | None, tol: float) -> Solution:
        channel = problem.channel
        if channel.compiled:
            accuracy = self.accuracy or {2: 1e-4, 3: 1e-3}.get(channel.n_tokens, 3e-3)
            nodes = self.most_nodes if channel.n_tokens == 2 else self.most_nodes // 4
        else:
            accuracy = self.accuracy or {1: 1e-4, 2: 3e-4, 3: 1e-3}.get(channel.n_active, 3e-3)
            nodes = self.most_nodes // 4
        options: dict[str, Any] = {"most_nodes": nodes, "seed": self.seed, "rule": self.rule}
        try:
            if problem.penalty.vanishes and not channel.linear:
                found = solve_unpenalized(problem, accuracy=accuracy, tol=tol, **options)
            else:
                start = None if init is None else fixed_point.log_conjugates(init.conjugates)
                found = fixed_point.solve_fixed_point(problem, accuracy=accuracy, tol=tol, init=start, **options)
        except NoConvergenceError as failure:
            partial = None if failure.state is None else _not_converged(problem, failure.state)
            remedy = "Use a larger <weight_decay>; or, in Python, init= a solution at a nearby <alpha>."
            if not channel.compiled:
                remedy += (
                    " Of a channel of your own, look at check_channel(channel) first; an output that is even in z "
                    "shows nothing of the target to a learner that starts from zero."
                )
            what = "State evolution found no fixed point, not even by continuation from a stronger penalty."
            raise SolveError(what, remedy, partial) from None
        notes = []
        jumps = found.state.averages.jumps
        if jumps > JUMPS_WORTH_SAYING:
            notes.append(
                f"the proximal map jumps between two minima near {100 * jumps:.2g} % of the samples: "
                "slopes are taken by Stein's lemma, and the replicon leaves the jumps out."
            )
        if not found.standard_error <= accuracy:  # also where it is no number
            notes.append(
                f"the relative standard error is {found.standard_error:.1e}, above the {accuracy:g} asked for: "
                "in Python, solver=StateEvolution(most_nodes=...) with more nodes lowers it."
            )
        if found.doubtful:
            notes.append(
                "the map stays further from a fixed point than the spread of its averages, if not by much: "
                "there may be none."
            )
        solution = Solution.of(
            problem,
            found.state.values,
            found.bars,
            message=f"{found.route}; averages by {found.rule}",
            evaluations=found.evaluations,
            residual=found.residual,
            notes=tuple(notes),
            jump_square=found.state.averages.jump_square,
        )
        if not found.standard_error <= UNKNOWN:
            raise SolveError(
                f"The averages over a sample are too rough: test error, loss or rank is known to "
                f"{100 * found.standard_error:.0f} % of itself only.",
                "Use a smaller <beta> or <target>, whose labels are less sharp; or, in Python, "
                "solver=StateEvolution(most_nodes=...) with more nodes, or error.partial as it is.",
                solution,
            )
        return solution


def _not_converged(problem: Problem, state: State) -> Solution:
    """What there is of a solution where Newton's method did not end."""
    bars = dict.fromkeys(OBSERVABLES, float("inf"))
    residual = float(np.abs(state.residual).max())
    about = {"message": "not converged", "evaluations": 0, "residual": residual, "notes": ("not converged.",)}
    return Solution.of(problem, state.values, bars, **about)


def _without_averages(problem: Problem) -> Solver | None:
    """The solver of a linear channel: the explicit map, unless the student is too narrow for what it learns."""
    penalty = problem.penalty
    if not problem.channel.linear or not penalty.closed_form:
        return None
    if not isinstance(penalty, NuclearPSD) or problem.kappa >= 1.0:
        return ExplicitMap()
    alpha, strength = problem.alpha * problem.channel.n_in, penalty.lambda_tilde(problem.kappa)
    wide = quadratic.solve_point(problem.target, problem.noise, alpha, strength)
    return ExplicitMap() if wide.functionals.rank <= problem.kappa else RankLimited(strength, wide.delta)


def with_accuracy(accuracy: float, solver: Solver | None, *, exact: bool) -> Solver | None:
    """The solver of an accuracy; None where the equations are solved without averages, which meets any."""
    if solver is not None:
        reason = "a solver has an accuracy of its own"
        remedy = "Leave <accuracy> out, or write StateEvolution(accuracy=...)."
        raise checks.complaint("accuracy", "be left out beside a solver", reason, accuracy, remedy)
    found = StateEvolution(accuracy=accuracy)  # it checks the number
    return None if exact else found


def solve(
    problem: Problem,
    *,
    solver: Solver | None = None,
    init: Solution | None = None,
    tol: float = 1e-6,
    throw: bool = True,
    accuracy: float | None = None,
) -> Solution:
    """Predict what the minimum of the loss of `problem` looks like in the high-dimensional limit.

    `solver` is chosen by the channel when left out; `init` is a solution nearby to start from; `tol` is the residual of
    the equations that is aimed at (what is left of it is in `residual` and in the error bars); with ``throw=False`` a
    failed solve returns its partial solution instead of raising. `accuracy` is that of `StateEvolution`, for who needs
    nothing else of it; where no averages are taken, every accuracy is met.
    """
    problem.must_have_a_penalty()
    tol = checks.real(
        "tol",
        tol,
        above=0.0,
        at_most=1e-2,
        reason="it is the residual of the equations",
        remedy="Use <tol=1e-6>.",
    )
    if init is not None:
        checks.instance(
            "init",
            init,
            Solution,
            reason="it is a solution nearby from which to start",
            remedy="Pass the result of solve at a neighbouring point, or leave it out.",
        )
    if accuracy is not None:
        solver = with_accuracy(accuracy, solver, exact=problem.channel.linear and problem.penalty.closed_form)
    if solver is None:
        solver = _without_averages(problem) or StateEvolution()
    checks.instance(
        "solver",
        solver,
        Solver,
        reason="it says how the equations are solved",
        remedy="Leave it out, or pass StateEvolution() or ExplicitMap().",
    )
    try:
        return solver.solve(problem, init=init, tol=tol)
    except SolveError as failure:
        if throw or failure.partial is None:
            raise
        partial: Solution = failure.partial
        return replace(partial, notes=(*partial.notes, str(failure)))
