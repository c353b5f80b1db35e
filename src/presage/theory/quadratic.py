"""Linear channels: the two equations are an explicit map ``(delta, c) -> (alpha, lambda~)``, with nothing to iterate.

The quadratic network is one token; linear attention is the same at ``alpha L_in``. In this file `alpha` is that
product.
"""

from __future__ import annotations

from math import asin, exp, log, pi, sin, sqrt
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from presage.model.laws import Floats, SpectralLaw
from presage.spectra.free import FreeConvolution
from presage.spectra.functionals import Functionals, functionals

UNRESOLVED = 1e-8  # a residual above this is not a solution yet


class Point(NamedTuple):
    """A point of the curve: noise level, cutoff, the integrals there and the residual of the two equations."""

    delta: float
    c: float
    functionals: Functionals
    residual: float
    evaluations: int


def explicit_map(target: SpectralLaw, noise: float, delta: float, c: float) -> tuple[float, float]:
    """Return ``(alpha, lambda~)`` of the point ``(delta, c)``.

    ``2 alpha delta^2 = Q_0 + Delta/2 + 4 delta^2 I - int_c (x^2 - c^2) mu_delta``, ``lambda~ = 4 c (alpha - I)``.

    Equation: [ETZK25], its two equations with J differentiated.
    Checked: tests/test_quadratic.py::test_explicit_map_inverts_solve
    """
    f = functionals(target, delta, c)
    alpha = (f.risk + 0.5 * noise) / (2.0 * delta**2)
    return alpha, 4.0 * c * (alpha - f.I)


def solve_point(target: SpectralLaw, noise: float, alpha: float, lambda_tilde: float, *, tol: float = 1e-12) -> Point:
    """Find ``(delta, c)`` for a given ``(alpha, lambda~)``: Newton on the logarithms, from a bracket if need be.

    The minimum of the convex loss is unique, and so is the root. At fixed delta the second equation is monotone in c
    (``int_c h mu > 0``), which makes the search by brackets safe.

    Equation: [ETZK25], its two equations.
    Checked: tests/test_quadratic.py::test_check_values
    """
    rho_0 = target.second_moment + 0.5 * noise
    delta, c = sqrt(rho_0 / (2.0 * alpha)), lambda_tilde / (4.0 * alpha)
    if c >= FreeConvolution(target, delta).support[-1, 1]:
        return Point(delta, c, functionals(target, delta, c), 0.0, 1)
    equations = _Equations(target, noise, alpha, lambda_tilde)
    point = equations.polish(delta, delta * _cutoff_without_signal(alpha, lambda_tilde / delta), tol)
    if point.residual > UNRESOLVED:
        start = equations.bracket(delta, point.c)
        point = equations.polish(*start, tol)
    return point._replace(evaluations=equations.evaluations)


class _Equations:
    """The two equations at fixed ``(alpha, lambda~)``, and how many times they were evaluated."""

    def __init__(self, target: SpectralLaw, noise: float, alpha: float, lambda_tilde: float) -> None:
        self.target, self.noise, self.alpha, self.lambda_tilde = target, noise, alpha, lambda_tilde
        self.evaluations = 0

    def at(self, delta: float, c: float) -> Functionals:
        self.evaluations += 1
        return functionals(self.target, delta, c)

    def residuals(self, f: Functionals) -> tuple[float, float]:
        """Both equations, relative to ``2 alpha delta^2`` and to ``alpha``."""
        first = (f.risk + 0.5 * self.noise) / (2.0 * self.alpha * f.delta**2) - 1.0
        second = (f.I + self.lambda_tilde / (4.0 * f.c)) / self.alpha - 1.0
        return first, second

    def size(self, f: Functionals) -> float:
        return float(np.hypot(*self.residuals(f)))

    def newton_step(self, f: Functionals) -> Floats:
        """Newton's step in ``(log delta, log c)``, of at most two e-folds; every derivative is explicit."""
        first, second = self.residuals(f)
        d, c, unit = f.delta, f.c, 2.0 * self.alpha * f.delta**2
        risk_d = 4.0 * d * f.I + 4.0 * d**2 * f.dI_ddelta - 4.0 * c * d * f.hilbert
        risk_c = -4.0 * d**2 * f.hilbert + 2.0 * c * f.rank
        a11, a12 = d * risk_d / unit - 2.0 * (first + 1.0), c * risk_c / unit
        a21, a22 = d * f.dI_ddelta / self.alpha, (c * f.dI_dc - self.lambda_tilde / (4.0 * c)) / self.alpha
        determinant = a11 * a22 - a12 * a21
        if determinant == 0.0 or not np.isfinite(determinant):
            return np.zeros(2)
        step = np.array([-(a22 * first - a12 * second), -(a11 * second - a21 * first)]) / determinant
        return np.asarray(step * min(1.0, 2.0 / np.abs(step).max()))

    def polish(self, delta: float, c: float, tol: float) -> Point:
        """Damped Newton, as long as it makes good progress."""
        f = self.at(delta, c)
        size = self.size(f)
        for _ in range(30):
            if size < tol:
                break
            step = self.newton_step(f)
            for shrink in (1.0, 0.3, 0.1):
                trial = self.at(f.delta * exp(shrink * step[0]), f.c * exp(shrink * step[1]))
                trial_size = self.size(trial)
                if trial_size < (1.0 - 0.3 * shrink) * size:
                    break
            else:
                break
            f, size = trial, trial_size
        return Point(f.delta, f.c, f, size, self.evaluations)

    def cutoff(self, delta: float, c: float) -> Functionals:
        """Solve the second equation for c at fixed delta, to a few digits, by bracketed Newton from `c`."""
        low, high = log(self.lambda_tilde / (4.0 * self.alpha)), np.inf
        log_c = max(log(c), low)
        for _ in range(60):
            f = self.at(delta, exp(log_c))
            excess = self.residuals(f)[1]
            if abs(excess) < 1e-4:
                break
            low, high = (log_c, high) if excess > 0 else (low, log_c)
            slope = (f.c * f.dI_dc - self.lambda_tilde / (4.0 * f.c)) / self.alpha
            new = log_c - excess / slope
            if not low < new < high:
                new = 0.5 * (low + high) if np.isfinite(high) else low + 1.0
            if high - low < 1e-9:
                break
            log_c = min(new, log_c + 2.0)
        return f

    def bracket(self, delta: float, c: float) -> tuple[float, float]:
        """Bracket delta in the first equation, with c from the second, until Newton is safe."""
        f = self.cutoff(delta, c)
        low = high = log(delta)
        step = 0.5
        sign = self.residuals(f)[0] > 0  # too much risk for this delta: the root is above
        while (self.residuals(f)[0] > 0) == sign:
            low, high = (high, high + step) if sign else (low - step, low)
            f = self.cutoff(exp(high if sign else low), f.c)
            step *= 1.5
        while high - low > 0.02:
            middle = 0.5 * (low + high)
            f = self.cutoff(exp(middle), f.c)
            low, high = (middle, high) if self.residuals(f)[0] > 0 else (low, middle)
        return exp(0.5 * (low + high)), f.c


def _cutoff_without_signal(alpha: float, lambda_tilde: float) -> float:
    """Solve ``alpha = I(c) + lambda~/(4c)`` for a unit semicircle alone: where the search for the cutoff starts."""

    def excess(log_c: float) -> float:
        c = exp(log_c)
        angle = asin(min(0.5 * c, 1.0))
        first: float = max(4.0 - c * c, 0.0) ** 1.5 / (6.0 * pi)
        second = (0.5 * pi - angle + 0.25 * sin(4.0 * angle)) / pi
        return 0.5 * (second - c * first) + lambda_tilde / (4.0 * c) - alpha

    low = high = log(lambda_tilde / (4.0 * alpha))
    while excess(high) > 0.0:
        high += 1.0
    return exp(float(brentq(excess, low - 1e-9, high, xtol=1e-3)) if high > low else high)
