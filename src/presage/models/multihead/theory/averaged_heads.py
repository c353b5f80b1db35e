"""Softmax heads whose mean is seen, and heads with a learned gain: fixed points on independent rules or copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import SpectralLaw
from presage.models.multihead.problem import MultiheadProblem
from presage.models.multihead.theory.state_evolution import (
    HeadsState,
    Point,
    channel_of,
    equal_start,
    settled_on,
    specialised_start,
)
from presage.models.multihead.theory.weights import OneHead, RidgeWeights, SampledHeads, Weights
from presage.solving.vector_state_evolution import mean_and_bar

COARSE_NODES, COARSE_SIZE, COARSE = 2**11, 60, 1e-3  # of the rule that finds where the fixed point is
EQUAL_NODES, EQUAL_SIZE, PLAIN = 2**9, 40, 50  # of the rule that looks where equal heads go, by so many plain steps
AIMED_AT = {"test_error": 1.0, "train_loss": 1.0, "estimation_error": 2.0}  # error bars over the accuracy asked for
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


class Rung(NamedTuple):
    """How finely averages are taken, and at which size weights are drawn where they are."""

    nodes: int
    copies: int
    size: int = 0


LADDERS = {
    "one": (Rung(2**13, 4), Rung(2**15, 8)),
    "ridge": (Rung(2**12, 8), Rung(2**14, 8)),
    "sampled": (Rung(2**13, 4, 80), Rung(2**14, 6, 100), Rung(2**16, 8, 160)),
}


class Found(NamedTuple):
    """Means over rules with their error bars, and what there is to say."""

    values: dict[str, float]
    bars: dict[str, float]
    said: tuple[str, ...]
    residual: float
    states: tuple[HeadsState, ...]


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


def solve_averaged(problem: MultiheadProblem, accuracy: float) -> Found:
    """Fixed points on finer and finer rules, from the better of two starts, until error bars are as asked for."""
    start, said = where(problem)
    points: list[Point] = []
    values: dict[str, float] = {}
    bars: dict[str, float] = {}
    rung, unspecialised = LADDERS[kind_of(problem)][0], False
    for rung in LADDERS[kind_of(problem)]:
        tol = min(1e-4, 0.01 * accuracy)
        points = []
        for seed in range(1, rung.copies + 1):
            weights = weights_of(problem, rung.size, seed)
            points.append(settled_on(problem, weights, channel_of(problem, rung.nodes, seed), start, tol=tol))
        values, bars = means(points)
        unspecialised = bool(np.mean([point.specialised for point in points]) < UNSPECIALISED)
        if unspecialised or all(bars[name] <= times * accuracy * abs(values[name]) for name, times in AIMED_AT.items()):
            break
    if unspecialised:  # finer rules would not help
        bars = {name: bar + shaken(name) * abs(values[name]) for name, bar in bars.items()}
    said = (status(problem, rung), *said, *((NOT_SPECIALISED,) if unspecialised else ()), *drawn(problem, rung))
    return Found(values, bars, said, max(p.residual for p in points), tuple(p.state for p in points))


def where(problem: MultiheadProblem) -> tuple[HeadsState, tuple[str, ...]]:
    """The fixed point on a coarse rule, of two starts the one of lower loss, and what the other was."""
    weights = weights_of(problem, COARSE_SIZE, 0)
    start = specialised_start(problem, weights.Q_0)
    own = settled_on(problem, weights, channel_of(problem, COARSE_NODES, 0), start, tol=COARSE, rounds=1)
    if problem.n_heads == 1:
        return own.state, ()
    weights = weights_of(problem, EQUAL_SIZE, 0)
    channel = channel_of(problem, EQUAL_NODES, 0)
    equal = settled_on(problem, weights, channel, equal_start(problem, weights.Q_0), tol=COARSE, plain=PLAIN, rounds=1)
    if not equal.residual <= COARSE or abs(equal.specialised - own.specialised) <= APART:
        return own.state, ()
    low, high = sorted((own, equal), key=lambda point: point.values["train_loss"])
    names = {id(own): "heads like those of the target", id(equal): "equal heads"}
    said = (
        f"two fixed points: the one reported is reached from {names[id(low)]}; from {names[id(high)]} the iteration "
        f"rests at another, of training loss {high.values['train_loss']:.3g} instead of "
        f"{low.values['train_loss']:.3g}, and training may end there."
    )
    return low.state, (said,)


def means(points: Sequence[Point]) -> tuple[dict[str, float], dict[str, float]]:
    """Mean of every number over rules or copies, and its error bar by their spread."""
    values, bars = {}, {}
    for name in points[0].values:
        mean, spread = mean_and_bar([point.values[name] for point in points])
        values[name], bars[name] = mean, spread + ROUNDING * abs(mean)
    return values, bars


def shaken(name: str) -> float:
    """What a number may be off by, relative, where replica symmetry is in doubt."""
    return UNSTABLE if name in ("test_error", "train_loss", "train_error") else UNSTABLE_SIZES


def status(problem: MultiheadProblem, rung: Rung) -> str:
    """What kind of answer it is."""
    if kind_of(problem) == "sampled":
        return (
            f"Monte Carlo: weights of several heads have no known law, and were found at size {rung.size}, in "
            f"{rung.copies} copies; the error bars are their spread, and 1 to 2 % beyond may be the finite size."
        )
    return ONE_HEAD if problem.n_heads == 1 else CLOSED


def drawn(problem: MultiheadProblem, rung: Rung) -> tuple[str, ...]:
    """Laws that a sample of the size of the copies does not resolve."""
    if kind_of(problem) != "sampled":
        return ()
    worst = max(unresolved(law, rung.size) for law in problem.targets)
    if worst <= COARSELY_DRAWN:
        return ()
    return (
        f"a law of the target is drawn at size {rung.size} with a second moment that is {worst:.1%} off before it is "
        "scaled: its largest eigenvalues are not resolved.",
    )


def unresolved(law: SpectralLaw, size: int) -> float:
    """Relative error of the second moment of a law's quantiles."""
    quantiles = law.quantile((np.arange(size) + 0.5) / size)
    return abs(float(np.mean(quantiles**2)) / law.second_moment - 1.0)
