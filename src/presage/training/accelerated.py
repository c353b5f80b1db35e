"""Accelerated proximal gradient with restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats


class Iterate(NamedTuple):
    """A point of the descent, with the smooth part of the loss and its gradient there."""

    X: Floats
    value: float
    gradient: Floats


def accelerated(
    here: Iterate,
    evaluate: Callable[[Floats], Iterate],
    step: Callable[[Floats, Floats], Floats],
    *,
    whole: Callable[[Iterate], float] | None = None,
) -> Iterator[Iterate]:
    """Points of FISTA [BT09] with restart [OC15] after a start, for a smooth part whose gradient is affine in X.

    `step` is the proximal step from a point along the gradient there. The momentum is dropped where it points uphill,
    and also where the `whole` loss rises if that is given.
    """
    before, momentum = here, 1.0
    loss = inf if whole is None else whole(here)
    while True:
        grown, ahead = next_momentum(momentum)
        # At the extrapolated point the gradient is extrapolated too, without a pass.
        Y, slope = here.X + ahead * (here.X - before.X), here.gradient + ahead * (here.gradient - before.gradient)
        stepped = step(Y, slope)
        restart = points_uphill(Y, stepped, here.X)
        before, here = here, evaluate(stepped)
        if whole is not None:
            last, loss = loss, whole(here)
            restart = restart or loss > last
        momentum = 1.0 if restart else grown
        yield here


def next_momentum(momentum: float) -> tuple[float, float]:
    """The momentum after a step, and how far to go on along the last step before the next one.

    ``t' = (1 + sqrt(1 + 4 t^2))/2`` and ``(t - 1)/t'`` [BT09].
    """
    grown = 0.5 * (1.0 + sqrt(1.0 + 4.0 * momentum**2))
    return grown, (momentum - 1.0) / grown


def points_uphill(Y: Floats, stepped: Floats, X: Floats) -> bool:
    """Whether the step from the extrapolated Y has turned against the way from X [OC15]: the momentum leads uphill."""
    return float(np.sum((Y - stepped) * (stepped - X))) > 0.0
