"""Channels that need averages, without a penalty: more labels than a network can fit.

Towards the threshold of interpolation the response Sigma diverges, and the conjugates vanish with their ratios fixed.
So the unknown is ``y = log (delta, scale, Sigma)``, and Sigma is found from how far alpha is above the threshold.
"""

from __future__ import annotations

from math import exp, log

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.problem import Problem
from presage.models.attention.theory.fixed_point import refinements, with_missed_minima
from presage.models.attention.theory.interpolation import interpolation_threshold, unpenalized_point
from presage.models.attention.theory.log_map import OBSERVABLES, Evaluator, State
from presage.models.attention.theory.order_parameters import Conjugates
from presage.models.attention.theory.recovery import unfactorized_recovery
from presage.models.attention.theory.rules.cut_lines import CutLines
from presage.models.attention.theory.rules.rule import Averages, Rule
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.search import JUMPING, ROUGHLY, coarse_rule, linear_equivalent
from presage.models.attention.theory.state_evolution import WeightSide, sample_side
from presage.solving.newton import Linearization, NoConvergenceError, newton
from presage.solving.refinement import FixedPoint, refine_until
from presage.spectra.symmetric.functionals import functionals

WATCHED = ("test_error", "rank")  # what is to be known as well as was asked for
RESOLVED = 2e-7  # of the conjugates: steps that are left in the map of a coarse rule
SIGMAS = (1e-4, 1e12)  # where the response is looked for


class UnpenalizedEvaluator(Evaluator):
    """The map of state evolution at zero penalty, in ``y = log (delta, scale, Sigma)``."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        if problem.penalty.factorized:
            threshold = interpolation_threshold(problem.target, problem.noise)
        else:
            threshold = unfactorized_recovery()
        self.excess = log(problem.alpha * problem.channel.n_active / threshold)

    def conjugates(self, y: Floats) -> Conjugates:
        """``Sigma Sigma_hat = 2 I`` (one where S itself is trained), ``m_hat = scale Sigma_hat``."""
        delta, scale, Sigma = (float(value) for value in np.exp(y))
        cut = self.problem.penalty.factorized
        Sigma_hat = (2.0 * functionals(self.problem.target, delta, 0.0).I if cut else 1.0) / Sigma
        m_hat = scale * Sigma_hat
        return Conjugates(m_hat, (delta * m_hat) ** 2, Sigma_hat)

    def state(self, y: Floats, side: WeightSide, averages: Averages) -> State:
        """The state at y, from its two sides; slopes by Stein's lemma."""
        conjugates = self.conjugates(y)
        with np.errstate(divide="ignore", invalid="ignore"):
            mapped = self._unknowns(y, conjugates, sample_side(self.problem.alpha, averages, stein=True))
        return State(y, side, averages, mapped, mapped.mean(axis=0), self.observables(conjugates, side, averages))

    def _unknowns(self, y: Floats, conjugates: Conjugates, mapped: Floats) -> Floats:
        """Where the conjugates of the channel put the unknowns.

        The misfit of Sigma_hat counts relative to the distance from the threshold, which it measures.
        """
        m_hat, q_hat, Sigma_hat = np.log(mapped).T
        misfit = (Sigma_hat - log(conjugates.Sigma_hat)) / self.excess
        return np.column_stack([0.5 * q_hat - m_hat, m_hat - Sigma_hat, y[2] - misfit])


def solve_unpenalized(
    problem: Problem, *, accuracy: float, tol: float, most_nodes: int, seed: int, rule: Rule | None
) -> FixedPoint:
    """Solve [BETKZ25] (43), (55) at zero penalty, above the threshold of interpolation.

    Equation: [BETKZ25] (43), (55) at lambda = 0.
    Checked: tests/models/attention/theory/test_ridgeless.py::test_the_limit_is_continuous_at_interpolation
    """
    evaluator = UnpenalizedEvaluator(problem)
    state, linear = _search(evaluator)
    jumps = state.averages.jumps
    ladder = refinements(problem.channel, jumps, accuracy, most_nodes, seed) if rule is None else iter([rule])
    route = "Newton without a penalty, in the distance from interpolation"
    found = refine_until(
        evaluator, state, linear, ladder, OBSERVABLES, WATCHED, accuracy=accuracy, tol=tol, route=route
    )
    return with_missed_minima(evaluator, found, linear, seed)


def _search(evaluator: UnpenalizedEvaluator) -> tuple[State, Linearization]:
    """The root of a cheap rule, or where samples jump of one that can take it."""
    coarse = coarse_rule(evaluator.channel)
    y = _start(evaluator, coarse)
    if isinstance(evaluator.channel, Softmax) and coarse.regular:
        # Near interpolation Sigma is large, and a softmax jumps; what a rule resolves counts relative to the excess.
        return newton(evaluator, y, CutLines(20), tol=ROUGHLY + RESOLVED / abs(evaluator.excess))
    state, linear = newton(evaluator, y, coarse, tol=ROUGHLY, rough=True)
    if coarse.regular and not coarse.exact and state.averages.jumps >= JUMPING:
        # A map of few nodes is then a staircase, whose Jacobian means little.
        return newton(evaluator, state.y, Sobol(4096, 16), tol=ROUGHLY, rough=True)
    return state, linear


def _start(evaluator: UnpenalizedEvaluator, rule: Rule) -> Floats:
    """Noise and scale of the linear channel that resembles it; the Sigma at which the channel gives alpha."""
    problem = evaluator.problem
    ratio = linear_equivalent(problem.channel, problem.rho_0).ratio
    alpha = problem.alpha * problem.channel.n_active
    if problem.penalty.factorized:
        delta = unpenalized_point(problem.target, problem.noise, alpha).delta
    else:
        delta = ((0.5 * problem.noise + 1e-12 * problem.Q_0) / (2.0 * alpha - 1.0)) ** 0.5

    def misfit(log_Sigma: float) -> float:
        y = np.array([log(delta), log(ratio), log_Sigma])
        return float(y[2] - evaluator(y, rule).target[2])

    low, high = (log(value) for value in SIGMAS)
    if not misfit(low) < 0.0 < misfit(high):
        raise NoConvergenceError(None)
    found = float(scipy.optimize.brentq(misfit, low, high, xtol=0.1))
    return np.array([log(delta), log(ratio), log(max(exp(found), SIGMAS[0]))])
