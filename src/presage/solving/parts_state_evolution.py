"""State evolution of the symmetric and the antisymmetric part of a matrix: fixed points, their numbers and error bars.

A ridge has one fixed point a rule for the data. Drawn matrices have one a drawing; their size and how many there are
follow from the accuracy that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.solving.block_channel import BlockState
from presage.solving.copies import averaged, enough_copies, largest, not_reached
from presage.solving.jumps import DOUBTFUL, surely
from presage.solving.matrix_parts import Data, DrawnParts, PartConjugates, RidgeParts, Weights
from presage.solving.straightened import Careful, Slopes, directions_of, settled_by_newton, settled_with_care

SIZES = (24, 200)  # of the matrices that are drawn: it is one over the accuracy between them
FIRST, MOST = 12, 96  # copies
OFF = 0.1  # relative error of a number of a finite size, times the size: more than was measured at 24, 48, 96 and 160
MOST_STEPS = 200
UNSETTLED = 0.1  # distance from a fixed point beyond which it was not found
PATTERNS = [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])]  # by which overlaps can move
ZERO = 0.05  # of the size of the target: overlaps below it need not be known to the accuracy that is asked for
DRAWN = (
    "a token that looks at itself sees the symmetric part of S only, and no law is known for a nuclear norm of two "
    "parts with stiffnesses of their own: the weights were solved for at d = {size} in {copies} drawings, whose "
    "spread is the error bar (networks of d = 60 to 140 had errors up to 4 % above such predictions)."
)


class PartsAnswer(NamedTuple):
    """Numbers of a trained matrix with their bars."""

    values: dict[str, float]
    bars: dict[str, float]
    residual: float
    steps: int
    jumps: float  # part of the response of samples that is jumps
    notes: tuple[str, ...] = ()
    singular_values: Floats | None = None  # of the drawn matrices, increasing; None where they are not drawn


class Point(NamedTuple):
    """A fixed point of one rule or drawing."""

    state: BlockState
    conjugates: PartConjugates
    values: dict[str, float]
    residual: float
    steps: int
    slopes: Slopes | None
    singular_values: Floats | None = None


def settled_parts(
    data: Data,
    weights: Weights,
    rho_0: Floats,
    *,
    start: BlockState,
    learns_gain: bool,
    tol: float,
    slopes: Slopes | None,
) -> Point:
    """Where data and weights agree; without slopes of another fixed point they are taken on the way."""

    def step(state: BlockState, careful: bool) -> BlockState:
        found = data(state.overlaps, float(state.gain[0]), careful)
        gain = state.gain if found.gain is None else np.array([found.gain])
        return BlockState(*weights.overlaps(found.hats), gain)

    def allowed(state: BlockState) -> bool:
        m, q, Sigma = (np.diag(matrix) for matrix in state.overlaps)
        known = np.diag(rho_0) * q - m * m
        possible = np.all(q > 0.0) and np.all(Sigma > 0.0) and np.all(known >= 0.0) and state.gain[0] > 0.0
        return bool(possible and np.isfinite(m).all())

    moves = np.array([float(learns_gain)])
    careful = Careful(step, allowed, directions_of([PATTERNS, PATTERNS, PATTERNS, [moves]]))
    if slopes is None:
        found, slopes = settled_by_newton(start, careful, tol=tol, most=MOST_STEPS)
    else:
        found = settled_with_care(start, careful, tol=tol, most=MOST_STEPS, slopes=slopes)
    state = found.overlaps
    at_rest = data(state.overlaps, float(state.gain[0]), True)
    return Point(state, at_rest, {}, found.residual, found.steps, slopes)


def solve_ridge_parts(
    make_data: Callable[[Floats, int], Data],
    Q_0: Floats,
    *,
    alpha: float,
    noise: float,
    tau: float,
    gain: float | None,
    tol: float,
    accuracy: float,
    first: int,
    most: int,
) -> PartsAnswer:
    """A ridge on both parts; `make_data` is asked with the variances of the target's scores and a seed.

    `gain` is that of the target's outputs, from which a learned one begins; None where none is learned.

    Equation: derived, ``loss/d^2 = alpha train + tau (q_s + q_a)``.
    Checked: tests/models/untied/theory/test_check_values.py::test_a_ridge_on_a_token_that_looks_at_itself
    """
    rho_0, floors = np.diag(Q_0 + 0.5 * noise), floors_of(Q_0)
    pilot: list[Point] = []

    def make(seed: int) -> Point:
        data, weights = make_data(rho_0, seed), RidgeParts(Q_0, tau)
        start, slopes = (pilot[0].state, pilot[0].slopes) if pilot else (half(Q_0, alpha, gain), None)
        one = settled_parts(
            data, weights, rho_0, start=start, learns_gain=gain is not None, tol=0.1 * tol, slopes=slopes
        )
        pilot.append(one)
        cost = tau * float(np.trace(one.state.q))
        return one._replace(values=numbers(one, Q_0, alpha, cost) | {"rank": 1.0})

    def told(points: list[Point]) -> tuple[dict[str, float], dict[str, float]]:
        if len(points) == 1:
            return points[0].values, dict.fromkeys(points[0].values, 0.0)
        return averaged([one.values for one in points])

    points = enough_copies(make, lambda some: worst(some, *told(some), floors), accuracy, first=first, most=most)
    values, bars = told(points)
    return answer_of(points, values, bars, not_reached(largest(values, bars, floors), accuracy))


def solve_drawn_parts(
    make_data: Callable[[Floats, int], Data],
    draw: Callable[[int, np.random.Generator], Floats],
    *,
    alpha: float,
    noise: float,
    threshold: float,
    accuracy: float,
    gain: float | None = None,
) -> PartsAnswer:
    """The nuclear norm, ``threshold d |S|_*``, with targets that are drawn; their own size is that of their scores too.

    Equation: derived, ``loss/d^2 = alpha train + threshold |S|_*/d``.
    Checked: tests/models/untied/theory/test_check_values.py::test_a_token_that_looks_at_itself
    """
    size = size_for(accuracy)
    pilot: list[Point] = []

    def make(seed: int) -> Point:
        rng = np.random.default_rng([20, seed])
        weights = DrawnParts(draw(size, rng), threshold, rng)
        Q_0 = np.diag(weights.Q_0)
        rho_0 = np.diag(Q_0 + 0.5 * noise)
        data, zeros = make_data(rho_0, seed), np.zeros((2, 2))
        nothing = BlockState(zeros, zeros, zeros, first_gain(gain))
        at_nothing = data(nothing.overlaps, float(nothing.gain[0]), False)
        if weights.sampled.are_all_cut(at_nothing.hats):
            one = Point(nothing, at_nothing, {}, 0.0, 1, None)
        else:
            start, slopes = (pilot[0].state, pilot[0].slopes) if pilot else (half(Q_0, alpha, gain), None)
            one = settled_parts(
                data, weights, rho_0, start=start, learns_gain=gain is not None, tol=0.01 * accuracy, slopes=slopes
            )
            pilot.append(one)
        spectrum = weights.singular_values
        values = numbers(one, Q_0, alpha, threshold * float(spectrum.mean()))
        return one._replace(values=values | {"rank": float(np.mean(spectrum > 0.0))}, singular_values=spectrum)

    def told(points: list[Point]) -> tuple[dict[str, float], dict[str, float]]:
        values, bars = averaged([one.values for one in points])
        return values, {name: bar + OFF / size * abs(values[name]) for name, bar in bars.items()}

    floors = floors_of(np.array([0.5, 0.5]))
    points = enough_copies(make, lambda some: worst(some, *told(some), floors), accuracy, first=FIRST, most=MOST)
    values, bars = told(points)
    notes = (DRAWN.format(size=size, copies=len(points)), *not_reached(largest(values, bars, floors), accuracy))
    return answer_of(points, values, bars, notes)


def worst(points: list[Point], values: dict[str, float], bars: dict[str, float], floors: dict[str, float]) -> float:
    """Largest relative error bar; none where samples jump or there is no answer: more copies are no help there."""
    unsettled = not max(one.residual for one in points) <= UNSETTLED
    return 0.0 if unsettled or jumps_of(points) > DOUBTFUL else largest(values, bars, floors)


def jumps_of(points: list[Point]) -> float:
    """Part of the response of samples that is jumps."""
    return surely([one.conjugates.jumps for one in points])


def answer_of(
    points: list[Point], values: dict[str, float], bars: dict[str, float], notes: tuple[str, ...]
) -> PartsAnswer:
    """Means and bars, with what is left of the equations."""
    residual, steps = max(one.residual for one in points), sum(one.steps for one in points)
    # Errors are differences of overlaps: what is left of those counts several times in them.
    left = 3.0 * float(np.mean([one.residual for one in points])) + 1e-14
    bars = {name: bar + left * abs(values[name]) for name, bar in bars.items()}
    spectra = [one.singular_values for one in points if one.singular_values is not None]
    drawn = np.sort(np.concatenate(spectra)) if spectra else None
    return PartsAnswer(values, bars, residual, steps, jumps_of(points), notes, drawn)


def size_for(accuracy: float) -> int:
    """At which size matrices are drawn, so that the finite size is a small part of the accuracy."""
    return int(np.clip(round(1.0 / accuracy), *SIZES))


def half(Q_0: Floats, alpha: float, gain: float | None) -> BlockState:
    """Half learned, as stiff as two tokens make it, with the gain of the target."""
    stiff = 1.0 / (1.0 + 8.0 * alpha)
    overlaps = (np.diag(0.5 * Q_0), np.diag(0.6 * Q_0 + 0.05 * Q_0.sum()), stiff * np.eye(2))
    return BlockState(*overlaps, first_gain(gain))


def first_gain(gain: float | None) -> Floats:
    """The gain to begin with: that of the target, and 1 where none is learned."""
    return np.array([1.0 if gain is None else gain])


def floors_of(Q_0: Floats) -> dict[str, float]:
    """Numbers that may be zero."""
    return dict.fromkeys(("m", "q"), ZERO * float(Q_0.sum()))


def numbers(found: Point, Q_0: Floats, alpha: float, cost: float) -> dict[str, float]:
    """What a fixed point shows."""
    m, q = np.diag(found.state.m), np.diag(found.state.q)
    error, train = Q_0 - 2.0 * m + q, found.conjugates.train
    gain = {} if found.conjugates.gain is None else {"gain": found.conjugates.gain}
    return {
        "test_error": found.conjugates.test,
        "train_error": train,
        "train_loss": alpha * train + cost,
        "estimation_error": float(error.sum()),
        "symmetric_error": float(error[0]),
        "antisymmetric_error": float(error[1]),
        "m": float(m.sum()),
        "q": float(q.sum()),
        **gain,
    }
