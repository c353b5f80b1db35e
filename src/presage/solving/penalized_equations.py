"""The two equations where the cutoff is positive: in the logarithms of noise level and cutoff."""

from __future__ import annotations

from math import exp, log
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.solving.two_equations import F, Point, TwoEquations

UNRESOLVED = 1e-8  # a residual above this is not a solution yet


@final
class PenalizedEquations(TwoEquations[F]):
    """The equations of a minimum with a penalty, or of its limit 0+ where the cutoff stays positive."""

    lost = 5.0  # far up both equations seem to be met, at no root

    def solve(self, delta: float, c: float, tol: float) -> Point[F]:
        """Newton from a start, and from a bracket where that does not lead to a root."""
        point = self.polish(delta, c, tol)
        if point.residual > UNRESOLVED:
            point = self.polish(*self.bracket(delta, c), tol)
        return point._replace(evaluations=self.evaluations)

    def newton_step(self, f: F) -> Floats:
        """Newton's step in ``(log delta, log c)``, of at most two e-folds; every derivative is explicit.

        It is zero where the two equations say the same.
        """
        first, second = self.residuals(f)
        step = self._solved(f, -first, -second)
        return np.asarray(step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300)))

    def tangent(self, f: F) -> Floats:
        """How ``(log delta, log c)`` of the solution changes with ``log alpha``, the penalty being kept.

        Checked: tests/models/attention/theory/test_sequential_recovery.py::test_the_tangent_agrees_with_differences
        """
        first, second = self.residuals(f)  # both are something over alpha, less one
        return self._solved(f, first + 1.0, second + 1.0)

    def _solved(self, f: F, first: float, second: float) -> Floats:
        """The step in ``(log delta, log c)`` that changes the two residuals by so much; zero where there is none."""
        d, c, unit = f.delta, f.c, self.unit * self.alpha * f.delta**2
        a11, a12 = d * f.drisk_ddelta / unit - 2.0 * (self.residuals(f)[0] + 1.0), c * f.drisk_dc / unit
        a21, a22 = d * f.dI_ddelta / self.alpha, (c * f.dI_dc - self.strength / c) / self.alpha
        determinant = a11 * a22 - a12 * a21
        if determinant == 0.0 or not np.isfinite(determinant):
            return np.zeros(2)
        return np.array([a22 * first - a12 * second, a11 * second - a21 * first]) / determinant

    def moved(self, f: F, step: Floats) -> tuple[float, float]:
        return f.delta * exp(step[0]), f.c * exp(step[1])

    def cutoff(self, delta: float, c: float) -> F:
        """Solve the second equation for c at fixed delta, to a few digits, by bracketed Newton from `c`.

        The cutoff is at least ``strength/alpha``, and ``I + strength/c`` decreases in c.
        """
        low, high = log(self.strength / self.alpha) if self.strength > 0.0 else -np.inf, np.inf
        log_c = max(log(c), low)
        for _ in range(80):
            f = self.at(delta, exp(log_c))
            excess = self.residuals(f)[1]
            if abs(excess) < 1e-4 or high - low < 1e-9:
                break
            low, high = (log_c, high) if excess > 0 else (low, log_c)
            slope = (f.c * f.dI_dc - self.strength / f.c) / self.alpha
            new = log_c - excess / slope if slope < 0.0 else np.nan
            if not low < new < high:
                new = 0.5 * (low + high) if np.isfinite(high - low) else log_c + (1.0 if excess > 0 else -1.0)
            log_c = float(np.clip(new, log_c - 2.0, log_c + 2.0))
        return f

    def bracket(self, delta: float, c: float) -> tuple[float, float]:
        """Bracket delta in the first equation, with c from the second, until Newton is safe."""
        f = self.cutoff(delta, c)
        low = high = log(delta)
        step = 0.5
        sign = self.residuals(f)[0] > 0  # too much risk for this delta: the root is above
        while (self.residuals(f)[0] > 0) == sign and low > -40.0 and high < 40.0:
            low, high = (high, high + step) if sign else (low - step, low)
            f = self.cutoff(exp(high if sign else low), f.c * exp(step if sign else -step))
            step = min(1.5 * step, 2.0)  # no further, or it would leap over a root near what rounding can resolve
        while high - low > 0.02:
            middle = 0.5 * (low + high)
            f = self.cutoff(exp(middle), f.c)
            low, high = (middle, high) if self.residuals(f)[0] > 0 else (low, middle)
        return exp(0.5 * (low + high)), f.c
