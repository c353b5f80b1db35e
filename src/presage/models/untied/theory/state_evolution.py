"""The fixed point between weights and data, in the logarithms of the conjugates, and how far it may be off.

The conjugates are three; the gain of the outputs is a fourth where one is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import exp, log
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.untied.problem import UntiedProblem
from presage.models.untied.theory.channel import Conjugates, Overlaps, Rule, conjugates_of
from presage.models.untied.theory.linear_start import linear_start
from presage.models.untied.theory.weights import Shrunk, shrunk_by_ridge, shrunk_by_weight_decay
from presage.solving.vector_state_evolution import mean_and_bar

NUDGE = 1e-4  # relative step of the differences of the channel, whose nodes do not move
LARGEST_STEP = 1.5
IN_VAIN = 5  # Newton steps without progress
SCRAMBLES = 4
JUMPING = 0.005  # part of a response that is jumps: finer averages do not help there,
HOPELESS = 0.1  # nor where a root is so far away
ROUGHLY = 1e-3  # residual at which a finer average takes over
COARSE = (Rule(48, 10, 1024),)
PLANES = (48, 96, 192, 384)  # points across the plane of a row of two keys
LATTICES = (14, 18, 24, 30)  # and across a lattice for three
SCATTERED = (8192, 32768)


class State(NamedTuple):
    """One evaluation of the map: where the logarithms of the conjugates go, and what there is on the way."""

    logs: Floats
    mapped: Floats
    shrunk: Shrunk
    conjugates: Conjugates

    @property
    def residual(self) -> float:
        return float(np.abs(self.mapped - self.logs).max())

    @property
    def gain(self) -> float | None:
        """Gain of the outputs, where one is learned."""
        return float(np.exp(self.logs[3])) if len(self.logs) > 3 else None


class FixedPoint(NamedTuple):
    """A root, and alternatives to it: where it would be if the average over the scores were taken in another way."""

    state: State
    others: tuple[State, ...]
    residual: float
    scattered: bool  # whether `others` are as good as the root; else they are coarser
    evaluations: int


def fixed_point(problem: UntiedProblem, *, accuracy: float, tol: float) -> FixedPoint:
    """Solve for the conjugates, with finer and finer averages until observables are known to `accuracy`, relative.

    Equation: derived, the state evolution of scores of distinct tokens.
    Checked: tests/models/untied/theory/test_check_values.py::test_two_keys_of_half_rank
    Checked: tests/models/untied/theory/test_check_values.py::test_two_keys_of_low_rank
    """
    evolution = Evolution(problem)
    state, resolvent = evolution.started()
    best: FixedPoint | None = None
    for level, (rules, coarser) in enumerate(_ladder(evolution.scattered)):
        state, resolvent = evolution.refined(state, resolvent, rules, tol=tol)
        others = tuple(evolution.elsewhere(state, resolvent, (rule,)) for rule in coarser)
        left = float(np.abs(resolvent @ (state.mapped - state.logs)).max())
        found = FixedPoint(state, others, left, evolution.scattered, evolution.evaluations)
        best = found if best is None or spread(found) + left <= spread(best) + best.residual else best
        hopeless = left > HOPELESS or (level > 0 and state.conjugates.jumps > JUMPING)
        if not problem.softmax or hopeless or spread(best) + best.residual < accuracy:
            break
    assert best is not None
    return best


def _ladder(scattered: bool) -> Iterator[tuple[Sequence[Rule], Sequence[Rule]]]:
    """Averages to solve with, each with those that say how far it is off."""
    if scattered:
        for points in SCATTERED:
            rules = tuple(Rule(PLANES[1], LATTICES[1], points, seed) for seed in range(1, 1 + SCRAMBLES))
            yield rules, rules
    else:
        for coarse, fine in pairwise(map(Rule, PLANES, LATTICES)):
            yield (fine,), (coarse,)


def spread(found: FixedPoint) -> float:
    """Largest relative move of an observable among the alternatives."""
    values = observables(found.state)
    bars = moves(found)
    return max((bars[name] / abs(value) for name, value in values.items() if abs(value) > 1e-12), default=0.0)


def observables(state: State) -> dict[str, float]:
    """The numbers that networks show, but for those that need the problem."""
    gain = {} if state.gain is None else {"gain": state.gain}
    return {
        "test_error": state.conjugates.test,
        "train_error": state.conjugates.train,
        "estimation_error": state.shrunk.estimation_error,
        "rank": state.shrunk.rank,
        "cost": state.shrunk.cost,
        "delta": state.shrunk.delta,
        "cutoff": state.shrunk.cutoff,
        "scale": state.shrunk.scale,
        **gain,
    }


def moves(found: FixedPoint) -> dict[str, float]:
    """Half widths of 95 % intervals: the distance to a coarser average, or Student's t of independent ones."""
    here = observables(found.state)
    there = [observables(other) for other in found.others]
    if not found.scattered:
        return {name: max((abs(other[name] - value) for other in there), default=0.0) for name, value in here.items()}
    return {name: mean_and_bar([other[name] for other in there])[1] for name in here}


class Evolution:
    """The map of one problem, and how many times it was evaluated."""

    def __init__(self, problem: UntiedProblem) -> None:
        self.problem, self.evaluations = problem, 0
        self.scattered = problem.softmax and max(problem.keys) > 3
        self.learns_gain = problem.target_gain is not None
        self.weights: Callable[[Floats], Shrunk] = self._weights()

    def _weights(self) -> Callable[[Floats], Shrunk]:
        problem, strength = self.problem, self.problem.weight_decay
        assert strength is not None
        if problem.penalty == "frobenius" or strength == 0.0:
            return lambda logs: shrunk_by_ridge(problem.Q_0, strength, logs)
        target = problem.singular_values
        return lambda logs: shrunk_by_weight_decay(target, strength, logs)

    def started(self) -> tuple[State, Floats]:
        """A root of a coarse average, from half learned; else from the linear output of the same stiffness."""
        problem = self.problem
        Q_0 = problem.Q_0
        half = Overlaps.told(Q_0, 0.5 * Q_0, 0.6 * Q_0 + 1e-6, 1.0 / (1.0 + problem.alpha_eff))
        found = self.newton(self.logs_of(self.data(half, COARSE, problem.v_0)), COARSE, tol=ROUGHLY)
        if found[0].residual < ROUGHLY:
            return found
        near = Overlaps.told(Q_0, 0.98 * Q_0, 0.98 * Q_0 + 1e-6, 0.0)
        slope = self.data(near, COARSE, problem.v_0).Sigma_hat / (2.0 * problem.alpha_eff)
        gain = [log(problem.v_0)] if self.learns_gain else []
        again = self.newton(np.append(linear_start(problem, slope), gain), COARSE, tol=ROUGHLY)
        return min(found, again, key=lambda one: one[0].residual)

    def data(self, overlaps: Overlaps, rules: Sequence[Rule], v: float) -> Conjugates:
        found = [conjugates_of(self.problem, overlaps, rule, v) for rule in rules]
        return Conjugates(*(sum(column) / len(found) for column in zip(*found, strict=True)))

    def logs_of(self, conjugates: Conjugates) -> Floats:
        """Logarithms of the conjugates, and of the gain if one is learned."""
        numbers = [conjugates.m_hat, conjugates.q_hat, conjugates.Sigma_hat]
        return np.log(np.maximum(numbers + [conjugates.gain] * self.learns_gain, 1e-300))

    def at(self, logs: Floats, rules: Sequence[Rule]) -> State:
        self.evaluations += 1
        shrunk = self.weights(logs[:3])
        conjugates = self.data(shrunk.overlaps, rules, self.gain_at(logs))
        return State(logs, self.logs_of(conjugates), shrunk, conjugates)

    def gain_at(self, logs: Floats) -> float:
        return float(np.exp(logs[3])) if self.learns_gain else 1.0

    def resolvent(self, state: State, rules: Sequence[Rule]) -> Floats:
        """``(1 - dF/dlogs)^-1``: the weights have derivatives, the data are differenced towards less overlap."""
        overlaps, v = state.shrunk.overlaps, self.gain_at(state.logs)
        m, q, Sigma, left = overlaps
        if q == 0.0:  # everything is cut, here and nearby: the weights do not move
            return np.eye(len(state.logs))
        across = left + self.problem.noise + 1e-15 * q  # of a label, given the score
        by = np.diag([-NUDGE * min(abs(m) + 1e-3 * q, across), NUDGE * min(q, across), NUDGE * (Sigma + 1e-9)])
        columns = [
            (self.logs_of(self.data(overlaps.moved(step), rules, v)) - state.mapped) / step[k]
            for k, step in enumerate(by.tolist())
        ]
        slopes = np.stack(columns, axis=1) @ state.shrunk.jacobian
        if self.learns_gain:
            up = self.logs_of(self.data(overlaps, rules, v * exp(NUDGE)))
            slopes = np.column_stack([slopes, (up - state.mapped) / NUDGE])
        return np.asarray(np.linalg.inv(np.eye(len(slopes)) - slopes))

    def newton(self, logs: Floats, rules: Sequence[Rule], *, tol: float) -> tuple[State, Floats]:
        """Damped Newton; where it makes no progress, a damped step of the map itself, which always means something.

        Where samples jump the map has steps, and no residual gets below them: it ends after some steps in vain.
        """
        state = best = self.at(logs, rules)
        in_vain = 0
        while best.residual > tol and in_vain < IN_VAIN:
            off = state.mapped - state.logs
            step = limited(self.resolvent(state, rules) @ off)
            for trial_step in (step, 0.3 * step, limited(0.5 * off)):
                trial = self.at(state.logs + trial_step, rules)
                if trial.residual < 0.7 * state.residual:
                    break
            in_vain = 0 if trial.residual < 0.7 * best.residual else in_vain + 1
            state, best = trial, min(trial, best, key=lambda one: one.residual)
        return best, self.resolvent(best, rules)

    def refined(self, state: State, resolvent: Floats, rules: Sequence[Rule], *, tol: float) -> tuple[State, Floats]:
        """Carry a root to a finer average with the derivatives of the coarser one; Newton where they do not do."""
        now = self.at(state.logs, rules)
        for _ in range(6):
            if now.residual < tol:
                return now, resolvent
            trial = self.at(now.logs + limited(resolvent @ (now.mapped - now.logs)), rules)
            if not trial.residual < 0.3 * now.residual:
                break
            now = trial
        return self.newton(now.logs, rules, tol=tol)

    def elsewhere(self, state: State, resolvent: Floats, rules: Sequence[Rule]) -> State:
        """Where the root would be, to first order, with another average."""
        other = self.data(state.shrunk.overlaps, rules, self.gain_at(state.logs))
        shift = resolvent @ (self.logs_of(other) - state.mapped)
        return self.at(state.logs + limited(shift), rules)


def limited(step: Floats) -> Floats:
    """A step of the logarithms, no longer than what a Newton step can be trusted for."""
    return step * min(1.0, LARGEST_STEP / max(float(np.abs(step).max()), 1e-300))
