"""Newton's method for a fixed point ``F(y) = y`` of a map that is an average, and so has a rule and several estimates.

What is solved is handed in: an `Evaluator` gives a `State` for each y, which knows where y is mapped to, how far that
is from y, and every observable there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from presage.laws.spectral_law import Floats

NUDGE = 0.01  # step of the differences for the Jacobian: wide enough to average over samples that jump


class State(Protocol):
    """One evaluation of the map."""

    @property
    def y(self) -> Floats: ...
    @property
    def target(self) -> Floats: ...  # what y must equal
    @property
    def mapped(self) -> Floats: ...  # the same, one row for each estimate
    @property
    def observables(self) -> Floats: ...  # one row for each estimate
    @property
    def residual(self) -> Floats: ...
    @property
    def size(self) -> float: ...  # of the residual
    @property
    def spread(self) -> float: ...  # standard error of the mean of the estimates, measured like `size`


S = TypeVar("S", bound=State)


class Evaluator(Protocol[S]):
    """The map, and the steps along which it is differentiated."""

    evaluations: int

    def __call__(self, y: Floats, rule: Any) -> S: ...
    def nudges(self, state: S) -> Floats: ...
    def nearby(self, state: S, y: Floats, rule: Any) -> S: ...  # at y, a step from a state: for derivatives
    def differentiable(self, state: S) -> bool: ...  # whether states nearby are had without another average
    def resolution(self, state: S, rule: Any) -> float: ...  # residuals below it mean nothing: steps of a cheap rule
    def carried(self, state: S, y: Floats, linear: Linearization) -> S: ...  # at y, a step from a state, to first order


class Linearization(NamedTuple):
    """Around a state: ``dF/dy``, its resolvent ``(1 - dF/dy)^-1`` and the derivative of the observables in y."""

    jacobian: Floats
    resolvent: Floats
    gradient: Floats

    def shift(self, residual: Floats) -> Floats:
        """Move of the observables when F is off by `residual` at the solution."""
        return self.gradient @ (self.resolvent @ residual)


class NoConvergenceError(ArithmeticError):
    """Newton's iteration did not reach a root; `state` is the last one that could be evaluated."""

    def __init__(self, state: Any) -> None:
        super().__init__("no convergence")
        self.state = state


def linearize(evaluator: Evaluator[S], state: S, rule: Any) -> Linearization:
    """Jacobian of the map and of the observables by forward differences along the `nudges` of the evaluator."""
    along = evaluator.nudges(state)
    moved = [evaluator.nearby(state, state.y + nudge, rule) for nudge in along]
    base = state.observables.mean(axis=0)
    inverse = np.linalg.inv(along)
    jacobian = (inverse @ np.array([other.target - state.target for other in moved])).T
    gradient = (inverse @ np.array([other.observables.mean(axis=0) - base for other in moved])).T
    if not np.isfinite(jacobian).all():
        raise NoConvergenceError(state)
    return Linearization(jacobian, np.asarray(np.linalg.pinv(np.eye(len(jacobian)) - jacobian)), gradient)


def newton(
    evaluator: Evaluator[S],
    y: Floats,
    rule: Any,
    *,
    tol: float,
    most: int = 30,
    rough: bool = False,
    leave: Callable[[S], bool] = lambda state: False,
) -> tuple[S, Linearization]:
    """Damped Newton on ``F(y) = y`` with a rule that is cheap to evaluate; it gives up at one that says to `leave`.

    Where samples jump, the map of a cheap rule has steps, and the residual cannot get below them: with `rough`, thirty
    times `tol` is good enough after `most` iterations, to start a finer rule from.
    """
    state = evaluator(y, rule)
    if not np.isfinite(state.target).all():
        raise NoConvergenceError(None)
    size = state.size
    best, best_size = state, size
    for _ in range(most):
        if size < best_size:
            best, best_size = state, size
        linear = linearize(evaluator, state, rule)
        if size < max(tol, evaluator.resolution(state, rule)):
            return state, linear
        step = linear.resolvent @ state.residual
        step *= min(1.0, 1.5 / float(np.abs(step).max()))
        # Newton if it makes progress; otherwise one damped step of message passing, which always means something.
        for trial_step in (step, 0.3 * step, 0.5 * state.residual):
            try:
                trial = evaluator(state.y + trial_step, rule)
            except NoConvergenceError:  # a step to where nothing can be evaluated
                trial_size = np.inf
                continue
            trial_size = trial.size
            if trial_size < 0.9 * size:
                break
        if not np.isfinite(trial_size):
            raise NoConvergenceError(state)
        if leave(trial):
            raise NoConvergenceError(trial)
        state, size = trial, trial_size
    if rough and best_size < 30.0 * tol:
        return best, linearize(evaluator, best, rule)
    raise NoConvergenceError(best)
