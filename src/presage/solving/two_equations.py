"""The two equations of a linear channel, for symmetric matrices and for others: Newton's method, and brackets.

``(risk(delta, c) + noise)/(unit alpha delta^2) = 1`` and ``(I(delta, c) + strength/c)/alpha = 1`` for the noise level
``delta`` and the cutoff ``c``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from math import exp, log
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from presage.laws.spectral_law import Floats
from presage.spectra.quadrature import UnresolvedError

LOST = 5.0  # e-folds of delta from the start: far up both equations seem to be met, at no root
UNRESOLVED = 1e-8  # a residual above this is not a solution yet


class Integrals(Protocol):
    """What the equations need of a spectrum above the cutoff, with every derivative."""

    @property
    def delta(self) -> float: ...
    @property
    def c(self) -> float: ...
    @property
    def I(self) -> float: ...
    @property
    def risk(self) -> float: ...
    @property
    def dI_ddelta(self) -> float: ...
    @property
    def dI_dc(self) -> float: ...
    @property
    def drisk_ddelta(self) -> float: ...
    @property
    def drisk_dc(self) -> float: ...


F = TypeVar("F", bound=Integrals)


class Point(NamedTuple, Generic[F]):
    """A point of the curve: noise level, cutoff, the integrals there and the residual of the two equations."""

    delta: float
    c: float
    functionals: F
    residual: float
    evaluations: int


class TwoEquations(Generic[F]):
    """The two equations at a given alpha and strength of the penalty, and how many times they were evaluated."""

    def __init__(
        self, integrals: Callable[[float, float], F], noise: float, alpha: float, strength: float, unit: float
    ) -> None:
        self.integrals, self.noise, self.alpha, self.strength, self.unit = integrals, noise, alpha, strength, unit
        self.evaluations = 0

    def solve(self, delta: float, c: float, tol: float) -> Point[F]:
        """Newton from a start, and from a bracket where that does not lead to a root."""
        point = self.polish(delta, c, tol)
        if point.residual > UNRESOLVED:
            # Towards perfect recovery the search may end where rounding hides the noise: what there is stays.
            with contextlib.suppress(UnresolvedError):
                point = self.polish(*self.bracket(delta, c), tol)
        return point._replace(evaluations=self.evaluations)

    def at(self, delta: float, c: float) -> F:
        self.evaluations += 1
        return self.integrals(delta, c)

    def residuals(self, f: F) -> tuple[float, float]:
        """Both equations, relative to ``unit alpha delta^2`` and to ``alpha``."""
        first = (f.risk + self.noise) / (self.unit * self.alpha * f.delta**2) - 1.0
        second = (f.I + self.strength / f.c) / self.alpha - 1.0
        return first, second

    def size(self, f: F) -> float:
        return float(np.hypot(*self.residuals(f)))

    def newton_step(self, f: F) -> Floats:
        """Newton's step in ``(log delta, log c)``, of at most two e-folds; every derivative is explicit."""
        first, second = self.residuals(f)
        d, c, unit = f.delta, f.c, self.unit * self.alpha * f.delta**2
        a11, a12 = d * f.drisk_ddelta / unit - 2.0 * (first + 1.0), c * f.drisk_dc / unit
        a21, a22 = d * f.dI_ddelta / self.alpha, (c * f.dI_dc - self.strength / c) / self.alpha
        determinant = a11 * a22 - a12 * a21
        if determinant == 0.0 or not np.isfinite(determinant):
            return np.zeros(2)
        step = np.array([-(a22 * first - a12 * second), -(a11 * second - a21 * first)]) / determinant
        return np.asarray(step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300)))

    def polish(self, delta: float, c: float, tol: float) -> Point[F]:
        """Damped Newton, as long as it makes good progress."""
        f = self.at(delta, c)
        size = self.size(f)
        for _ in range(30):
            if size < tol:
                break
            step = self.newton_step(f)
            if abs(log(f.delta / delta)) > LOST:
                break
            for shrink in (1.0, 0.3, 0.1):
                trial = self.at(f.delta * exp(shrink * step[0]), f.c * exp(shrink * step[1]))
                trial_size = self.size(trial)
                if trial_size < (1.0 - 0.3 * shrink) * size:
                    break
            else:
                break
            f, size = trial, trial_size
        return Point(f.delta, f.c, f, size, self.evaluations)

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
