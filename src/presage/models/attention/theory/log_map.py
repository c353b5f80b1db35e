"""The map of state evolution on the logarithms of the conjugates, of which the solution is a fixed point.

The conjugates are positive always, the overlaps need not be (a strong penalty sets the whole matrix to zero), so the
unknown is ``y = log (m_hat, q_hat, Sigma_hat)`` and one evaluation goes penalty, then channel, back to ``y``.
"""

from __future__ import annotations

from functools import singledispatch
from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.numeric_prox import may_have_two_minima
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.channels.tokens_prox import CONVEX
from presage.models.attention.problem import Problem
from presage.models.attention.theory.order_parameters import Conjugates
from presage.models.attention.theory.rules.rule import Averages, Rule
from presage.models.attention.theory.state_evolution import (
    WeightSide,
    delta,
    deviation_given_target,
    sample_side,
    weight_side,
)
from presage.solving.newton import NUDGE, Linearization, NoConvergenceError
from presage.spectra.quadrature import UnresolvedError

LOST = (1e-12, 1e9)  # noise levels beyond which no search has any business
TINY = 1e-5  # step of differences that take only what is known to nearly all digits

OBSERVABLES = (
    "test_error",
    "train_error",
    "train_loss",
    "estimation_error",
    "rank",
    "square_slope",
    "m",
    "q",
    "Sigma",
    "m_hat",
    "q_hat",
    "Sigma_hat",
)


class State(NamedTuple):
    """One evaluation: where, the weight side there, the sample side, and what it maps to (one row an estimate)."""

    y: Floats
    side: WeightSide
    averages: Averages
    mapped: Floats
    target: Floats  # logarithm of the mean conjugates: what y must equal
    observables: Floats

    @property
    def residual(self) -> Floats:
        return self.target - self.y

    @property
    def values(self) -> dict[str, float]:
        """Every observable by name, the mean of the estimates."""
        return dict(zip(OBSERVABLES, self.observables.mean(axis=0).tolist(), strict=True))

    @property
    def size(self) -> float:
        """Largest residual; that of the scale ``m_hat/Sigma_hat`` counts relative to the estimation error.

        Near perfect recovery the error is the square of the distance of the scale from one, and a residual that looks
        small beside one can be large beside that distance.
        """
        residual = self.residual
        if not np.isfinite(residual).all():
            return float("inf")
        scale = abs(float(residual[0] - residual[2])) * _weight_of_scale(self.side.estimation_error)
        return max(float(np.abs(residual).max()), scale)

    @property
    def spread(self) -> float:
        """Largest standard error of the mean over the estimates, measured like `size`; zero for a single one."""
        if len(self.mapped) < 2:
            return 0.0
        error = self.side.estimation_error
        columns = np.column_stack([self.mapped, self.mapped[:, 0] - self.mapped[:, 2]])
        m, q, Sigma, scale = columns.std(axis=0, ddof=1) / sqrt(len(columns))
        return max(float(m), float(q), float(Sigma), float(scale) * _weight_of_scale(error))


def _weight_of_scale(estimation_error: float) -> float:
    return 0.1 / sqrt(max(estimation_error, 1e-30))


@singledispatch
def may_jump(channel: Channel, averages: Averages, Sigma: float) -> bool:
    """Whether the proximal problem of a sample can have two minima, so that p jumps and its derivative has poles."""
    return averages.jumps > 0.0 or may_have_two_minima(channel, Sigma)


@may_jump.register
def _(channel: Linear, averages: Averages, Sigma: float) -> bool:
    return False


@may_jump.register
def _(channel: Softmax, averages: Averages, Sigma: float) -> bool:
    return Sigma * channel.beta**2 > CONVEX


class Evaluator:
    """Evaluates the map ``y -> F(y)`` of one problem, and counts."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.channel = problem.channel
        self.rho_0 = problem.rho_0
        self.evaluations = 0
        self._last: tuple[Rule, State] | None = None

    def __call__(self, y: Floats, rule: Rule) -> State:
        if self._last is not None and self._last[0] == rule and np.array_equal(self._last[1].y, y):
            return self._last[1]  # where one search ended, the next begins
        self.evaluations += 1
        side = self.weights(y)
        sigma = deviation_given_target(self.problem, side)
        found = self.state(y, side, rule.averages(self.channel, self.rho_0, side.overlaps, sigma))
        self._last = rule, found
        return found

    def nearby(self, state: State, y: Floats, rule: Rule) -> State:
        """The state at y, a small step away: its weight side anew, its averages to first order if the rule gives it."""
        if not self.differentiable(state):
            return self(y, rule)
        side = self.weights(y)
        return self.state(y, side, state.averages.moved(self._gaussian(side) - self._gaussian(state.side)))

    def differentiable(self, state: State) -> bool:
        """Whether the averages of a state came with their derivatives."""
        return state.averages.derivatives is not None

    def resolution(self, state: State, rule: Rule) -> float:
        """Size of a residual that is lost in the steps of the map, where samples jump."""
        return rule.resolution(state.averages.jumps)

    def carried(self, state: State, y: Floats, linear: Linearization) -> State:
        """The state at y, a small step away, by derivatives that are known from a coarser rule; its weight side anew.

        Of the averages only those that are observed move: what y is mapped to moves by itself.

        Checked: tests/models/attention/theory/test_attention.py::test_a_state_carried_to_the_root_is_the_root
        """
        step = y - state.y
        change = dict(zip(OBSERVABLES, linear.gradient @ step, strict=True))
        observed = ("test_error", "train_error", "square_slope")
        averages = state.averages._replace(**{name: getattr(state.averages, name) + change[name] for name in observed})
        side, mapped = self.weights(y), linear.jacobian @ step
        observables = self.observables(self.conjugates(y), side, averages)
        return State(y, side, averages, state.mapped + mapped, state.target + mapped, observables)

    def _gaussian(self, side: WeightSide) -> Floats:
        """Mean, sigma and Sigma, of which averages are functions."""
        m, _, Sigma = side.overlaps
        return np.array([m / sqrt(self.rho_0), deviation_given_target(self.problem, side), Sigma])

    def conjugates(self, y: Floats) -> Conjugates:
        """The conjugates of an unknown."""
        return Conjugates(*(float(value) for value in np.exp(y)))

    def weights(self, y: Floats) -> WeightSide:
        """The weight side at y."""
        problem, conjugates = self.problem, self.conjugates(y)
        if not LOST[0] < delta(conjugates) < LOST[1]:
            raise NoConvergenceError(None)
        try:
            return weight_side(problem.penalty, problem.target, problem.kappa, conjugates)
        except UnresolvedError:
            raise NoConvergenceError(None) from None

    def state(self, y: Floats, side: WeightSide, averages: Averages) -> State:
        """The state at y, from its two sides."""
        # Where p can jump, slopes are taken by Stein's lemma.
        stein = may_jump(self.channel, averages, side.overlaps.Sigma) and side.overlaps.q > 0.0
        mapped = sample_side(self.problem.alpha, averages, stein=stein)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs, target = np.log(mapped), np.log(mapped.mean(axis=0))
        return State(y, side, averages, logs, target, self.observables(self.conjugates(y), side, averages))

    def observables(self, conjugates: Conjugates, side: WeightSide, averages: Averages) -> Floats:
        """Everything in OBSERVABLES, one row for each estimate of the averages."""
        m, q, Sigma = side.overlaps
        train_loss = self.problem.alpha * averages.train_error + side.penalty
        columns: tuple[float | Floats, ...] = (
            averages.test_error,
            averages.train_error,
            train_loss,
            side.estimation_error,
            side.rank,
            averages.square_slope,
            *(m, q, Sigma, *conjugates),
        )
        found = np.empty((len(train_loss), len(columns)))
        for k, column in enumerate(columns):
            found[:, k] = column
        return found

    def nudges(self, state: State) -> Floats:
        """Steps for the differences, as rows: both slopes together, q_hat, and the scale ``m_hat/Sigma_hat`` alone.

        Near perfect recovery the estimation error is quadratic in the distance of the scale from one, so that its step
        must be small beside the error itself. Where averages have derivatives, all steps are.
        """
        error = max(state.side.estimation_error, 0.0) / max(self.problem.rho_0, 1e-300)
        step = TINY if self.differentiable(state) else NUDGE
        scale = step * min(1.0, 10.0 * sqrt(error) + 1e-9)
        return np.array([[step, 0.0, step], [0.0, step, 0.0], [0.0, 0.0, scale]])


def loss(state: State) -> float:
    """Training loss of a state."""
    return state.values["train_loss"]
