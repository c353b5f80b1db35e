"""How far a square loss of linear outputs is from its minimum, at the most: the duality gap."""

from __future__ import annotations

from math import inf

LOOK = 10  # iterations between two looks at the gap, which costs a spectrum of its own


def relative_gap(loss: float, data: float, along: float, *, curvature: float, largest: float) -> float:
    """Relative gap between a whole loss and a lower bound of it.

    `data` is the sum of squares, ``L = |y - yhat|^2``, in a `loss` that has a convex penalty beside. With
    ``u = 2 t (y - yhat)`` as the dual point the bound is ``t along - t^2 curvature`` with
    ``along = 2 L - <grad L, X>``. The curvature is L, and more by what the conjugate of a quadratic penalty takes; a
    penalty that is a norm allows only t up to the `largest` multiplier. The best t is taken.
    """
    if not data > 0:
        return inf
    t = min(max(along / (2.0 * curvature), 0.0), largest)
    return (loss - (t * along - t * t * curvature)) / loss
