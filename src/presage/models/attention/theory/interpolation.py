"""Linear channels without a penalty: networks that fit their labels exactly, and from where on they cannot.

As in `quadratic`, `alpha` is the number of observed components over d^2: ``L_in alpha`` for linear attention,
``(L_in - 1) alpha`` for the softmax, whose labels hold one direction less.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

import numpy as np
import scipy

from presage.laws.spectral_law import SpectralLaw
from presage.protocol.errors import SolveError
from presage.solving.two_equations import Point
from presage.spectra.symmetric.functionals import Functionals, functionals

LEAST, MOST = log(1e-15), log(1e9)  # of delta: where a search for it gives up
LOST = 12.0  # e-folds of delta from the start at which Newton's method is on the wrong way
NEWTON_STEPS = 30
ROOT = 1e-12  # residual of a root
NOT_FOUND = "The noise level of an interpolating network was not found."


def interpolating_point(target: SpectralLaw, noise: float, alpha: float) -> Point[Functionals]:
    """Network of least weight among those that fit every label: the limit of vanishing weight decay.

    ``2 alpha delta^2 = risk + Delta/2`` and ``alpha = I(delta, c)``, for alpha below the threshold of interpolation
    (clean labels: below that of perfect recovery), where ``c > 0``.

    Equation: [BETKZ25] (64), (65).
    Departs: "- lambda~ dJ/dc" in print is "- dJ/dc" after the rescaling by lambda~. Erratum 3.
    Checked: tests/models/attention/theory/test_ridgeless.py::test_small_weight_decay_approaches_the_limit
    """
    equations = _Interpolating(target, noise, alpha)
    delta = sqrt((target.second_moment + 0.5 * noise) / (2.0 * alpha))
    point = equations.newton(delta, equations.cutoff(delta, delta).c)
    if point.residual > ROOT or point.c < 0.0:
        point = equations.newton(*equations.bracket(delta))
    if point.residual > 1e-8:
        raise SolveError(
            f"The equations of an interpolating network are met only to {point.residual:.1e}.",
            "Use a larger noise, or an alpha further from the threshold.",
        )
    return point


class _Interpolating:
    """The two equations at a given alpha, with every derivative explicit."""

    def __init__(self, target: SpectralLaw, noise: float, alpha: float) -> None:
        self.target, self.noise, self.alpha = target, noise, alpha
        self.evaluations = 0

    def at(self, delta: float, c: float) -> Functionals:
        self.evaluations += 1
        return functionals(self.target, delta, c)

    def residuals(self, f: Functionals) -> tuple[float, float]:
        first = (f.risk + 0.5 * self.noise) / (2.0 * self.alpha * f.delta**2) - 1.0
        return first, f.I / self.alpha - 1.0

    def newton(self, delta: float, c: float) -> Point[Functionals]:
        """Damped Newton in ``(log delta, c/delta)``; the cutoff may be negative on the way."""
        f = self.at(delta, c)
        size = float(np.hypot(*self.residuals(f)))
        for _ in range(NEWTON_STEPS):
            if size < ROOT:
                break
            first, second = self.residuals(f)
            d, unit = f.delta, 2.0 * self.alpha * f.delta**2
            slopes = np.array(
                [
                    [(d * f.drisk_ddelta + f.c * f.drisk_dc) / unit - 2.0 * (first + 1.0), d * f.drisk_dc / unit],
                    [(d * f.dI_ddelta + f.c * f.dI_dc) / self.alpha, d * f.dI_dc / self.alpha],
                ]
            )
            lost = not np.isfinite(slopes).all() or np.linalg.det(slopes) == 0.0 or abs(log(d / delta)) > LOST
            if lost:
                break
            step = -np.linalg.solve(slopes, [first, second])
            step *= min(1.0, 1.0 / float(np.abs(step).max()))
            for shrink in (1.0, 0.3, 0.1):
                new = d * exp(shrink * step[0])
                trial = self.at(new, new * (f.c / d + shrink * step[1]))
                trial_size = float(np.hypot(*self.residuals(trial)))
                if trial_size < (1.0 - 0.3 * shrink) * size:
                    break
            else:
                break
            f, size = trial, trial_size
        return Point(f.delta, f.c, f, size, self.evaluations)

    def cutoff(self, delta: float, c: float) -> Functionals:
        """Solve ``alpha = I(delta, c)`` for c: I falls in c, from 1/2 far below the spectrum to 0 above it."""
        low, high = -np.inf, np.inf
        for _ in range(100):
            f = self.at(delta, c)
            excess = f.I - self.alpha
            if abs(excess) < 1e-13 * self.alpha or high - low < 1e-15 * delta:
                break
            low, high = (c, high) if excess > 0 else (low, c)
            new = c + excess / f.hilbert if f.hilbert > 0 else -np.inf
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
        if self.alpha > 0.25:  # beyond some noise no cutoff is positive: begin where it is zero, the root is below
            start = _root(lambda x: self.at(exp(x), 0.0).I - self.alpha, start, NOT_FOUND)
        root = exp(_root(excess, start, NOT_FOUND, xtol=1e-10))
        return root, self.cutoff(root, c[0]).c


def unpenalized_point(target: SpectralLaw, noise: float, alpha: float) -> Point[Functionals]:
    """Minimum of the loss over all ``S >= 0`` once there are more labels than a network can fit: a cutoff of zero.

    ``2 alpha delta^2 = risk(delta, 0) + Delta/2``.

    Equation: [ETZK25], its first equation at lambda = 0.
    Checked: tests/models/attention/theory/test_ridgeless.py::test_small_weight_decay_approaches_the_limit
    """
    tried: list[Functionals] = []

    def excess(log_delta: float) -> float:
        tried.append(functionals(target, exp(log_delta), 0.0))
        return (tried[-1].risk + 0.5 * noise) / (2.0 * alpha * tried[-1].delta ** 2) - 1.0

    high = 0.5 * log((target.second_moment + 0.5 * noise) / (2.0 * alpha))
    root = _root(excess, high, "The noise level of an unpenalised network was not found.")
    residual = abs(excess(root))
    return Point(tried[-1].delta, 0.0, tried[-1], residual, len(tried))


def interpolation_threshold(target: SpectralLaw, noise: float) -> float:
    """Most labels that a positive semidefinite S can fit, over d^2.

    ``alpha = I(delta, 0)`` with ``Q_0 + Delta/2 = J - (delta/2) dJ/ddelta`` at ``c = 0``. Without noise it is the
    limit of vanishing noise: for a target that is itself positive semidefinite delta goes to zero there. Where no
    delta is large enough (a target of mean zero or below), the weights diverge at 1/4 as for labels without a signal.

    Equation: [BETKZ25], section on interpolation, at c = 0.
    Checked: tests/models/attention/theory/test_thresholds.py::test_interpolation_without_noise_in_closed_form
    Checked: tests/models/attention/theory/test_thresholds.py::test_interpolation_without_a_signal_is_ellipsoid_fitting
    """
    rho_0 = target.second_moment + 0.5 * noise
    if noise == 0.0 and target.support[0, 0] >= 0.0:
        zero = 1.0 - target.nonzero
        return 0.5 * (1.0 - zero**2) + 0.25 * zero**2

    def excess(log_delta: float) -> float:
        f = functionals(target, exp(log_delta), 0.0)
        return 1.0 - (f.J - 2.0 * f.delta**2 * f.I) / rho_0

    start = 0.5 * log(rho_0)
    if excess(start + 10.0) > 0.0:
        return 0.25
    root = _root(excess, start, "The interpolation threshold was not found.")
    return functionals(target, exp(root), 0.0).I


def _root(excess: Callable[[float], float], start: float, failure: str, xtol: float = 1e-13) -> float:
    """Root of a function that is positive far below it and negative far above, from a start near it."""
    low = high = start
    step = 0.5
    rising = excess(start) > 0.0
    while rising == (excess(high if rising else low) > 0.0):
        if not LEAST < low <= high < MOST:
            raise SolveError(failure, "Use a larger noise, or an alpha further from the threshold.")
        low, high = (high, min(high + step, MOST)) if rising else (max(low - step, LEAST), low)
        step *= 2.0
    return float(scipy.optimize.brentq(excess, low, high, xtol=xtol, rtol=1e-14))
