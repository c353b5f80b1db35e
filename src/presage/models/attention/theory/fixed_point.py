"""The fixed point of state evolution for a channel that needs averages, with an error bar for every observable.

A coarse rule finds the root and its Jacobian; a fine rule needs only a few more evaluations along that Jacobian, and
the same Jacobian turns the spread between independent rules into error bars.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import singledispatch
from math import log, sqrt

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.problem import Problem
from presage.models.attention.theory.newton import (
    OBSERVABLES,
    Evaluator,
    Linearization,
    NoConvergenceError,
    State,
    linearize,
    loss,
)
from presage.models.attention.theory.order_parameters import Conjugates
from presage.models.attention.theory.rules.exact import Exact
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.numeric_sums import MOST_PRODUCT
from presage.models.attention.theory.rules.rule import Rule
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.rules.trapezoid import Trapezoid
from presage.models.attention.theory.search import coarse_rule, search, zero_state

JUMPING = 1e-3  # fraction of samples whose proximal map jumps: with more, few nodes are too rough
SETTLED = 1e-4  # residual of a fine rule that is still an answer; what is left of it goes into the error bars
ROUNDING = 2e-8  # relative: nodes of negligible weight that product rules leave out, and rounding


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


def refine(evaluator: Evaluator, y: Floats, rule: Rule, linear: Linearization, *, tol: float) -> State:
    """Carry the root from the coarse rule to a fine one, along the coarse Jacobian (Broyden's update keeps it good)."""
    resolvent = linear.resolvent.copy()
    state = evaluator(y, rule)
    best = state
    for _ in range(12):
        residual = state.residual
        if not np.isfinite(residual).all():
            raise NoConvergenceError(best)
        if state.size <= best.size:
            best = state
        if state.size < max(tol, 0.1 * state.spread):
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
    # Jumping samples make the map rough on the scale of its own spread. A residual that stays above that is no root but
    # the ghost of one, however small: there state evolution passes slowly and goes on.
    if best.size < max(SETTLED, 2.0 * best.spread):
        return best
    raise NoConvergenceError(best)


def refinements(channel: Channel, jumps: float, most_nodes: int, seed: int) -> Iterator[Rule]:
    """Finer and finer rules for a channel, where a fraction `jumps` of the samples jump."""
    yield from grids(channel, jumps, most_nodes)
    if coarse_rule(channel).exact or channel.n_active == 1:
        return
    replicates = 16
    nodes = 4096 if coarse_rule(channel).regular else 1024
    while nodes * replicates <= most_nodes:
        yield Sobol(nodes, replicates, seed)
        nodes *= 4


@singledispatch
def grids(channel: Channel, jumps: float, most_nodes: int) -> Iterator[Rule]:
    """Rules whose nodes are a grid, as far as they are worth their nodes; scattered points follow."""
    if channel.n_active == 1:
        across = 40
        while across**2 <= most_nodes:
            yield Trapezoid(across)
            across *= 2
    elif channel.n_active <= MOST_PRODUCT:
        yield from (GaussHermite(count, dropped=1e-7) for count in (12, 18, 24))


@grids.register
def _(channel: Linear, jumps: float, most_nodes: int) -> Iterator[Rule]:
    yield Exact()


@grids.register
def _(channel: Softmax, jumps: float, most_nodes: int) -> Iterator[Rule]:
    if channel.n_tokens == 2:
        yield GaussHermite(24)
        if jumps < JUMPING:
            yield GaussHermite(40)


def error_bars(evaluator: Evaluator, state: State, rule: Rule, linear: Linearization) -> tuple[Floats, Floats]:
    """Standard error and 95 % bar of each observable.

    With independent estimates it is the standard error of their mean, each carried through the linearised fixed
    point. With deterministic rules it is the largest distance to a companion rule, carried likewise.
    """
    mean = state.observables.mean(axis=0)
    leftover = np.abs(linear.shift(state.residual))
    if rule.exact:
        return np.zeros_like(mean), leftover + ROUNDING * np.abs(mean)
    companions = rule.companions()
    if companions:
        moves = []
        for companion in companions:
            other = evaluator(state.y, companion)
            moves.append(other.observables.mean(axis=0) - mean + linear.shift(other.target - state.target))
        standard = np.abs(moves).max(axis=0)
        return standard, standard + leftover + ROUNDING * np.abs(mean)
    off = state.mapped - state.mapped.mean(axis=0)
    moves = (state.observables - mean) + off @ (linear.gradient @ linear.resolvent).T
    standard = np.std(moves, axis=0, ddof=1) / sqrt(len(moves))
    return standard, float(scipy.special.stdtrit(len(moves) - 1, 0.975)) * standard + leftover + ROUNDING * np.abs(mean)


def solve_fixed_point(
    problem: Problem,
    *,
    accuracy: float,
    tol: float,
    init: Floats | None = None,
    most_nodes: int = 2**20,
    seed: int = 0,
    rule: Rule | None = None,
) -> FixedPoint:
    """Solve, refining the rule until the relative standard error of test error and loss is below `accuracy`.

    With a `rule` given, that one alone is used.
    """
    evaluator = Evaluator(problem)
    zero = zero_state(evaluator)
    try:
        coarse, linear, route = search(evaluator, init)
    except NoConvergenceError:
        if zero is None:
            raise
        coarse = None
    if zero is not None and (coarse is None or loss(zero) <= loss(coarse) or coarse.side.overlaps.q < 1e-12):
        coarse, route = zero, "the penalty sets the whole matrix to zero"
        linear = linearize(evaluator, zero, coarse_rule(evaluator.channel))
    assert coarse is not None
    ladder = refinements(evaluator.channel, coarse.averages.jumps, most_nodes, seed) if rule is None else iter([rule])
    return refine_until(evaluator, coarse, linear, ladder, accuracy=accuracy, tol=tol, route=route)


def refine_until(
    evaluator: Evaluator,
    coarse: State,
    linear: Linearization,
    ladder: Iterator[Rule],
    *,
    accuracy: float,
    tol: float,
    route: str,
    watched: tuple[str, ...] = ("test_error", "train_loss", "rank"),
) -> FixedPoint:
    """Carry a root of a coarse rule to finer and finer rules until what is watched is known to `accuracy`, relative."""
    y = coarse.y
    rows = [OBSERVABLES.index(name) for name in watched]
    state = None
    for finer in ladder:
        try:
            state = refine(evaluator, y, finer, linear, tol=tol)
        except NoConvergenceError as failure:  # too rough for this rule; a finer one may do
            last = failure
            continue
        used = finer
        standard, bars = error_bars(evaluator, state, used, linear)
        y = state.y
        value = np.abs(state.observables.mean(axis=0)) + 1e-300
        relative = float((standard / value)[[k for k in rows if value[k] > 1e-12]].max(initial=0.0))
        if relative < accuracy:
            break
    if state is None:
        raise last
    named = dict(zip(OBSERVABLES, (float(bar) for bar in bars), strict=True))
    return FixedPoint(state, named, relative, state.size, used, evaluator.evaluations, route)


def log_conjugates(conjugates: Conjugates) -> Floats:
    """The unknown of the iteration, from a solution to start at."""
    return np.array([log(value) for value in conjugates])
