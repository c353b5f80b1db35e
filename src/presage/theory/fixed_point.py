"""The fixed point of state evolution for a channel that needs averages: Newton on the logarithms of the conjugates.

The conjugates are positive always, the overlaps need not be (a strong penalty sets the whole matrix to zero), so
the unknown is ``y = log (m_hat, q_hat, Sigma_hat)`` and one evaluation goes penalty, then channel, back to ``y``. A
coarse rule finds the root and its Jacobian; a fine rule needs only a few more evaluations along that Jacobian, and
the same Jacobian turns the spread between independent rules into an error bar for every observable.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log, sqrt
from typing import NamedTuple

import numpy as np

from presage.model.channels import Softmax
from presage.model.laws import Floats
from presage.model.penalties import NuclearPSD
from presage.model.problem import Problem
from presage.model.softmax_prox import CONVEX
from presage.theory import quadratic, ridge
from presage.theory.expectations import Averages, GaussHermite, Rule, Sobol
from presage.theory.order_parameters import Conjugates, Overlaps
from presage.theory.state_evolution import WeightSide, sample_side, weight_side

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
NUDGE = 0.01  # step of the differences for the Jacobian: wide enough to average over samples that jump
COARSE = 1e-5  # residual at which the coarse rule has done its work


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


class Linearization(NamedTuple):
    """Around a state: the resolvent ``(1 - dF/dy)^-1`` and the derivative of the observables in y."""

    resolvent: Floats
    gradient: Floats

    def shift(self, residual: Floats) -> Floats:
        """Move of the observables when F is off by `residual` at the solution."""
        return self.gradient @ (self.resolvent @ residual)


@dataclass
class FixedPoint:
    """A solution: the state, the error bars of its observables, and how it was found."""

    state: State
    bars: dict[str, float]
    standard_error: float  # largest relative one of test error and loss
    residual: float
    rule: Rule
    evaluations: int
    route: str


class NoConvergenceError(ArithmeticError):
    """Newton's iteration did not reach a root; `state` is the last one that could be evaluated."""

    def __init__(self, state: State | None) -> None:
        super().__init__("no convergence")
        self.state = state


class Evaluator:
    """Evaluates the map ``y -> F(y)`` of one problem, and counts."""

    def __init__(self, problem: Problem) -> None:
        assert isinstance(problem.channel, Softmax)
        self.problem = problem
        self.channel = problem.channel
        self.Q_0 = problem.Q_0
        self.rho_0 = problem.rho_0
        self.evaluations = 0

    def __call__(self, y: Floats, rule: Rule) -> State:
        self.evaluations += 1
        problem = self.problem
        conjugates = Conjugates(*(float(value) for value in np.exp(y)))
        side = weight_side(problem.penalty, problem.target, problem.kappa, conjugates)
        averages = rule.averages(self.channel, self.rho_0, side.overlaps)
        # Where the proximal problem can have two minima, p jumps and its derivative has poles: then Stein's lemma.
        stein = side.overlaps.Sigma * self.channel.beta**2 > CONVEX and side.overlaps.q > 0.0
        mapped = sample_side(problem.alpha, averages, stein=stein)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs, target = np.log(mapped), np.log(mapped.mean(axis=0))
        return State(y, side, averages, logs, target, self._observables(y, side, averages))

    def _observables(self, y: Floats, side: WeightSide, averages: Averages) -> Floats:
        m, q, Sigma = side.overlaps
        train_loss = self.problem.alpha * averages.train_error + side.penalty
        constant = np.ones_like(train_loss)
        rows = [
            averages.test_error,
            averages.train_error,
            train_loss,
            constant * estimation_error(self.Q_0, y, side),
            constant * side.rank,
            averages.square_slope,
            *(constant * value for value in (m, q, Sigma, *np.exp(y))),
        ]
        return np.column_stack(rows)


def estimation_error(Q_0: float, y: Floats, side: WeightSide) -> float:
    """``|S - S_0|_F^2/d = Q_0 - 2m + q``, without cancellation where the integrals of mu_delta allow it.

    Equation: derived; with ``scale s`` it is ``risk + (1-s)(2 A - (1+s) J)``, ``A = int_c x(x-c) mu - 2 delta^2 I``.
    Checked: tests/test_state_evolution.py::test_overlaps_are_those_of_a_sampled_matrix
    """
    m, q, _ = side.overlaps
    f = side.functionals
    if f is None:
        return Q_0 - 2.0 * m + q
    scale = float(np.exp(y[0] - y[2]))
    A = f.overlap - 2.0 * f.delta**2 * f.I
    return f.risk + (1.0 - scale) * (2.0 * A - (1.0 + scale) * f.J)


def linear_guess(problem: Problem) -> Floats:
    """Start from the linear channel that resembles the softmax: same active directions, mean curvature of the loss.

    Near its minimum the loss is ``(H/2) |h - r z_0|^2`` in each of the ``n_active`` directions, with
    ``r = beta_0/beta`` and mean curvature H. A linear channel has ``H = 4``; so loss and penalty are scaled to it,
    and the answer is explicit.
    """
    channel = problem.channel
    assert isinstance(channel, Softmax)
    ratio = channel.target_beta / channel.beta
    rho = problem.rho_0 * ratio**2
    matched = Softmax(channel.n_tokens, channel.beta, channel.beta)
    averages = coarse_rule(channel).averages(matched, rho, Overlaps(rho, rho, 0.0))
    curvature = -float(averages.slope_z.mean()) / channel.n_active / 4.0
    alpha = problem.alpha * channel.n_active
    if isinstance(problem.penalty, NuclearPSD):
        strength = problem.penalty.lambda_tilde(problem.kappa)
        point = quadratic.solve_point(problem.target, problem.noise, alpha, strength / (ratio * curvature), tol=1e-4)
        m_hat = 2.0 * strength / point.c
        return np.log([m_hat, (point.delta * m_hat) ** 2, m_hat / ratio])
    conjugates = ridge.conjugates(problem, alpha, problem.penalty.ridge / curvature)  # type: ignore[attr-defined]
    m_hat = conjugates.m_hat * curvature * ratio
    return np.log([m_hat, conjugates.q_hat * (curvature * ratio) ** 2, conjugates.Sigma_hat * curvature])


def coarse_rule(channel: Softmax) -> Rule:
    """A rule good to a few digits, for the search."""
    return GaussHermite(12) if channel.n_tokens == 2 else Sobol(1024, 1)


def zero_state(evaluator: Evaluator) -> State | None:
    """The solution ``S = 0`` if the penalty is strong enough to hold it, else None."""
    problem = evaluator.problem
    rule = coarse_rule(evaluator.channel)
    averages = rule.averages(evaluator.channel, evaluator.rho_0, Overlaps(0.0, 0.0, 0.0))
    y = np.log(sample_side(problem.alpha, averages, stein=False).mean(axis=0))
    state = evaluator(y, rule)
    return state if state.side.overlaps.q == 0.0 else None


def linearize(evaluator: Evaluator, state: State, rule: Rule) -> Linearization:
    """Jacobian of the map and of the observables by forward differences in the logarithms."""
    n = state.y.size
    jacobian, gradient = np.empty((n, n)), np.empty((len(OBSERVABLES), n))
    base = state.observables.mean(axis=0)
    for k in range(n):
        moved = evaluator(state.y + NUDGE * np.eye(n)[k], rule)
        jacobian[:, k] = (moved.target - state.target) / NUDGE
        gradient[:, k] = (moved.observables.mean(axis=0) - base) / NUDGE
    if not np.isfinite(jacobian).all():
        raise NoConvergenceError(state)
    return Linearization(np.asarray(np.linalg.pinv(np.eye(n) - jacobian)), gradient)


def newton(
    evaluator: Evaluator, y: Floats, rule: Rule, *, tol: float = COARSE, most: int = 30
) -> tuple[State, Linearization]:
    """Damped Newton on ``F(y) = y`` with a rule that is cheap to evaluate."""
    state = evaluator(y, rule)
    if not np.isfinite(state.target).all():
        raise NoConvergenceError(None)
    size = float(np.abs(state.residual).max())
    for _ in range(most):
        linear = linearize(evaluator, state, rule)
        if size < tol:
            return state, linear
        step = linear.resolvent @ state.residual
        step *= min(1.0, 1.5 / float(np.abs(step).max()))
        # Newton if it makes progress; otherwise one damped step of message passing, which always means something.
        for trial_step in (step, 0.3 * step, 0.5 * state.residual):
            trial = evaluator(state.y + trial_step, rule)
            trial_size = float(np.abs(trial.residual).max())
            if trial_size < 0.9 * size:
                break
        if not np.isfinite(trial_size):
            raise NoConvergenceError(state)
        state, size = trial, trial_size
    raise NoConvergenceError(state)


def search(evaluator: Evaluator, init: Floats | None) -> tuple[State, Linearization, str]:
    """Find the root with a cheap rule: from `init`, from the linear guess, by continuation in the penalty."""
    last: State | None = None
    guess = linear_guess(evaluator.problem)
    for rule, tol in search_rules(evaluator.channel):
        starts: list[tuple[str, Floats]] = [] if init is None else [("a given start", init)]
        starts.append(("the linear channel that resembles it", guess))
        for name, y in starts:
            try:
                return *newton(evaluator, y, rule, tol=tol), f"Newton from {name}"
            except NoConvergenceError as failure:
                last = failure.state or last
    for factor in (4.0, 16.0, 64.0, 256.0):
        try:
            y = _continue(evaluator, factor, rule, tol)
            return *newton(evaluator, y, rule, tol=tol), f"continuation from a penalty {factor:g} times as strong"
        except NoConvergenceError as failure:
            last = failure.state or last
    raise NoConvergenceError(last)


def search_rules(channel: Softmax) -> list[tuple[Rule, float]]:
    """Rules for the search and the residual to which each can be trusted.

    Where samples jump, a product rule is too regular: its map has steps that Newton cannot follow. Scattered points
    do better.
    """
    if channel.n_tokens == 2:
        return [(coarse_rule(channel), COARSE), (Sobol(16384, 1), 30 * COARSE)]
    return [(coarse_rule(channel), 30 * COARSE)]


def _continue(evaluator: Evaluator, factor: float, rule: Rule, tol: float) -> Floats:
    """Follow the solution from a penalty `factor` times as strong down to the one asked for."""
    name = "weight_decay" if isinstance(evaluator.problem.penalty, NuclearPSD) else "ridge"
    strength = getattr(evaluator.problem.penalty, name)

    def at(level: float) -> Evaluator:
        return Evaluator(evaluator.problem.replace(**{name: strength * factor ** (1.0 - level)}))

    level, step = 0.0, 0.25
    y = newton(at(0.0), linear_guess(at(0.0).problem), rule, tol=tol)[0].y
    slope = np.zeros_like(y)
    while level < 1.0:
        target = min(level + step, 1.0)
        where = at(target)
        try:
            new = newton(where, y + slope * (target - level), rule, tol=tol)[0].y
        except NoConvergenceError:
            step *= 0.4
            if step < 0.01:
                raise
            continue
        finally:
            evaluator.evaluations += where.evaluations
        slope = (new - y) / (target - level)
        y, level, step = new, target, 1.5 * step
    return y


def refine(evaluator: Evaluator, y: Floats, rule: Rule, linear: Linearization, *, tol: float) -> State:
    """Carry the root from the coarse rule to a fine one, along the coarse Jacobian (Broyden's update keeps it good)."""
    resolvent = linear.resolvent.copy()
    state = evaluator(y, rule)
    best = state
    for _ in range(12):
        residual = state.residual
        if not np.isfinite(residual).all():
            raise NoConvergenceError(best)
        if np.abs(residual).max() <= np.abs(best.residual).max():
            best = state
        if np.abs(residual).max() < max(tol, 0.05 * _spread(state.mapped)):
            return state
        step = resolvent @ residual
        step *= min(1.0, 0.5 / float(np.abs(step).max()))
        new = evaluator(state.y + step, rule)
        # Broyden's good update of the inverse of -(dF/dy - 1).
        change = residual - new.residual
        moved = resolvent @ change
        if step @ moved > 0:
            resolvent += np.outer(step - moved, step @ resolvent) / (step @ moved)
        state = new
    if np.abs(best.residual).max() < 1e-3:
        return best
    raise NoConvergenceError(best)


def _spread(mapped: Floats) -> float:
    """Largest standard error of the mean over the estimates."""
    return float((mapped.std(axis=0, ddof=1) / sqrt(len(mapped))).max()) if len(mapped) > 1 else 0.0


def rules(channel: Softmax, jumps: float, most_nodes: int, seed: int) -> Iterator[tuple[Rule, list[Rule]]]:
    """Finer and finer rules, each with the companions that show its error."""
    if channel.n_tokens == 2:
        yield GaussHermite(24), [GaussHermite(18), GaussHermite(22, -0.6)]
        if jumps < 1e-3:
            yield GaussHermite(40), [GaussHermite(32), GaussHermite(36, -0.6)]
    replicates = 16
    nodes = 4096 if channel.n_tokens == 2 else 1024
    while nodes * replicates <= most_nodes:
        yield Sobol(nodes, replicates, seed), []
        nodes *= 4


STUDENT_95 = 2.131  # 95 % of Student's t with 15 degrees of freedom, for 16 independent scrambles


def error_bars(
    evaluator: Evaluator, state: State, companions: list[Rule], linear: Linearization
) -> tuple[Floats, Floats]:
    """Standard error and 95 % bar of each observable.

    With independent estimates it is the standard error of their mean, each carried through the linearised fixed
    point. With deterministic rules it is the largest distance to a companion rule, carried likewise.
    """
    mean = state.observables.mean(axis=0)
    leftover = np.abs(linear.shift(state.residual))
    if companions:
        moves = []
        for rule in companions:
            other = evaluator(state.y, rule)
            moves.append(other.observables.mean(axis=0) - mean + linear.shift(other.target - state.target))
        standard = np.abs(moves).max(axis=0)
        return standard, standard + leftover
    off = state.mapped - state.mapped.mean(axis=0)
    moves = (state.observables - mean) + off @ (linear.gradient @ linear.resolvent).T
    standard = np.std(moves, axis=0, ddof=1) / sqrt(len(moves))
    return standard, STUDENT_95 * standard + leftover


def solve_fixed_point(
    problem: Problem, *, accuracy: float, tol: float, init: Floats | None, most_nodes: int, seed: int
) -> FixedPoint:
    """Solve, refining the rule until the relative standard error of test error and loss is below `accuracy`."""
    evaluator = Evaluator(problem)
    zero = zero_state(evaluator)
    try:
        coarse, linear, route = search(evaluator, init)
    except NoConvergenceError:
        if zero is None:
            raise
        coarse = None
    if zero is not None and (coarse is None or _loss(zero) <= _loss(coarse) or coarse.side.overlaps.q < 1e-12):
        coarse, route = zero, "the penalty sets the whole matrix to zero"
        linear = linearize(evaluator, zero, coarse_rule(evaluator.channel))
    assert coarse is not None
    y = coarse.y
    watched = [OBSERVABLES.index(name) for name in ("test_error", "train_loss", "rank")]
    for rule, companions in rules(evaluator.channel, coarse.averages.jumps, most_nodes, seed):
        state = refine(evaluator, y, rule, linear, tol=tol)
        standard, bars = error_bars(evaluator, state, companions, linear)
        y = state.y
        value = np.abs(state.observables.mean(axis=0)) + 1e-300
        relative = float((standard / value)[[k for k in watched if value[k] > 1e-12]].max(initial=0.0))
        if relative < accuracy:
            break
    residual = float(np.abs(state.residual).max())
    named = dict(zip(OBSERVABLES, (float(bar) for bar in bars), strict=True))
    return FixedPoint(state, named, relative, residual, rule, evaluator.evaluations, route)


def _loss(state: State) -> float:
    return float(state.observables.mean(axis=0)[OBSERVABLES.index("train_loss")])


def log_conjugates(conjugates: Conjugates) -> Floats:
    """The unknown of the iteration, from a solution to start at."""
    return np.array([log(value) for value in conjugates])
