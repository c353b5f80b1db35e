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
from presage.models.attention.theory.state_evolution import WeightSide, deviation_given_target, sample_side, weight_side
from presage.solving.newton import NUDGE, NoConvergenceError
from presage.spectra.quadrature import UnresolvedError

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

    def __call__(self, y: Floats, rule: Rule) -> State:
        self.evaluations += 1
        problem = self.problem
        conjugates = Conjugates(*(float(value) for value in np.exp(y)))
        try:
            side = weight_side(problem.penalty, problem.target, problem.kappa, conjugates)
        except UnresolvedError:
            raise NoConvergenceError(None) from None
        averages = rule.averages(self.channel, self.rho_0, side.overlaps, deviation_given_target(problem, side))
        # Where p can jump, slopes are taken by Stein's lemma.
        stein = may_jump(self.channel, averages, side.overlaps.Sigma) and side.overlaps.q > 0.0
        mapped = sample_side(problem.alpha, averages, stein=stein)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs, target = np.log(mapped), np.log(mapped.mean(axis=0))
        return State(y, side, averages, logs, target, self.observables(conjugates, side, averages))

    def observables(self, conjugates: Conjugates, side: WeightSide, averages: Averages) -> Floats:
        """Everything in OBSERVABLES, one row for each estimate of the averages."""
        m, q, Sigma = side.overlaps
        train_loss = self.problem.alpha * averages.train_error + side.penalty
        constant = np.ones_like(train_loss)
        rows = [
            averages.test_error,
            averages.train_error,
            train_loss,
            constant * side.estimation_error,
            constant * side.rank,
            averages.square_slope,
            *(constant * value for value in (m, q, Sigma, *conjugates)),
        ]
        return np.column_stack(rows)

    def nudges(self, state: State) -> Floats:
        """Steps for the differences, as rows: both slopes together, q_hat, and the scale ``m_hat/Sigma_hat`` alone.

        Near perfect recovery the estimation error is quadratic in the distance of the scale from one, so that its step
        must be small beside the error itself.
        """
        error = max(state.side.estimation_error, 0.0) / max(self.problem.rho_0, 1e-300)
        scale = NUDGE * min(1.0, 10.0 * sqrt(error) + 1e-9)
        return np.array([[NUDGE, 0.0, NUDGE], [0.0, NUDGE, 0.0], [0.0, 0.0, scale]])


def loss(state: State) -> float:
    """Training loss of a state."""
    return state.values["train_loss"]
