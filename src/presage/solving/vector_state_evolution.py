"""State evolution of a generalised linear model whose weights are a few vectors: small matrices of overlaps.

k vectors are trained on ``n = alpha d`` samples that see them through k projections each; the data know of k_0 vectors
of the target. What training ends in is told by three matrices, and an iteration between them and their conjugates finds
it. A model says how its samples turn overlaps into conjugates; the weights are the same for all of them: a ridge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import scipy

from presage.laws.spectral_law import Floats

State = TypeVar("State", bound=tuple[Floats, ...])  # a named tuple of arrays


class Overlaps(NamedTuple):
    """What k trained vectors have in common with k_0 of the target, with each other, and how far they give way."""

    m: Floats  # k x k_0: W'W_0/d
    q: Floats  # k x k: W'W/d
    v: Floats  # k x k: response of the weights


class Conjugates(NamedTuple):
    """What the samples say about the weights, and the price of the weights."""

    m_hat: Floats  # k x k_0
    q_hat: Floats  # k x k
    v_hat: Floats  # k x k
    ridge: Floats  # k x k: second derivative of the price in the weights of a coordinate


class Settled(NamedTuple, Generic[State]):
    """Where an iteration came to rest."""

    overlaps: State
    steps: int
    residual: float  # largest change of an entry in the last step, relative to the largest entry of its matrix


def overlaps_of(conjugates: Conjugates, q_0: Floats) -> Overlaps:
    """Overlaps of weights with a ridge that the samples pull at; ``q_0 = W_0'W_0/d`` of the target.

        v = (ridge + v_hat)^-1,   m = v m_hat q_0,   q = v (m_hat q_0 m_hat' + q_hat) v

    Equation: derived: a coordinate of W minimises ``w' (ridge + v_hat) w/2 - w' (m_hat w_0 + sqrt(q_hat) xi)``.
    Checked: tests/solving/test_vector_state_evolution.py::test_ridge_regression_of_two_vectors
    """
    m_hat, q_hat, v_hat, ridge = conjugates
    v = np.linalg.inv(ridge + v_hat)
    m = v @ m_hat @ q_0
    q = v @ (m_hat @ q_0 @ m_hat.T + q_hat) @ v.T
    return Overlaps(m, 0.5 * (q + q.T), 0.5 * (v + v.T))


def settled(
    start: State,
    step: Callable[[State], State],
    allowed: Callable[[State], bool],
    *,
    tol: float,
    most: int,
    memory: int = 4,
) -> Settled[State]:
    """Repeat a step until nothing moves by more than `tol`, or `most` times, in fewer of them than it would take alone.

    The next place is where the last few steps, made straight, would vanish: the combination of the last `memory` places
    whose step is shortest (Anderson's) where it is `allowed`, and half of a plain step where it is not. Who asks looks
    at the residual: an iteration that did not come to rest is no answer.
    """
    now, residual = start, np.inf
    places: list[Floats] = []
    steps: list[Floats] = []
    for count in range(1, most + 1):
        new = step(now)
        residual = change(now, new)
        if not residual > tol:
            return Settled(new, count, residual)
        places, steps = [*places[-memory:], flat(now)], [*steps[-memory:], flat(new) - flat(now)]
        proposed = places[-1] + 0.5 * steps[-1]
        if len(places) > 1:
            moved = np.diff(np.array(places), axis=0).T
            bent = np.diff(np.array(steps), axis=0).T
            sizes = np.maximum(np.abs(flat(new)), 1e-6)
            weights = np.linalg.lstsq(bent / sizes[:, None], steps[-1] / sizes, rcond=1e-10)[0]
            straight = places[-1] + steps[-1] - (moved + bent) @ weights
            proposed = straight if allowed(whole(straight, start)) else proposed
        now = whole(proposed, start)
    return Settled(now, most, residual)


def flat(overlaps: State) -> Floats:
    """All entries in a row."""
    return np.concatenate([part.ravel() for part in overlaps])


def whole(x: Floats, like: State) -> State:
    """Matrices of entries in a row, shaped like others."""
    cuts = np.cumsum([part.size for part in like])[:-1]
    return type(like)(*(part.reshape(old.shape) for part, old in zip(np.split(x, cuts), like, strict=True)))


def change(old: State, new: State) -> float:
    """Largest difference of an entry, relative to the largest of its matrix."""
    sizes = (np.max(np.abs(b - a)) / max(float(np.max(np.abs(b))), 1e-300) for a, b in zip(old, new, strict=True))
    return float(np.max([*sizes]))


def mean_and_bar(rules: Sequence[float] | Floats) -> tuple[float, float]:
    """Mean of a number over independent rules, and the half width of its 95 % interval by Student's law."""
    values = np.asarray(rules, dtype=np.float64)
    few = float(scipy.special.stdtrit(len(values) - 1, 0.975))
    return float(values.mean()), few * float(values.std(ddof=1)) / sqrt(len(values))


def means_and_bars(table: Floats) -> tuple[Floats, Floats]:
    """The same of every column of a table with a row for each rule."""
    few = float(scipy.special.stdtrit(len(table) - 1, 0.975))
    return np.asarray(table.mean(axis=0)), np.asarray(few * table.std(axis=0, ddof=1) / sqrt(len(table)))
