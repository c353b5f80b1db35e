"""Nuclear norm on a matrix without symmetry: an explicit map ``(delta, c) -> (alpha, lambda)``, nothing to iterate.

The minimiser has the singular values ``(x - c)_+`` of ``M_0 + delta Z``. In this file `alpha` counts measurements over
the entries of the matrix, and `decay` is lambda of ``lambda (|W_1|^2 + |W_2|^2) = 2 lambda sqrt(p N) |M|_*``.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from presage.model.laws import Floats
from presage.model.rectangular import RectangularLaw
from presage.spectra.rectangular import RectangularConvolution, RectangularFunctionals, rectangular_functionals

UNRESOLVED = 1e-8  # a residual above this is not a solution yet


class BilinearPoint(NamedTuple):
    """A point of the curve: noise level, cutoff, the integrals there and the residual of the two equations."""

    delta: float
    c: float
    functionals: RectangularFunctionals
    residual: float
    evaluations: int


def bilinear_map(target: RectangularLaw, noise: float, delta: float, c: float) -> tuple[float, float]:
    """Return ``(alpha, lambda)`` of the point ``(delta, c)``.

    ``alpha delta^2 = Delta + risk(delta, c)``, ``lambda = c (alpha - I)``.

    Equation: derived, as for the LASSO: the noise of the effective observation is that of the labels plus the error of
    the fit, and the threshold is the penalty over one minus the divergence a measurement.
    Checked: tests/test_bilinear.py::test_explicit_map_inverts_solve
    """
    f = rectangular_functionals(target, delta, c)
    alpha = (f.risk + noise) / delta**2
    return alpha, c * (alpha - f.I)


def solve_bilinear_point(
    target: RectangularLaw, noise: float, alpha: float, decay: float, *, tol: float = 1e-12
) -> BilinearPoint:
    """Find ``(delta, c)`` for a given ``(alpha, lambda)``: Newton on the logarithms, from a bracket if need be.

    ``lambda = 0`` is the limit 0+ and needs ``alpha < 1``: there c > 0 and the fit interpolates.

    Equation: derived, the two equations of `bilinear_map`.
    Checked: tests/test_bilinear.py::test_explicit_map_inverts_solve
    """
    equations = _Equations(target, noise, alpha, decay)
    delta, c = sqrt((target.second_moment + noise) / alpha), decay / alpha
    if c >= RectangularConvolution(target, delta).support[-1, 1]:
        return BilinearPoint(delta, c, rectangular_functionals(target, delta, c), 0.0, 1)  # everything is cut
    f = equations.cutoff(delta, max(c, 0.1 * delta))
    point = equations.polish(delta, f.c, tol)
    if point.residual > UNRESOLVED:
        point = equations.polish(*equations.bracket(delta, f.c), tol)
    return point._replace(evaluations=equations.evaluations)


class _Equations:
    """The two equations at fixed ``(alpha, lambda)``, and how many times they were evaluated."""

    def __init__(self, target: RectangularLaw, noise: float, alpha: float, decay: float) -> None:
        self.target, self.noise, self.alpha, self.decay = target, noise, alpha, decay
        self.evaluations = 0

    def at(self, delta: float, c: float) -> RectangularFunctionals:
        self.evaluations += 1
        return rectangular_functionals(self.target, delta, c)

    def residuals(self, f: RectangularFunctionals) -> tuple[float, float]:
        """Both equations, relative to ``alpha delta^2`` and to ``alpha``."""
        first = (f.risk + self.noise) / (self.alpha * f.delta**2) - 1.0
        second = (f.I + self.decay / f.c) / self.alpha - 1.0
        return first, second

    def newton_step(self, f: RectangularFunctionals) -> Floats:
        """Newton's step in ``(log delta, log c)``, of at most two e-folds; every derivative is explicit."""
        first, second = self.residuals(f)
        d, c, unit = f.delta, f.c, self.alpha * f.delta**2
        a11, a12 = d * f.drisk_ddelta / unit - 2.0 * (first + 1.0), c * f.drisk_dc / unit
        a21, a22 = d * f.dI_ddelta / self.alpha, (c * f.dI_dc - self.decay / c) / self.alpha
        determinant = a11 * a22 - a12 * a21
        if determinant == 0.0 or not np.isfinite(determinant):
            return np.zeros(2)
        step = np.array([-(a22 * first - a12 * second), -(a11 * second - a21 * first)]) / determinant
        return np.asarray(step * min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300)))

    def polish(self, delta: float, c: float, tol: float) -> BilinearPoint:
        """Damped Newton, as long as it makes good progress."""
        f = self.at(delta, c)
        size = float(np.hypot(*self.residuals(f)))
        for _ in range(30):
            if size < tol:
                break
            step = self.newton_step(f)
            for shrink in (1.0, 0.3, 0.1):
                trial = self.at(f.delta * exp(shrink * step[0]), f.c * exp(shrink * step[1]))
                trial_size = float(np.hypot(*self.residuals(trial)))
                if trial_size < (1.0 - 0.3 * shrink) * size:
                    break
            else:
                break
            f, size = trial, trial_size
        return BilinearPoint(f.delta, f.c, f, size, self.evaluations)

    def cutoff(self, delta: float, c: float) -> RectangularFunctionals:
        """Solve the second equation for c at fixed delta, to a few digits, by bracketed Newton from `c`.

        The cutoff is at least ``lambda/alpha``, and ``I + lambda/c`` decreases in c.
        """
        low = log(self.decay / self.alpha) if self.decay > 0 else -np.inf
        high = np.inf
        log_c = max(log(c), low)
        for _ in range(80):
            f = self.at(delta, exp(log_c))
            excess = self.residuals(f)[1]
            if abs(excess) < 1e-4 or high - low < 1e-9:
                break
            low, high = (log_c, high) if excess > 0 else (low, log_c)
            slope = (f.c * f.dI_dc - self.decay / f.c) / self.alpha
            new = log_c - excess / slope if slope < 0 else np.nan
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
            step *= 1.5
        while high - low > 0.02:
            middle = 0.5 * (low + high)
            f = self.cutoff(exp(middle), f.c)
            low, high = (middle, high) if self.residuals(f)[0] > 0 else (low, middle)
        return exp(0.5 * (low + high)), f.c
