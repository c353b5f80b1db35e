"""The error in every phase by one law: isolated entries on noise, as quick for any d."""

from __future__ import annotations

from functools import cache
from math import exp, log, sqrt

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.diagonal.theory.scaling.laws import bulk_risk, error_of_all_kept, noise_cutoff
from presage.models.diagonal.theory.scaling.power_problem import PowerProblem
from presage.spectra.legendre_panels import ABSCISSAE, WEIGHTS

EDGES = np.array([0.0, 1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0, 2.0, 4.0, 9.0])  # of panels of the sizes of Gaussian entries
LOWEST = -100.0  # logarithm of a noise that is none


def composite_error(p: PowerProblem) -> float:
    """The error of isolated entries on noise.

    Entries above ``t = max(c, delta)``, a fraction w of all, are kept and off by c and by noise; each of the others
    adds the part ``1 - 2 Q(chi)`` of its square to what noise costs:

        alpha = w + (1 - w) 2 Q(chi) + lambda/c,    alpha delta^2 = Delta + R
        R = w (c^2 + delta^2) + (1 - w) delta^2 J(chi) + (1 - 2 Q(chi)) (1/d) sum_{theta_i < t} theta_i^2

    Equation: derived from `diagonal_map`: entries near the cutoff are counted as kept or lost.
    Checked: tests/models/diagonal/test_scaling.py::test_composite_law
    """
    if p.alpha > 1.0:
        c = p.weight_decay / (p.alpha - 1.0)
        noise = sqrt((p.noise + c**2) / (p.alpha - 1.0))
        if c == 0.0 or p.amplitude * p.d**-p.gamma > max(c, noise):
            return error_of_all_kept(p)  # w = 1 solves the equations

    def noise_level(chi: float) -> float:
        """Noise at a cutoff; zero where any noise is more than the error that it makes."""

        def excess(log_delta: float) -> float:
            delta = exp(log_delta)
            return (p.noise + _risk(p, delta, chi)) / (p.alpha * delta**2) - 1.0

        low = high = 0.5 * log((p.Q_0 + p.noise) / p.alpha)
        while excess(low) < 0.0:
            low -= 2.0
            if low < LOWEST:
                return 0.0
        while excess(high) > 0.0:
            high += 2.0
        return exp(float(scipy.optimize.brentq(excess, low, high, xtol=1e-12))) if high > low else exp(low)

    def excess_strength(log_chi: float) -> float:
        chi = exp(log_chi)
        delta = noise_level(chi)
        return (chi * delta * (p.alpha - _kept(p, delta, chi)) if delta > 0.0 else 0.0) - p.weight_decay

    low = log(noise_cutoff(p.alpha)) if p.alpha < 1.0 else -20.0  # noise alone fills all samples there
    high = max(low, 0.0) + 2.0
    while excess_strength(high) < 0.0:
        high += 2.0
    while excess_strength(low) > 0.0:
        low -= 20.0
    chi = exp(float(scipy.optimize.brentq(excess_strength, low, high, xtol=1e-10)))
    return _risk(p, noise_level(chi), chi)


def _risk(p: PowerProblem, delta: float, chi: float) -> float:
    c, Q = chi * delta, float(scipy.special.ndtr(-chi))
    t = max(c, delta)
    w = fraction_above(p, t)
    lost = clipped_squares(p, t) - w * t**2
    return w * (c**2 + delta**2) + (1.0 - w) * delta**2 * bulk_risk(chi) + (1.0 - 2.0 * Q) * lost


def _kept(p: PowerProblem, delta: float, chi: float) -> float:
    w = fraction_above(p, delta * max(chi, 1.0))
    return w + (1.0 - w) * 2.0 * float(scipy.special.ndtr(-chi))


def fraction_above(p: PowerProblem, t: float) -> float:
    """Fraction of entries above t."""
    z, weight = _sizes(p.gaussian)
    return float(weight @ _number_above(p, z, t)) / p.d


def clipped_squares(p: PowerProblem, t: float) -> float:
    """``(1/d) sum_i min(theta_i, t)^2``, by Hurwitz's zeta function.

    Equation: derived: the tail of ``sum i^-2gamma`` is a difference of two zeta functions.
    Checked: tests/models/diagonal/test_scaling.py::test_sums_of_clipped_entries
    """
    z, weight = _sizes(p.gaussian)
    above = _number_above(p, z, t)
    zeta = scipy.special.zeta
    tail = (p.amplitude * z) ** 2 * (zeta(2.0 * p.gamma, above + 1.0) - zeta(2.0 * p.gamma, p.d + 1.0))
    return float(weight @ (above * t**2 + tail)) / p.d


def _number_above(p: PowerProblem, z: Floats, t: float) -> Floats:
    """How many entries of size ``theta_i z`` are above t."""
    return np.floor(np.minimum((p.amplitude * z / t) ** (1.0 / p.gamma), float(p.d)))


@cache
def _sizes(gaussian: bool) -> tuple[Floats, Floats]:
    """Sizes of entries in units of ``theta_i``, and their weights: of Gaussian ones by quadrature."""
    if not gaussian:
        return np.ones(1), np.ones(1)
    width = np.diff(EDGES)[:, None]
    z = (EDGES[:-1, None] + 0.5 * width * (1.0 + ABSCISSAE)).ravel()
    weight = (width * WEIGHTS).ravel() * np.exp(-0.5 * z * z)
    return z, weight / weight.sum()
