"""Which part of the features of a law is learned at a time: those of which half is there."""

from __future__ import annotations

from math import exp

import numpy as np
from scipy.special import lambertw

from presage.laws.discrete_law import DiscreteLaw
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.theory.flows.population import half_times

HALVINGS = 80


def learned_fraction(law: SpectralLaw, eps: float, theta: Floats) -> Floats:
    """Part of the features (positive eigenvalues) of which half is learned at each time, from ``S = eps 1``.

    Equation: derived: the mass of the features whose half-time has passed.
    Checked: tests/models/attention/theory/test_flows.py::test_features_are_learned_when_half_of_them_is
    """
    positive = 1.0 - float(law.cdf(0.0))
    if positive <= 0.0:
        return np.zeros(len(theta))
    if isinstance(law, DiscreteLaw):
        s, mass = law.atoms
        when = half_times(s, eps)
        order = np.argsort(when)
        passed = np.concatenate([[0.0], np.cumsum(mass[order])])
        return np.asarray(np.minimum(passed[np.searchsorted(when[order], theta, side="right")] / positive, 1.0))
    low, high = _between(eps, theta)
    return np.asarray(np.clip(1.0 - (law.cdf(high) - law.cdf(low)) / positive, 0.0, 1.0))


def _between(eps: float, theta: Floats) -> tuple[Floats, Floats]:
    """Strengths between which less than half is learned: the half-time rises from ``s = 2 eps`` on, and then falls."""
    # The latest of all half-times is at s = (1 + u) eps with (1 + u)/u = ln u.
    latest = eps * (1.0 + 1.0 / lambertw(exp(-1.0)).real)
    late = theta >= half_times(np.array(latest), eps)
    low = _crossing(eps, theta, np.full(len(theta), 2.0 * eps), np.full(len(theta), latest), rising=True)
    high = _crossing(eps, theta, np.full(len(theta), latest), np.full(len(theta), 1e300), rising=False)
    return np.where(late, latest, low), np.where(late, latest, high)


def _crossing(eps: float, theta: Floats, below: Floats, above: Floats, *, rising: bool) -> Floats:
    """Where the half-time, which rises or falls between, is theta: by halving the logarithm."""
    low, high = np.log(below), np.log(above)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        later = half_times(np.exp(middle), eps) > theta
        up = ~later if rising else later  # whether the crossing lies above
        low, high = np.where(up, middle, low), np.where(up, high, middle)
    return np.exp(0.5 * (low + high))
