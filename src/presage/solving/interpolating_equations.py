"""The two equations without a penalty, where the cutoff may be negative on the way: no logarithm of it is taken."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.solving.falling_root import falling_root
from presage.solving.two_equations import F, Point, TwoEquations

ROOT = 1e-12  # residual of a root
NOISE_ALONE = 0.25  # I at no cutoff where the noise is all there is
NOT_FOUND = "The noise level of an interpolating network was not found."


@final
class InterpolatingEquations(TwoEquations[F]):
    """The equations of symmetric matrices of least weight among those that fit every label, ``strength = 0``.

    The unknowns are ``(log delta, c/delta)``. With the logarithm of the cutoff Newton's method could not pass through
    zero, and near the threshold, where the cutoff vanishes, it would have to go to minus infinity.
    """

    lost = 12.0

    def __init__(self, integrals: Callable[[float, float], F], noise: float, alpha: float, unit: float) -> None:
        super().__init__(integrals, noise, alpha, 0.0, unit)

    def solve(self, delta: float) -> Point[F]:
        """Newton from a noise level, and from a bracket where that does not lead to a root with a cutoff above zero."""
        point = self.polish(delta, self.cutoff(delta, delta).c, ROOT)
        if point.residual > ROOT or point.c < 0.0:
            point = self.polish(*self.bracket(delta), ROOT)
        return point

    def newton_step(self, f: F) -> Floats | None:
        """Newton's step in ``(log delta, c/delta)``, of at most one; every derivative is explicit."""
        first, second = self.residuals(f)
        d, unit = f.delta, self.unit * self.alpha * f.delta**2
        slopes = np.array(
            [
                [(d * f.drisk_ddelta + f.c * f.drisk_dc) / unit - 2.0 * (first + 1.0), d * f.drisk_dc / unit],
                [(d * f.dI_ddelta + f.c * f.dI_dc) / self.alpha, d * f.dI_dc / self.alpha],
            ]
        )
        if not np.isfinite(slopes).all() or np.linalg.det(slopes) == 0.0:
            return None
        step = -np.linalg.solve(slopes, [first, second])
        return np.asarray(step * min(1.0, 1.0 / float(np.abs(step).max())))

    def moved(self, f: F, step: Floats) -> tuple[float, float]:
        delta = f.delta * exp(step[0])
        return delta, delta * (f.c / f.delta + step[1])

    def cutoff(self, delta: float, c: float) -> F:
        """Solve ``alpha = I(delta, c)`` for c: I falls in c, from 1/2 far below the spectrum to 0 above it."""
        low, high = -np.inf, np.inf
        for _ in range(100):
            f = self.at(delta, c)
            excess = f.I - self.alpha
            if abs(excess) < 1e-13 * self.alpha or high - low < 1e-15 * delta:
                break
            low, high = (c, high) if excess > 0 else (low, c)
            new = c - excess / f.dI_dc if f.dI_dc < 0 else -np.inf
            width = 2.0 * delta
            if not low < new < high or abs(new - c) > width:
                new = 0.5 * (low + high) if np.isfinite(high - low) else c + (width if excess > 0 else -width)
            c = new
        return f

    def bracket(self, delta: float) -> tuple[float, float]:
        """Delta from the first equation, with c from the second: slower than Newton's method, and sure."""
        c = [delta]

        def excess(log_delta: float) -> float:
            f = self.cutoff(exp(log_delta), c[0])
            c[0] = f.c
            return self.residuals(f)[0]

        start = log(delta)
        if self.alpha > NOISE_ALONE:
            # Beyond some noise no cutoff is positive: begin where it is zero, the root is below.
            start = falling_root(lambda x: self.at(exp(x), 0.0).I - self.alpha, start, NOT_FOUND)
        root = exp(falling_root(excess, start, NOT_FOUND, xtol=1e-10))
        return root, self.cutoff(root, c[0]).c
