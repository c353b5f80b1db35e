"""What the theory says about an adapter on a frozen layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Any, final

import numpy as np

from presage.models.lora.declaration import MEASURED, TRUST
from presage.models.lora.problem import LoraProblem
from presage.models.lora.theory.averages import rule_of
from presage.models.lora.theory.errors import Measured, errors_on, fresh_errors
from presage.models.lora.theory.pretrained import Pretrained, Stage, pretrained
from presage.models.lora.theory.state_evolution import Point, settled_on, start_of, stein_derivatives
from presage.protocol import checks
from presage.protocol.errors import SolveError
from presage.protocol.prediction import Prediction
from presage.solving.vector_state_evolution import Overlaps, mean_and_bar

RULES = 8  # independent scrambles: their spread is the error bar
COARSE = 2**10  # points of the rule that finds where the fixed point is
NODES = {True: (2**11, 2**13, 2**15, 2**17), False: (2**12, 2**14, 2**16)}  # of each rule, linear and softmax
SETTLED, SETTLED_COARSE = 1e-6, 1e-4  # relative change of an overlap in a last step
FINER = 4  # points of a rule for errors of fresh samples, which are cheap, over those of a rule for the overlaps
ROUNDING = 1e-7  # relative, of everything
AIMED_AT = {"overlap": 1.0, "test_error": 4.0}  # error bars over the accuracy that is asked for
REFUSED, DOUBTFUL = 0.05, 0.02  # part of the response that is jumps
BY_MOMENTS = 1e-3  # relative, what the second moment of selected scores leaves open where they are taken for Gaussian
COLUMNS = ("m", "q", "v")


@final
@dataclass(frozen=True)
class LoraSolution(Prediction):
    """Prediction for a trained adapter in the limit of long tokens."""

    problem: LoraProblem
    overlap: float  # cosine of the adapter with the new target
    test_error: float
    frozen_error: float
    oracle_error: float
    gain: float
    norm: float  # |w|^2/d
    train_loss: float  # whole loss over d
    replicon: float
    jump: float
    overlaps: Overlaps = field(compare=False)  # m, q and v, matrices of the columns
    before: Pretrained  # what the fine-tuning knows of the pre-training
    bars: dict[str, float] = field(repr=False, hash=False)
    nodes: int  # points of each rule
    said: tuple[str, ...] = ()

    observables = (*MEASURED, *TRUST)
    compared = tuple(observable.name for observable in MEASURED)

    @property
    def m(self) -> float:
        """Overlap ``w'w_0/d`` of a learned column with its own of the target."""
        return float(self.overlaps.m[0, 0])

    @property
    def q(self) -> float:
        """Squared size of a learned column over d."""
        return float(self.overlaps.q[0, 0])

    @property
    def v(self) -> float:
        """Response of a learned column."""
        return float(self.overlaps.v[0, 0])

    @property
    def error_bars(self) -> dict[str, float]:
        """Spread over the rules, and what the error bars of the pre-training leave open."""
        return dict(self.bars)

    @property
    def caveats(self) -> tuple[str, ...]:
        return (*self.problem.notes, *self.said)


def solve(problem: LoraProblem, *, accuracy: float = 1e-3, throw: bool = True) -> LoraSolution:
    """Predict what the fine-tuning ends in.

    `accuracy` is the relative error bar of the overlap that is aimed at, and a quarter of that of the test error: more
    points are taken until both are reached, or the rules are at their largest. A problem whose samples jump between
    minima has no prediction: with ``throw=False`` what was found is returned all the same, with a caveat.

    Raises:
        SolveError: where more than a twentieth of the response is jumps, or the iteration does not settle.
    """
    accuracy = checks.real(
        "accuracy",
        accuracy,
        at_least=1e-6,
        at_most=0.1,
        reason="it is the relative error bar that is aimed at",
        remedy="Use for example <accuracy=1e-3>.",
    )
    stage = pretrained(problem.pretraining)
    before = stage.numbers
    first = rule_of(problem, before, COARSE, 0)
    guess = settled_on(problem, first, start_of(problem), tol=SETTLED_COARSE)
    shifted = _by_the_pretraining(problem, stage, guess.overlaps)
    start, measured, points, nodes = guess.overlaps, {}, [guess], COARSE
    for nodes in NODES[problem.linear]:
        rules = (rule_of(problem, before, nodes, seed) for seed in range(1, RULES + 1))
        tol = min(SETTLED_COARSE, 1e-2 * accuracy)
        points = [settled_on(problem, rule, start, tol=tol) for rule in rules]
        measured = measured_at(problem, before, points, FINER * nodes)
        start = _mean([point.overlaps for point in points])
        if unsettled(points) > SETTLED_COARSE or not jumps(measured) <= REFUSED:
            break  # finer rules would only say so more precisely
        if all(measured[name].bar <= times * accuracy * abs(measured[name].mean) for name, times in AIMED_AT.items()):
            break
    return _judged(problem, stage, measured, shifted, points, nodes, throw=throw)


def measured_at(problem: LoraProblem, before: Pretrained, points: Sequence[Point], nodes: int) -> dict[str, Measured]:
    """Mean and error bar of every number, of fixed points on independent rules; errors by rules of so many nodes."""
    rows = [values_at(problem, point) for point in points]
    found = {name: Measured(*mean_and_bar([row[name] for row in rows])) for name in rows[0]}
    return {**found, **fresh_errors(problem, before, [point.overlaps for point in points], nodes)}


def jumps(measured: dict[str, Measured]) -> float:
    """The part of the response that is jumps, beyond its error bar; not a number where it is none."""
    beyond = abs(measured["jump"].mean) - measured["jump"].bar
    return 0.0 if beyond <= 0.0 else beyond


def unsettled(points: Sequence[Point]) -> float:
    """The largest relative change of an overlap in a last step."""
    return max(point.residual for point in points)


def values_at(problem: LoraProblem, point: Point) -> dict[str, float]:
    """The numbers of a fixed point that are not errors of fresh samples.

        overlap^2 = Tr m m'/(Tr q^2 Tr q_0^2)^{1/2},   L'/D = alpha' E l + lambda' Tr q

    Equation: derived: the definitions, in overlaps.
    Checked: tests/models/lora/test_check_values.py::test_linear_check_values
    """
    m, q, v = point.overlaps
    averages, q_0, r_0 = point.averages, problem.strength, problem.target_rank
    learned = min(problem.rank, r_0)
    by_products = np.diag(stein_derivatives(averages, point.overlaps, q_0)[1])[:learned].mean()
    assert averages.slope_field is not None
    by_slopes = np.diag(averages.slope_field)[:learned].mean()
    return {
        "overlap": sqrt(float(np.sum(m * m)) / sqrt(float(np.sum(q * q)) * r_0 * q_0**2)),
        "norm": float(np.trace(q)),
        "train_loss": problem.alpha * averages.loss + problem.weight_decay * float(np.trace(q)),
        "replicon": problem.alpha * averages.replicon,
        "jump": float((by_slopes - by_products) / abs(by_products)),
        "m": float(m[0, 0]),
        "q": float(q[0, 0]),
        "v": float(v[0, 0]),
    }


def _mean(states: Sequence[Overlaps]) -> Overlaps:
    return Overlaps(*(np.mean(parts, axis=0) for parts in zip(*states, strict=True)))


def _by_the_pretraining(problem: LoraProblem, stage: Stage, start: Overlaps) -> dict[str, float]:
    """How far each number moves where the overlaps of the pre-training are off by their error bars."""
    if not any(stage.bars):
        return {}

    def at(before: Pretrained) -> dict[str, float]:
        point = settled_on(problem, rule_of(problem, before, COARSE, 0), start, tol=SETTLED)
        errors = errors_on(problem, before, [point.overlaps], COARSE, 0)[0]
        return {**values_at(problem, point), **errors}

    middle, (bar_q, bar_m) = at(stage.numbers), stage.bars
    Q, M = stage.numbers.Q, stage.numbers.M
    # A shift far below the noise of the rule is stretched, and what it does shrunk again.
    stretch = max(1.0, 1e-4 * Q / max(bar_q, bar_m, 1e-300))
    aside = (at(stage.numbers._replace(Q=Q + stretch * bar_q)), at(stage.numbers._replace(M=M - stretch * bar_m)))
    return {name: sqrt(sum((one[name] - value) ** 2 for one in aside)) / stretch for name, value in middle.items()}


def _judged(
    problem: LoraProblem,
    stage: Stage,
    measured: dict[str, Measured],
    shifted: dict[str, float],
    points: list[Point],
    nodes: int,
    *,
    throw: bool,
) -> LoraSolution:
    """The solution with its error bars, what there is to say against it, or an error that carries it."""
    means, bars = {}, {}
    for name, (mean, spread) in measured.items():
        means[name], bars[name] = mean, sqrt(spread**2 + shifted.get(name, 0.0) ** 2) + ROUNDING * abs(mean)
    jump, residual = jumps(measured), unsettled(points)
    said, failure = list(stage.caveats), None
    if problem.linear and problem.selection < 1.0:
        for name in bars.keys() & {"overlap", "test_error", "gain", "norm", "train_loss", *COLUMNS}:
            bars[name] = max(bars[name], BY_MOMENTS * abs(means[name]))
        said.append(
            "of selected scores only the second moment enters for a linear output: overlap and errors are good to "
            f"about {BY_MOMENTS:g}."
        )
    if not jump <= REFUSED:
        failure = (
            f"Samples jump between minima: {jump:.2g} of the response is jumps (above {REFUSED:g}), and the "
            "replica-symmetric prediction is off there.",
            "Use a larger <alpha>, or look at trained adapters with <simulate()>.",
        )
    elif not residual <= SETTLED_COARSE:
        failure = (
            f"The overlaps of the adapter do not settle (they still move by {residual:.1e}).",
            "Use a larger <alpha> or <weight_decay>.",
        )
    elif not measured["jump"].bar <= DOUBTFUL:
        said.append(
            f"whether samples jump between minima cannot be told: the error bar of that part of the response is "
            f"{measured['jump'].bar:.2g} (above {DOUBTFUL:g})."
        )
    if failure is None and jump > DOUBTFUL:
        said.append(
            f"{jump:.2g} of the response is jumps of samples between minima (above {DOUBTFUL:g}): overlap and norm may "
            "be off by a part of that."
        )
    if means["replicon"] >= 1.0:
        said.append(f"the replicon is {means['replicon']:.3g}, above 1: the prediction is not stable, and approximate.")
    if problem.rank > problem.target_rank:
        said.append(
            "spare columns fit noise, and replica symmetry is approximate there (5 % too large where it was measured)."
        )
    if problem.reuse != "nothing":
        said.append("sequences are reused: the prediction is for far fewer of them than the pre-training had.")
    named: dict[str, Any] = {name: mean for name, mean in means.items() if name not in COLUMNS}
    named["jump"] = jump
    overlaps = _mean([point.overlaps for point in points])
    found = LoraSolution(
        problem, **named, overlaps=overlaps, before=stage.numbers, bars=bars, nodes=nodes, said=tuple(said)
    )
    if failure is None:
        return found
    error = SolveError(*failure, found)
    if throw:
        raise error
    return replace(found, said=(str(error), *found.said))
