"""Fixed points of many maps that are nearly the same: one is differentiated, and the others are solved by its slopes.

Averages over different points, or matrices of different drawings, make maps whose slopes differ by little. Where one
came to rest its slopes are taken by differences, and ``x + (1 - J)^-1 (F(x) - x)`` is then nearly Newton's step for all
of them. Its length is how far the fixed point is, also where plain steps creep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from presage.laws.spectral_law import Floats
from presage.solving.vector_state_evolution import Settled, change, flat, settled, whole

State = TypeVar("State", bound=tuple[Floats, ...])

NUDGE = 3e-3  # step of the differences over the largest entry of a matrix
SAME = 10.0  # over the tolerance: a step with and without care
ROUGH = 10.0  # over the tolerance: what an iteration that takes care all the time is stopped at, since samples jump,
MOST_CAREFUL = 40  # and its steps
MOST_STRAIGHT = 30  # steps by slopes that are known: they are few, or of no help
ROUGHLY = 1e-3  # residual from which slopes take over
MOST_SLOPES = 4  # times they are taken anew


class Slopes(NamedTuple):
    """How a map stretches differences from its fixed point, in directions that are orthonormal columns."""

    directions: Floats
    resolvent: Floats  # (1 - J)^-1 within them


class Careful(NamedTuple, Generic[State]):
    """A map of overlaps, where they may be, and what differences they can have; `step` is told whether to take care."""

    step: Callable[[State, bool], State]
    allowed: Callable[[State], bool]
    directions: Floats


def slopes_at(careful: Careful[State], at: State) -> Slopes:
    """Slopes of a map by differences, one evaluation a direction; a direction that cannot be gone is taken as flat."""
    x, directions = flat(at), careful.directions
    sizes = np.concatenate([np.full(part.size, max(float(np.max(np.abs(part))), 1e-12)) for part in at])
    here = flat(careful.step(at, False))
    J = np.zeros((directions.shape[1],) * 2)
    for k, direction in enumerate(directions.T):
        length = NUDGE * float(np.max(sizes * (direction != 0.0)))
        for sign in (1.0, -1.0):
            there = whole(x + sign * length * direction, at)
            if careful.allowed(there):
                J[:, k] = directions.T @ (flat(careful.step(there, False)) - here) / (sign * length)
                break
    return Slopes(directions, np.asarray(np.linalg.pinv(np.eye(len(J)) - J, rcond=1e-9), dtype=np.float64))


def settled_with_care(
    start: State, careful: Careful[State], *, tol: float, most: int, slopes: Slopes | None = None
) -> Settled[State]:
    """Come to rest without care and take a step with it; where that finds something else, go on with care.

    With `slopes` every step is straightened by them, and the residual is the distance that they leave. Samples that
    jump between minima make steps with care uneven: those are stopped earlier.
    """

    def step(now: State, care: bool) -> State:
        new = careful.step(now, care)
        if slopes is None:
            return new
        along = slopes.directions.T @ (flat(new) - flat(now))
        straight = whole(flat(new) + slopes.directions @ (slopes.resolvent @ along - along), now)
        return straight if careful.allowed(straight) else new

    few = most if slopes is None else min(most, MOST_STRAIGHT)
    found = settled(start, lambda now: step(now, False), careful.allowed, tol=tol, most=few)
    new = step(found.overlaps, True)
    if change(found.overlaps, new) <= SAME * tol:
        return found._replace(steps=found.steps + 1)
    again = settled(new, lambda now: step(now, True), careful.allowed, tol=ROUGH * tol, most=min(most, MOST_CAREFUL))
    steps = found.steps + 1 + again.steps
    if again.residual <= ROUGH * tol:
        return again._replace(steps=steps)
    here = found.overlaps  # jumps lead fast steps astray: slow ones, of the map as it is
    for _ in range(MOST_CAREFUL):
        here = whole(0.5 * (flat(here) + flat(careful.step(here, True))), start)
    left = change(here, step(here, True))
    slow = Settled(here, steps + MOST_CAREFUL + 1, left)
    return slow if left < again.residual else again._replace(steps=slow.steps)


def settled_by_newton(start: State, careful: Careful[State], *, tol: float, most: int) -> tuple[Settled[State], Slopes]:
    """Come to rest by Newton's method with slopes that are taken anew while it is far, after steps made straight.

    Checked: tests/solving/test_straightened.py::test_a_map_that_creeps_is_solved
    """
    found = settled_with_care(start, careful, tol=max(tol, ROUGHLY), most=most)
    steps = found.steps
    for _ in range(MOST_SLOPES):
        slopes = slopes_at(careful, found.overlaps)
        found = settled_with_care(found.overlaps, careful, tol=tol, most=most // MOST_SLOPES, slopes=slopes)
        steps += found.steps + careful.directions.shape[1]
        if found.residual <= tol:
            break
    return found._replace(steps=steps), slopes


def directions_of(parts: Sequence[Sequence[Floats]]) -> Floats:
    """Orthonormal columns over states, from patterns that each of their matrices can move by."""
    sizes = [patterns[0].size for patterns in parts]
    columns = np.zeros((sum(sizes), 0))
    for before, size, patterns in zip(np.cumsum([0, *sizes]), sizes, parts, strict=False):
        left, values, _ = np.linalg.svd(np.array([one.ravel() for one in patterns]).T, full_matrices=False)
        block = np.zeros((sum(sizes), int(np.sum(values > 1e-9 * values[0]))))
        block[before : before + size] = left[:, : block.shape[1]]
        columns = np.hstack([columns, block])
    return columns
