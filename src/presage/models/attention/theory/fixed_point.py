"""The fixed point of state evolution for a channel that needs averages: where it is, and how finely it is averaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch
from math import log

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.problem import Problem
from presage.models.attention.theory.log_map import OBSERVABLES, Evaluator, State, loss
from presage.models.attention.theory.order_parameters import Conjugates
from presage.models.attention.theory.rules.cut_lines import LADDER, CutLines
from presage.models.attention.theory.rules.exact import Exact
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.more_starts import MoreStarts
from presage.models.attention.theory.rules.numeric_sums import MOST_PRODUCT
from presage.models.attention.theory.rules.rule import Rule
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.rules.trapezoid import Trapezoid
from presage.models.attention.theory.search import JUMPING, LAST_RESORT, ROUGHLY, coarse_rule, search, zero_state
from presage.solving.newton import Linearization, NoConvergenceError, linearize
from presage.solving.refinement import FixedPoint, refine_until

LIGHTEST = 1e-4  # of the accuracy: total weight of samples that may be left out
ROUGH = 1e-3  # accuracy from which on few nodes are worth a try
CREDIBLE = 0.05  # relative standard error of an answer that was found where another was not
MANY = 0.01  # fraction of samples that jump from which on minima of three and more tokens are looked for again
CHECKED, STARTS = 4096, 24  # samples at which, and starts from where
WATCHED = ("test_error", "train_loss", "rank")  # what is to be known as well as was asked for


def refinements(channel: Channel, jumps: float, accuracy: float, most_nodes: int, seed: int) -> Iterator[Rule]:
    """Finer and finer rules for a channel of whose samples a fraction `jumps` jump, from one that may be enough."""
    yield from grids(channel, jumps, accuracy, most_nodes)
    if coarse_rule(channel).exact or channel.n_active == 1:
        return
    replicates = 16
    nodes = 4096 if coarse_rule(channel).regular else 1024
    while nodes * replicates <= most_nodes:
        yield Sobol(nodes, replicates, seed)
        nodes *= 4


@singledispatch
def grids(channel: Channel, jumps: float, accuracy: float, most_nodes: int) -> Iterator[Rule]:
    """Rules whose nodes are a grid, as far as they are worth their nodes; scattered points follow."""
    if channel.n_active == 1:
        across = 40
        while across**2 <= most_nodes:
            yield Trapezoid(across)
            across *= 2
    elif channel.n_active <= MOST_PRODUCT:
        yield from (GaussHermite(count, dropped=1e-7) for count in (12, 18, 24))


@grids.register
def _(channel: Linear, jumps: float, accuracy: float, most_nodes: int) -> Iterator[Rule]:
    yield Exact()


@grids.register
def _(channel: Softmax, jumps: float, accuracy: float, most_nodes: int) -> Iterator[Rule]:
    if channel.n_tokens == 2:
        if jumps < JUMPING:
            dropped = min(GaussHermite.dropped, LIGHTEST * accuracy)
            counts = (12, 24, 32, 40) if accuracy > ROUGH else (24, 32, 40)
            yield from (GaussHermite(count, dropped=dropped) for count in counts)
        yield from (rule for rule in map(CutLines, LADDER[1:]) if rule.samples <= most_nodes)


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
    """Solve, refining the rule until the relative standard error of test error, loss and rank is below `accuracy`.

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

    def refined(coarse: State, linear: Linearization, route: str) -> FixedPoint:
        jumps = coarse.averages.jumps
        ladder = refinements(evaluator.channel, jumps, accuracy, most_nodes, seed) if rule is None else iter([rule])
        found = refine_until(
            evaluator, coarse, linear, ladder, OBSERVABLES, WATCHED, accuracy=accuracy, tol=tol, route=route
        )
        return with_missed_minima(evaluator, found, linear, seed)

    try:
        return refined(coarse, linear, route)
    except NoConvergenceError:
        if rule is not None or not coarse_rule(evaluator.channel).regular:
            raise
        # A grid of few nodes may have a root where there is none. Scattered points do not err in the same place, and
        # what they lead to is taken if it is known well.
        found = refined(*search(evaluator, None, [(LAST_RESORT, ROUGHLY)]))
        if not found.standard_error < CREDIBLE:
            raise NoConvergenceError(found.state) from None
        return found


def with_missed_minima(evaluator: Evaluator, found: FixedPoint, linear: Linearization, seed: int) -> FixedPoint:
    """The same with what missed minima may do in its bars, where there are proximal maps that may miss some."""
    channel = evaluator.channel
    if not isinstance(channel, Softmax) or channel.n_tokens == 2 or found.state.averages.jumps <= MANY:
        return found
    moved = found.moved(of_missed_minima(evaluator, found.state, linear, seed), WATCHED)
    return replace(moved, evaluations=evaluator.evaluations)


def of_missed_minima(evaluator: Evaluator, state: State, linear: Linearization, seed: int) -> Floats:
    """How far each observable is off for minima of samples that were missed: by those that more starts find.

    Checked: tests/models/attention/theory/test_attention.py::test_minima_that_are_missed_are_in_the_bars
    """
    points = Sobol(CHECKED, 1, seed)
    usual, thorough = (evaluator(state.y, rule) for rule in (points, MoreStarts(points, STARTS)))
    move = (thorough.observables - usual.observables).mean(axis=0) + linear.shift(thorough.target - usual.target)
    return np.asarray(np.abs(move))


def log_conjugates(conjugates: Conjugates) -> Floats:
    """The unknown of the iteration, from a solution to start at."""
    return np.array([log(value) for value in conjugates])
