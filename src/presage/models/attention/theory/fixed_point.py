"""The fixed point of state evolution for a channel that needs averages: where it is, and how finely it is averaged.

A coarse rule finds the root and its Jacobian; a fine rule needs only a few more evaluations along that Jacobian, and
the same Jacobian turns the spread between independent rules into error bars.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from math import log

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.problem import Problem
from presage.models.attention.theory.log_map import OBSERVABLES, Evaluator, loss
from presage.models.attention.theory.order_parameters import Conjugates
from presage.models.attention.theory.rules.exact import Exact
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.numeric_sums import MOST_PRODUCT
from presage.models.attention.theory.rules.rule import Rule
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.rules.trapezoid import Trapezoid
from presage.models.attention.theory.search import coarse_rule, search, zero_state
from presage.solving.newton import NoConvergenceError, linearize
from presage.solving.refinement import FixedPoint, refine_until

WATCHED = ("test_error", "train_loss", "rank")  # what is to be known as well as was asked for
JUMPING = 1e-3  # fraction of samples whose proximal map jumps: with more, few nodes are too rough


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
    return refine_until(
        evaluator, coarse, linear, ladder, OBSERVABLES, WATCHED, accuracy=accuracy, tol=tol, route=route
    )


def log_conjugates(conjugates: Conjugates) -> Floats:
    """The unknown of the iteration, from a solution to start at."""
    return np.array([log(value) for value in conjugates])
