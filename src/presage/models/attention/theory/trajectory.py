"""The way of a training, predicted: of message passing by state evolution as it iterates, before its fixed point."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import singledispatch
from itertools import islice
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.declaration import FOLLOWED
from presage.models.attention.plain_amp import PlainAMP
from presage.models.attention.population_descent import PopulationDescent
from presage.models.attention.population_flow import PopulationFlow
from presage.models.attention.problem import Problem
from presage.models.attention.theory.flows.matrix_trajectory import matrix_trajectory
from presage.models.attention.theory.flows.population_trajectory import population_descent, population_flow
from presage.models.attention.theory.log_map import may_jump
from presage.models.attention.theory.order_parameters import Conjugates, Overlaps
from presage.models.attention.theory.rules.exact import Exact
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.rule import Averages, Rule
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.search import JUMPING
from presage.models.attention.theory.state_evolution import deviation_given_target, sample_side, weight_side
from presage.protocol import checks
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.protocol.trainer import Trainer
from presage.protocol.trajectory import Trajectory
from presage.solving.vector_state_evolution import mean_and_bar

ROUNDING = 1e-9  # relative, of closed forms and of the spectral integrals
MARGIN = 2.0  # of a bar over the distance of two grids
SCRAMBLES = 6  # independent sets of scattered points
FOLLOWED_WAYS = (PlainAMP, PopulationFlow, PopulationDescent, MatrixFlow, MatrixDescent)
JUMPS = (
    "the proximal map of some samples jumps on the way, where state evolution is a heuristic: messages of finite "
    "networks may go another way."
)
ONE_TOKEN = (
    "with one token a sample its length fluctuates, an effect of about 10/d a step: without damping, networks of "
    "d < 100 or so drift away from this way."
)


class Step(NamedTuple):
    """Where message passing is after some steps."""

    overlaps: Overlaps
    averages: Averages
    estimation_error: float
    rank: float


def evolution(problem: Problem, rule: Rule) -> Iterator[Step]:
    """State evolution from nothing, ``S = 0`` and ``Sigma = 1``: each step is the channel, then the penalty.

    ``(m, q, Sigma) -> (m_hat, q_hat, Sigma_hat) -> (m, q, Sigma)``

    Equation: [BETKZ25] (43)-(44), iterated.
    Checked: tests/models/attention/theory/test_trajectory.py::test_it_ends_at_the_fixed_point
    Checked: tests/models/attention/theory/test_trajectory.py::test_message_passing_goes_this_way
    """
    channel, rho_0 = problem.channel, problem.rho_0
    overlaps, error, rank = Overlaps(m=0.0, q=0.0, Sigma=1.0), problem.Q_0, 0.0
    sigma: float | None = 0.0
    while True:
        averages = rule.averages(channel, rho_0, overlaps, sigma)
        yield Step(overlaps, averages, error, rank)
        # Where p can jump, slopes are taken by Stein's lemma, which needs some variance of z.
        stein = may_jump(channel, averages, overlaps.Sigma) and overlaps.q > 0.0
        m_hat, q_hat, Sigma_hat = sample_side(problem.alpha, averages, stein=stein).mean(axis=0).tolist()
        side = weight_side(problem.penalty, problem.target, problem.kappa, Conjugates(m_hat, q_hat, Sigma_hat))
        overlaps, error, rank = side.overlaps, side.estimation_error, side.rank
        sigma = deviation_given_target(problem, side)


@singledispatch
def rules(channel: Channel, seed: int) -> tuple[Rule, ...]:
    """Ways to average, independent of each other: the spread of the ways that they lead is the error bar."""
    return tuple(Sobol(2048, 1, seed + k) for k in range(SCRAMBLES))


@rules.register
def _(channel: Linear, seed: int) -> tuple[Rule, ...]:
    return (Exact(),)


@rules.register
def _(channel: Softmax, seed: int) -> tuple[Rule, ...]:
    if channel.n_tokens == 2:
        return (GaussHermite(24), GaussHermite(32))
    return rules.dispatch(Channel)(channel, seed)


def trajectory(
    problem: Problem,
    *,
    steps: int = PlainAMP.steps,
    trainer: Trainer | None = None,
    d: int | None = None,
    runs: int | None = None,
    seed: int | None = None,
) -> Trajectory:
    """Predict what a training shows after each of its first `steps` steps, or at so many times.

    Message passing is followed by state evolution. Where outputs are linear, training on infinitely many samples and
    training of the matrix itself are known in closed form.

    Args:
        problem: what is learned.
        steps: how many steps or times are followed; the one before the first counts as step 0.
        trainer: whose: `PlainAMP` (the default); `PopulationFlow` or `PopulationDescent`, of a quadratic network or
            linear attention that sees infinitely many samples; `MatrixFlow` or `MatrixDescent`, of a matrix that is
            trained itself (``Frobenius``) with linear outputs.
        d: dimension of networks that begin at Gaussian weights, of `PopulationFlow`; by default that of the target, or
            100. This and the next are for such starts alone.
        runs: independent Gaussian starts behind an error bar, 8 unless they are given.
        seed: of the points at which samples are averaged, where these are scattered, and of Gaussian starts.
    """
    trainer = PlainAMP() if trainer is None else trainer
    reason, remedy = (
        "these are the ways that are known step by step",
        "Leave it out, or use <trainer=PopulationFlow()>.",
    )
    checks.instance("trainer", trainer, FOLLOWED_WAYS, reason=reason, remedy=remedy)
    trainer = replace(trainer, steps=steps)  # type: ignore[type-var]
    if isinstance(trainer, PopulationFlow):
        return population_flow(problem, trainer, d, runs, seed)
    taken = {"d": d, "runs": runs} if isinstance(trainer, PlainAMP) else {"d": d, "runs": runs, "seed": seed}
    for name, value in taken.items():
        if value is not None:
            reason, remedy = "it is for starts that are drawn, and here none is", "Leave it out."
            raise checks.complaint(name, "be left out here", reason, value, remedy)
    if isinstance(trainer, PopulationDescent):
        return population_descent(problem, trainer)
    if isinstance(trainer, MatrixFlow | MatrixDescent):
        return matrix_trajectory(problem, trainer)
    assert isinstance(trainer, PlainAMP)
    return _message_passing(problem, trainer, 0 if seed is None else seed)


def _message_passing(problem: Problem, trainer: PlainAMP, seed: int) -> Trajectory:
    problem.must_have_a_penalty()
    ways = [[*islice(evolution(problem, rule), trainer.steps + 1)] for rule in rules(problem.channel, seed)]
    regular = all(isinstance(rule, GaussHermite | Exact) for rule in rules(problem.channel, seed))
    values, bars = {}, {}
    for one in FOLLOWED:
        table = np.array([[_observed(step, one.name) for step in way] for way in ways])
        values[one.name], bars[one.name] = _grids(table) if regular else _scattered(table)
    jumps = max(step.averages.jumps for way in ways for step in way)
    notes = (*((JUMPS,) if jumps > JUMPING else ()), *((ONE_TOKEN,) if problem.channel.n_tokens == 1 else ()))
    return Trajectory(problem, trainer, FOLLOWED, np.arange(trainer.steps + 1.0), values, bars, notes)


def _observed(step: Step, name: str) -> float:
    return float(step.averages.test_error.mean()) if name == "test_error" else float(getattr(step, name))


def _grids(table: Floats) -> tuple[Floats, Floats]:
    """The way of the finest grid; its distance from the next, the largest so far, shows its error."""
    apart = np.maximum.accumulate(np.abs(table[-1] - table[0]))  # two ways may cross by chance
    return table[-1], MARGIN * apart + ROUNDING * np.abs(table[-1])


def _scattered(table: Floats) -> tuple[Floats, Floats]:
    """Mean and bar over the ways that independent points lead."""
    mean, bar = np.array([mean_and_bar(column) for column in table.T]).T
    return mean, bar + ROUNDING * np.abs(mean)
