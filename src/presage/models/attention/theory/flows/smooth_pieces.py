"""A smooth way looked at many times: few places are computed, and the times between are read off polynomials."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from presage.laws.spectral_law import Floats

DEGREE = 28  # of a polynomial of a piece
TAIL = 3  # last coefficients, which say how far off it is
CLOSE = 4e-9  # relative to a number or to one, of these
AIM = 0.01  # of this, in choosing the next piece
WORTH = 1.2  # times of a piece to each degree
LEAST = 48  # times of a piece that is tried


def along(
    times: Floats, state: Floats, advance: Callable[[Floats, float], Floats], look: Callable[[Floats, float], Floats]
) -> Floats:
    """Numbers of a state at increasing times, a row each; ``advance(state, duration)`` is where it is after a while.

    Where a piece of the way has more times than a polynomial has coefficients, and its last ones vanish, the numbers
    are those of the polynomial in the logarithm of the time; elsewhere every time is computed by itself.

    Equation: derived: coefficients of Chebyshev polynomials fall geometrically for an analytic function.
    Checked: tests/models/attention/theory/test_flows.py::test_times_between_are_as_if_computed
    """
    rows: list[Floats] = []
    before, done, ahead, alone = 0.0, 0, 4 * DEGREE, DEGREE
    while done < len(times):
        piece = times[done : done + ahead]
        if len(piece) > WORTH * DEGREE and piece[0] > 0.0:
            places = np.exp(np.log(piece[0]) + (np.log(piece[-1]) - np.log(piece[0])) * _places())
            found, end = _computed(places, state, before, advance, look)
            tail = _tail(found)
            # Of a piece twice as long the last coefficients are 2^DEGREE times as large.
            ahead = int(len(piece) * np.clip((AIM * CLOSE / max(tail, 1e-300)) ** (1.0 / DEGREE), 0.3, 2.0))
            if tail <= CLOSE:
                rows += [*_between(piece, places, found)]
                state, before, done = end, float(places[-1]), done + len(piece)
                ahead, alone = max(ahead, LEAST), DEGREE
                continue
            if ahead >= LEAST:
                continue
            ahead, alone = LEAST, 2 * alone  # nothing is smooth here for a while
        piece = times[done : done + (alone if done else 1)]
        found, state = _computed(piece, state, before, advance, look)
        rows += [*found]
        before, done = float(piece[-1]), done + len(piece)
    return np.array(rows)


def _computed(
    times: Floats,
    state: Floats,
    before: float,
    advance: Callable[[Floats, float], Floats],
    look: Callable[[Floats, float], Floats],
) -> tuple[Floats, Floats]:
    """Numbers at these times one by one, and the state at the last."""
    rows = []
    for time in times:
        state = advance(state, float(time) - before) if time > before else state
        before = float(time)
        rows.append(look(state, before))
    return np.array(rows), state


@cache
def _places() -> Floats:
    """Where the highest polynomial has its extremes, from 0 to 1."""
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * np.arange(DEGREE + 1) / DEGREE))


@cache
def _to_coefficients() -> Floats:
    """From values at the places to coefficients of Chebyshev polynomials."""
    return np.asarray(np.linalg.inv(np.polynomial.chebyshev.chebvander(2.0 * _places() - 1.0, DEGREE)))


def _tail(found: Floats) -> float:
    """The largest of the last coefficients of all columns, relative; infinite where a number is none."""
    coefficients = _to_coefficients()[-TAIL:] @ found
    size = np.maximum(np.max(np.abs(found), axis=0), 1.0)
    tail = float(np.max(np.abs(coefficients) / size))
    return tail if np.isfinite(tail) else np.inf


def _between(times: Floats, places: Floats, found: Floats) -> Floats:
    low, high = np.log(places[0]), np.log(places[-1])
    at = np.clip(2.0 * (np.log(times) - low) / (high - low) - 1.0, -1.0, 1.0)
    return np.asarray(np.polynomial.chebyshev.chebvander(at, DEGREE) @ (_to_coefficients() @ found))
