"""Softmax heads whose mean is seen, and heads with a learned gain: fixed points on independent rules or copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, log2
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import SpectralLaw
from presage.models.multihead.problem import MultiheadProblem
from presage.models.multihead.theory.state_evolution import (
    Point,
    all_cut,
    channel_of,
    equal_start,
    settled_on,
    specialised_start,
)
from presage.models.multihead.theory.weights import OneHead, RidgeWeights, SampledHeads, Weights
from presage.solving.block_channel import BlockState
from presage.solving.copies import averaged, enough_copies, largest, not_reached
from presage.solving.jumps import DOUBTFUL, notes_of, surely

COARSE = 1e-3  # residual of the rule that finds where the fixed point is
PLAIN = 50  # plain steps that equal heads are followed by
OFF = 0.1  # relative error of a number of a finite size, times the size: more than was measured at 40, 80 and 140
ZERO = 0.05  # of the target: overlaps below it need not be known to the accuracy that is asked for
APART = 0.1  # of the specialisation: two fixed points
UNSPECIALISED = 0.15  # 0 but for the noise of copies, which is large along this soft direction
UNSTABLE, UNSTABLE_SIZES = 0.05, 0.2  # relative, what networks are off by where heads are not specialised
ROUNDING = 1e-7  # relative, of everything
SETTLED = 1e-3  # relative change of an overlap in a last step beyond which there is no answer
COARSELY_DRAWN = 0.02  # relative error of a second moment of quantiles that is worth saying

ONE_HEAD = (
    "exact state evolution of one head with a learned gain (replica symmetric); a full value matrix is found up to "
    "that gain, with a relative error that falls as 1/(alpha d)."
)
CLOSED = "exact state evolution with overlaps between all pairs of heads (replica symmetric, Gaussian equivalents)."
NOT_SPECIALISED = (
    "the heads are not specialised: each knows all heads of the target nearly alike. The loss has several minima there "
    "and replica symmetry is probably broken: trust test error and losses to 5 %, and sizes and overlaps of the heads "
    "to 20 %."
)


class Rule(NamedTuple):
    """How finely averages are taken, and at which size weights are drawn where they are."""

    nodes: int
    size: int = 0


class Effort(NamedTuple):
    """What an accuracy costs: points of an average and the size of a matrix, times the accuracy, and copies."""

    nodes: float
    size: float
    first: int
    most: int


FOUND, FOLLOWED = Rule(2**11, 60), Rule(2**9, 40)  # where the fixed point is found, and where equal heads are followed
NODES, SIZES = (2**9, 2**16), (40, 200)  # at least and at most
EFFORTS = {
    "one": Effort(80.0, 0.0, 6, 32),
    "ridge": Effort(100.0, 0.0, 6, 48),
    "sampled": Effort(60.0, 1.3, 12, 64),
}


class Found(NamedTuple):
    """Means over rules with their error bars, and what there is to say."""

    values: dict[str, float]
    bars: dict[str, float]
    said: tuple[str, ...]
    residual: float
    states: tuple[BlockState, ...]
    settled: float = SETTLED  # residual that is an answer


def kind_of(problem: MultiheadProblem) -> str:
    """Which weight side a problem has."""
    if problem.n_heads == 1:
        return "one"
    return "ridge" if problem.penalty == "frobenius" else "sampled"


def weights_of(problem: MultiheadProblem, size: int, seed: int) -> Weights:
    """The weight side of a problem: exact where it is known."""
    sides: dict[str, Callable[[], Weights]] = {
        "one": lambda: OneHead(problem),
        "ridge": lambda: RidgeWeights(problem),
        "sampled": lambda: SampledHeads(problem, size, seed),
    }
    return sides[kind_of(problem)]()


def rule_for(problem: MultiheadProblem, accuracy: float) -> Rule:
    """Points and size for an accuracy; what noise they leave is in the spread over copies."""
    effort = EFFORTS[kind_of(problem)]
    nodes = int(np.clip(2 ** ceil(log2(effort.nodes / accuracy)), *NODES))
    return Rule(nodes, int(np.clip(round(effort.size / accuracy), *SIZES)) if effort.size else 0)


def point_on(
    problem: MultiheadProblem, rule: Rule, seed: int, near: Point | None, tol: float, start: BlockState | None = None
) -> Point:
    """The fixed point of one copy, near another one or from a start."""
    weights, channel = weights_of(problem, rule.size, seed), channel_of(problem, rule.nodes, seed)
    nothing = all_cut(problem, weights, channel) if isinstance(weights, SampledHeads) else None
    if nothing is not None:
        return nothing
    if near is not None and near.state.q.any():
        return settled_on(problem, weights, channel, near.state, tol=tol, slopes=near.slopes)
    return settled_on(problem, weights, channel, start or specialised_start(problem, weights.Q_0), tol=tol)


def solve_averaged(problem: MultiheadProblem, accuracy: float) -> Found:
    """Fixed points of as many copies as an accuracy takes, from the better of two starts."""
    near, said = where(problem)
    rule, effort = rule_for(problem, accuracy), EFFORTS[kind_of(problem)]
    tol = min(1e-4, 0.01 * accuracy)
    floor = ZERO * max(law.second_moment for law in problem.targets)
    floors = dict.fromkeys(("overlap", "cross_target_overlap", "cross_overlap"), floor)

    def worst(points: list[Point]) -> float:
        # More copies are no help where heads are alike, samples jump, or there is no answer.
        hopeless = doubtful(points) or not max(point.residual for point in points) <= SETTLED
        return 0.0 if hopeless else largest(*means(points, rule), floors)

    points = enough_copies(
        lambda seed: point_on(problem, rule, seed + 1, near, tol),
        worst,
        accuracy,
        first=effort.first,
        most=effort.most,
    )
    values, bars = means(points, rule)
    if unspecialised(points):
        bars = {name: bar + shaken(name) * abs(values[name]) for name, bar in bars.items()}
    said = (
        status(problem, rule, len(points)),
        *said,
        *((NOT_SPECIALISED,) if unspecialised(points) else not_reached(largest(values, bars, floors), accuracy)),
        *notes_of(jumps_of(points)),
        *drawn(problem, rule),
    )
    residual, states = max(point.residual for point in points), tuple(point.state for point in points)
    return Found(values, bars, said, residual, states, UNSTABLE if doubtful(points) else SETTLED)


def doubtful(points: Sequence[Point]) -> bool:
    """Whether the theory itself is in doubt: copies settle as closely as samples let them, and the bars say so."""
    return unspecialised(points) or jumps_of(points) > DOUBTFUL


def unspecialised(points: Sequence[Point]) -> bool:
    """Whether heads know all heads of the target alike."""
    return bool(np.mean([point.specialised for point in points]) < UNSPECIALISED)


def jumps_of(points: Sequence[Point]) -> float:
    """Part of the response of samples that is jumps."""
    return surely([point.jumps for point in points])


def where(problem: MultiheadProblem) -> tuple[Point, tuple[str, ...]]:
    """The fixed point on a coarse rule, of two starts the one of lower loss, and what the other was.

    Equal heads are followed on a coarser rule first; where they end elsewhere, both losses are of one rule.
    """
    own = point_on(problem, FOUND, 0, None, COARSE)
    if problem.n_heads == 1 or not own.state.q.any():
        return own, ()
    weights, channel = weights_of(problem, FOLLOWED.size, 0), channel_of(problem, FOLLOWED.nodes, 0)
    start = equal_start(problem, weights.Q_0)
    followed = settled_on(problem, weights, channel, start, tol=COARSE, plain=PLAIN)
    if not followed.residual <= SETTLED or abs(followed.specialised - own.specialised) <= APART:
        return own, ()
    equal = point_on(problem, FOUND, 0, None, COARSE, followed.state)
    if not equal.residual <= SETTLED or abs(equal.specialised - own.specialised) <= APART:
        return own, ()
    low, high = sorted((own, equal), key=lambda point: point.values["train_loss"])
    names = {id(own): "heads like those of the target", id(equal): "equal heads"}
    said = (
        f"two fixed points: the one reported is reached from {names[id(low)]}; from {names[id(high)]} the iteration "
        f"rests at another, of training loss {high.values['train_loss']:.3g} instead of "
        f"{low.values['train_loss']:.3g}, and training may end there."
    )
    return low, (said,)


def means(points: Sequence[Point], rule: Rule) -> tuple[dict[str, float], dict[str, float]]:
    """Mean of every number over rules or copies, and its error bar by their spread and by what a size is off by."""
    values, bars = averaged([point.values for point in points])
    left = ROUNDING + 3.0 * float(np.mean([point.residual for point in points])) + (OFF / rule.size if rule.size else 0)
    return values, {name: bar + left * abs(values[name]) for name, bar in bars.items()}


def shaken(name: str) -> float:
    """What a number may be off by, relative, where replica symmetry is in doubt."""
    return UNSTABLE if name in ("test_error", "train_loss", "train_error") else UNSTABLE_SIZES


def status(problem: MultiheadProblem, rule: Rule, copies: int) -> str:
    """What kind of answer it is."""
    if kind_of(problem) == "sampled":
        return (
            f"Monte Carlo: weights of several heads have no known law, and were found at size {rule.size}, in "
            f"{copies} copies; the error bars are their spread, with {OFF / rule.size:.1%} for the finite size."
        )
    return ONE_HEAD if problem.n_heads == 1 else CLOSED


def drawn(problem: MultiheadProblem, rule: Rule) -> tuple[str, ...]:
    """Laws that a sample of the size of the copies does not resolve."""
    if kind_of(problem) != "sampled":
        return ()
    worst = max(unresolved(law, rule.size) for law in problem.targets)
    if worst <= COARSELY_DRAWN:
        return ()
    return (
        f"a law of the target is drawn at size {rule.size} with a second moment that is {worst:.1%} off before it is "
        "scaled: its largest eigenvalues are not resolved.",
    )


def unresolved(law: SpectralLaw, size: int) -> float:
    """Relative error of the second moment of a law's quantiles."""
    quantiles = law.quantile((np.arange(size) + 0.5) / size)
    return abs(float(np.mean(quantiles**2)) / law.second_moment - 1.0)
