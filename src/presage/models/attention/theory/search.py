"""Where the fixed point is, roughly: starts, stable roots, and what to do when Newton's method does not get there."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial, singledispatch
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.differences import loss_terms
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.channels.traits import best_ratio
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.penalties.penalty import Penalty
from presage.models.attention.problem import Problem
from presage.models.attention.theory import explicit_map as quadratic
from presage.models.attention.theory import ridge
from presage.models.attention.theory.log_map import Evaluator, State, loss
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.cut_lines import CutLines
from presage.models.attention.theory.rules.exact import Exact
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.numeric_sums import MOST_PRODUCT
from presage.models.attention.theory.rules.rule import Rule
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.rules.trapezoid import Trapezoid
from presage.models.attention.theory.state_evolution import sample_side
from presage.solving.newton import NUDGE, Linearization, NoConvergenceError, newton

STEPS_TO_A_ROOT = 15  # of Newton's method, before another rule or start is tried
STEPS = 150  # of message passing, when Newton needs a better start
LEAST_RIDGE = 1e-4  # where the search starts for a penalty that costs nothing at the size of the target
FLATTEST = 1e-4  # curvature of a loss that is flat where it is least, so that the guess stays finite
COARSE = 1e-5  # residual at which a cheap rule has done its work
ROUGHLY = 30 * COARSE  # the same where samples may jump
SCATTERED = 1e-3  # the same of a thousand scattered points
LAST_RESORT = Sobol(8192, 1)  # where grids find nothing, or what is not there
JUMPING = 1e-3  # fraction of samples whose proximal map jumps: with more, lines have to be cut there


class LinearEquivalent(NamedTuple):
    """The linear channel that resembles a channel: near its minimum the loss is ``2 H |h - r z_0|^2``."""

    ratio: float  # r
    curvature: float  # H, 1 for a linear channel


@singledispatch
def linear_equivalent(channel: Channel, rho_0: float) -> LinearEquivalent:
    """Where the loss of a sample has its minimum, and how curved it is there, on average."""
    z_0 = np.sqrt(rho_0) * np.random.default_rng(0).standard_normal((400, channel.n_in))
    ratio = best_ratio(channel, z_0)
    labels = channel.draw_labels(z_0, np.random.default_rng(1))
    basis = channel.active_basis
    curvature = loss_terms(channel, labels, ratio * z_0 @ basis, basis).curvature
    mean = float(np.trace(curvature, axis1=-2, axis2=-1).mean()) / channel.n_active / 4.0
    return LinearEquivalent(ratio, max(mean, FLATTEST))


@linear_equivalent.register
def _(channel: Linear, rho_0: float) -> LinearEquivalent:
    return LinearEquivalent(1.0, 1.0)


@linear_equivalent.register
def _(channel: Softmax, rho_0: float) -> LinearEquivalent:
    ratio = channel.beta_ratio
    rho = rho_0 * ratio**2
    matched = Softmax(channel.n_tokens, channel.beta, channel.beta)
    averages = coarse_rule(channel).averages(matched, rho, Overlaps(rho, rho, 0.0))
    return LinearEquivalent(ratio, -float(averages.slope_z.mean()) / channel.n_active / 4.0)


def linear_guess(problem: Problem) -> Floats:
    """Start from the linear channel that resembles the channel: same active directions, mean curvature of the loss.

    Loss and penalty are scaled to it, and the answer is explicit.
    """
    ratio, curvature = linear_equivalent(problem.channel, problem.rho_0)
    alpha = problem.alpha * problem.channel.n_active
    if isinstance(problem.penalty, NuclearPSD):
        strength = problem.penalty.lambda_tilde(problem.kappa)
        point = quadratic.solve_point(problem.target, problem.noise, alpha, strength / (ratio * curvature), tol=1e-4)
        m_hat = 2.0 * strength / point.c
        return np.log([m_hat, (point.delta * m_hat) ** 2, m_hat / ratio])
    conjugates = ridge.conjugates(problem, alpha, like_ridge(problem) / curvature)
    m_hat = conjugates.m_hat * curvature * ratio
    return np.log([m_hat, conjugates.q_hat * (curvature * ratio) ** 2, conjugates.Sigma_hat * curvature])


def like_ridge(problem: Problem) -> float:
    """The ridge that costs as much as the penalty at the size of the target's eigenvalues."""
    if isinstance(problem.penalty, Frobenius):
        return problem.penalty.ridge
    s = max(sqrt(problem.Q_0), problem.penalty.lowest)
    cost = np.ravel(problem.penalty.value(np.array([max(0.0, problem.penalty.lowest), s]), problem.kappa))
    found = float(cost[-1] - cost[0]) / s**2 if s > 0.0 else 0.0
    return found if LEAST_RIDGE < found < inf else LEAST_RIDGE


@singledispatch
def coarse_rule(channel: Channel) -> Rule:
    """A rule good to a few digits, for the search."""
    if channel.n_active > MOST_PRODUCT:
        return Sobol(1024, 1)
    return Trapezoid(32) if channel.n_active == 1 else GaussHermite(8, dropped=1e-7)


@coarse_rule.register
def _(channel: Linear) -> Rule:
    return Exact()


@coarse_rule.register
def _(channel: Softmax) -> Rule:
    return GaussHermite(8) if channel.n_tokens == 2 else Sobol(1024, 1)


def zero_state(evaluator: Evaluator) -> State | None:
    """The solution ``S = 0`` if the penalty is strong enough to hold it, else None."""
    rule = coarse_rule(evaluator.channel)
    y = _at_zero(evaluator, rule)
    if not np.isfinite(y).all():  # nothing of the target shows to first order, as with an even output
        return None
    try:
        return evaluator(y, rule) if evaluator.weights(y).overlaps.q == 0.0 else None
    except NoConvergenceError:
        return None


def _at_zero(evaluator: Evaluator, rule: Rule) -> Floats:
    """Logarithms of the conjugates that the channel gives at ``S = 0``."""
    averages = rule.averages(evaluator.channel, evaluator.rho_0, Overlaps(0.0, 0.0, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        y: Floats = np.log(sample_side(evaluator.problem.alpha, averages, stein=False).mean(axis=0))
    return y


def search(
    evaluator: Evaluator, init: Floats | None, rules: list[tuple[Rule, float]] | None = None
) -> tuple[State, Linearization, str]:
    """Find the root with a cheap rule: from `init`, the linear guess, message passing, a stronger penalty.

    The rules, with the residual to which each can be trusted, are those of `search_rules` where none are given.
    """
    last: State | None = None
    guess = cache(partial(linear_guess, evaluator.problem))
    if rules is None:
        rules = search_rules(evaluator, guess() if init is None else init)
    starts: dict[str, Callable[[], Floats]] = {} if init is None else {"a given start": lambda: init}
    starts["the linear channel that resembles it"] = guess
    jumps = False
    for rule, tol in rules:
        if jumps and isinstance(rule, GaussHermite):
            continue
        for name, start in starts.items():
            y = start()
            try:
                return *stable_root(evaluator, y, rule, tol), f"Newton from {name}"
            except NoConvergenceError as failure:
                last = failure.state or last
                jumps |= failure.state is not None and _jumps(evaluator.channel, rule, failure.state)
    led_to: dict[type[Rule], Floats] = {}  # by the first, and quickest, of each kind of rule
    for rule, tol in rules:
        try:
            y = led_to[type(rule)] if type(rule) in led_to else _iterate(evaluator, rule, STEPS)
            led_to[type(rule)] = y
            return *stable_root(evaluator, y, rule, tol), "Newton from where message passing led"
        except NoConvergenceError as failure:
            last = failure.state or last
    with contextlib.suppress(NoConvergenceError):
        return *newton(evaluator, y, rule, tol=tol, rough=True), "Newton from where message passing led"
    for factor in (4.0, 16.0, 64.0, 256.0):
        try:
            y = _continue(evaluator, factor, rule, tol)
            return *stable_root(evaluator, y, rule, tol), f"continuation from a penalty {factor:g} times as strong"
        except NoConvergenceError as failure:
            last = failure.state or last
    raise NoConvergenceError(last)


def stable_root(evaluator: Evaluator, y: Floats, rule: Rule, tol: float) -> tuple[State, Linearization]:
    """Newton from `y`; where it ends in a root from which state evolution runs away, follow it to the roots beside it.

    A real eigenvalue of ``dF/dy`` above one means that the free energy has no minimum there, but between two roots that
    are minima; of these the one of lower loss is the solution.
    """
    leave = partial(_jumps, evaluator.channel, rule)
    state, linear = newton(evaluator, y, rule, tol=tol, most=STEPS_TO_A_ROOT, leave=leave)
    growth, vectors = np.linalg.eig(linear.jacobian)
    leading = int(np.argmax(np.where(np.abs(growth.imag) < 1e-9, growth.real, -np.inf)))
    if growth[leading].real < 1.0 + NUDGE:
        return state, linear
    direction = np.real(vectors[:, leading])
    direction /= np.abs(direction).max()
    roots = []
    for sign in (-1.0, 1.0):
        with contextlib.suppress(NoConvergenceError):
            roots.append(_run_away(evaluator, state, sign * direction, rule, tol))
    if not roots:
        raise NoConvergenceError(state)
    return min(roots, key=lambda root: loss(root[0]))


def _jumps(channel: Channel, rule: Rule, state: State) -> bool:
    """Whether samples jump at which a rule with lines would cut them, and this one does not."""
    return isinstance(channel, Softmax) and isinstance(rule, GaussHermite) and state.averages.jumps >= JUMPING


def _run_away(
    evaluator: Evaluator, state: State, direction: Floats, rule: Rule, tol: float
) -> tuple[State, Linearization]:
    """Iterate state evolution away from an unstable root until Newton finds another, stable one."""
    start, y = state.y, state.y + 0.1 * direction
    for _ in range(12):
        for _ in range(8):
            y = _pass(evaluator, y, rule, 1.0)
        with contextlib.suppress(NoConvergenceError):
            other, linear = newton(evaluator, y, rule, tol=tol, most=8)
            stable = np.real(np.linalg.eigvals(linear.jacobian)).max() < 1.0 + NUDGE
            if stable and np.abs(other.y - start).max() > NUDGE:
                return other, linear
    raise NoConvergenceError(state)


def search_rules(evaluator: Evaluator, y: Floats) -> list[tuple[Rule, float]]:
    """Rules for a search that starts at y, and the residual to which each can be trusted.

    Where samples jump, a product rule is too regular: its map has steps that Newton cannot follow. Scattered points
    do better, and lines that are cut there have none.
    """
    rule = coarse_rule(evaluator.channel)
    if rule.exact:
        return [(rule, COARSE)]
    if not rule.regular:
        # One point that jumps is a step of the map: more points make it lower.
        return [(rule, SCATTERED), (Sobol(4096, 1), SCATTERED)]
    if not isinstance(evaluator.channel, Softmax):
        return [(rule, COARSE), (LAST_RESORT, ROUGHLY)]
    # The quicker first. Labels that are sharp want more nodes, and in the end points without an order.
    planes, lines = [rule, GaussHermite(16)], [CutLines(8), CutLines(20)]
    try:
        jumps = _jumps(evaluator.channel, rule, evaluator(y, rule))
    except NoConvergenceError:  # a start where nothing can be evaluated says nothing
        jumps = False
    rules = [*([] if jumps else planes), *lines, LAST_RESORT]
    return [(each, ROUGHLY) for each in rules]


def _iterate(evaluator: Evaluator, rule: Rule, steps: int) -> Floats:
    """Run state evolution from ``S = 0``, as message passing would: it ends near a stable root, if slowly."""
    y = _at_zero(evaluator, rule)
    if not np.isfinite(y).all():
        raise NoConvergenceError(None)
    for _ in range(steps):
        y = _pass(evaluator, y, rule, 0.8)
    return y


def _pass(evaluator: Evaluator, y: Floats, rule: Rule, damping: float) -> Floats:
    """One step of message passing, of at most one e-fold before damping."""
    residual = evaluator(y, rule).residual
    if not np.isfinite(residual).all():
        raise NoConvergenceError(None)
    return y + damping * residual / max(1.0, float(np.abs(residual).max()))


def strengthened(penalty: Penalty, factor: float) -> Penalty:
    """The penalty times a factor."""
    if penalty.scaled_by is not None:
        return replace(penalty, **{penalty.scaled_by: factor * penalty.scaling})  # type: ignore[type-var]
    return Strengthened(penalty, factor)


class Strengthened(Penalty):
    """A penalty of one's own, times a factor."""

    def __init__(self, penalty: Penalty, factor: float) -> None:
        self.penalty, self.factor = penalty, factor
        self.lowest, self.kinks = penalty.lowest, penalty.kinks

    def value(self, eigenvalues: ArrayLike, kappa: float) -> Floats:
        return self.factor * self.penalty.value(eigenvalues, kappa)

    def shrink(self, x: ArrayLike, Sigma_hat: float, kappa: float) -> Floats:
        """The factor moves to the other two terms: ``argmin_s r(s) + (Sigma_hat/4 s^2 - s x/2)/factor``."""
        return self.penalty.shrink(np.asarray(x) / self.factor, Sigma_hat / self.factor, kappa)


def _continue(evaluator: Evaluator, factor: float, rule: Rule, tol: float) -> Floats:
    """Follow the solution from a penalty `factor` times as strong down to the one asked for."""
    problem = evaluator.problem

    def at(level: float) -> Evaluator:
        return Evaluator(problem.replace(penalty=strengthened(problem.penalty, factor ** (1.0 - level))))

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
