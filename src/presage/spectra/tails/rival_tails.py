"""Tails that are mistaken for power laws, the exponential and the lognormal one, set beside a power law."""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

from presage.laws.spectral_law import Floats

WIDEST = 30.0  # how far the top of a lognormal law is looked for on either side, in its own deviations


def vuong(difference: Floats) -> float:
    """Normal score of two fits by the differences of their log-likelihoods, one a number; positive for the first.

        z = sum l_i / (sqrt(m) sd(l))

    Equation: [V89]; [CSN09], appendix C.
    Checked: tests/spectra/test_tails.py::test_the_score_speaks_for_the_law_that_was_drawn
    """
    spread = float(np.std(difference))
    return 0.0 if spread == 0.0 else float(np.mean(difference)) * sqrt(len(difference)) / spread


def vuong_exponential(tail: Floats, likelihood: Floats) -> float:
    """Score of the power law, by its log-likelihood, against an exponential law from the same start.

    `tail` is ln(x/x_min), increasing, and likelihoods are those of these logarithms.
    """
    x = np.exp(tail)
    rate = 1.0 / (float(np.mean(x)) - 1.0)
    return vuong(likelihood - (log(rate) - rate * (x - 1.0) + tail))


def vuong_lognormal(tail: Floats, likelihood: Floats) -> float:
    """Score of the power law against a lognormal law cut at the same start; never above zero, for it is a limit of it.

    The logarithms are then normal and cut at zero: an exponential family, so that the likelihood is largest where
    ``E y`` and ``E y^2`` are those of the numbers. ``E y^2/(E y)^2`` depends on ``t = mu/sigma`` alone and falls from
    2, the power law, to 1.

    Equation: derived: moments of a normal law cut at zero, ``E y = sigma (t + h)``, ``E y^2 = sigma^2 (1 + t (t + h))``
    Checked: tests/spectra/test_tails.py::test_the_lognormal_fit_is_the_largest_likelihood
    """
    fit = cut_normal(tail)
    return 0.0 if fit is None else vuong(likelihood - cut_normal_likelihood(tail, *fit))


def cut_normal(y: Floats) -> tuple[float, float] | None:
    """mu/sigma and sigma of the normal law, cut at zero, of largest likelihood; None where it is a power law."""
    mean = float(np.mean(y))
    wanted = float(np.mean(y**2)) / mean**2
    if wanted >= _ratio(-WIDEST):
        return None
    t = WIDEST if wanted <= _ratio(WIDEST) else float(brentq(lambda at: _ratio(at) - wanted, -WIDEST, WIDEST))
    return t, mean / (t + _hazard(t))


def cut_normal_likelihood(y: Floats, t: float, sigma: float) -> Floats:
    """Log-likelihoods of a normal law cut at zero."""
    return np.asarray(-0.5 * (y / sigma - t) ** 2 - log(sigma) - 0.5 * log(2.0 * pi) - float(log_ndtr(t)))


def _hazard(t: float) -> float:
    return float(np.exp(-0.5 * t * t - 0.5 * log(2.0 * pi) - log_ndtr(t)))


def _ratio(t: float) -> float:
    first = t + _hazard(t)
    return (1.0 + t * first) / first**2


def by_all(logs: Floats, first: int) -> Floats:
    """Log-likelihoods of increasing logarithms from the place `first` on, by the normal law of all, cut there."""
    spread = max(float(np.std(logs, ddof=1)), 1e-300)
    start = logs[first]
    return cut_normal_likelihood(logs[first:] - start, (float(np.mean(logs)) - start) / spread, spread)


def lilliefors(logs: Floats) -> float:
    """Distance of increasing numbers to the normal law of their mean and spread, in units in which 1.035 is surprising.

        D* = D (sqrt(n) - 0.01 + 0.85/sqrt(n))

    Numbers that are normal have it above 1.035 in one case of a hundred.

    Equation: [S74], its case 3: mean and variance unknown.
    Checked: tests/spectra/test_tails.py::test_one_in_a_hundred_normal_samples_is_surprising
    """
    count = len(logs)
    spread = float(np.std(logs, ddof=1))
    if spread == 0.0:
        return float("inf")
    below = ndtr((logs - np.mean(logs)) / spread)
    steps = np.arange(count + 1) / count
    distance = max(float(np.max(below - steps[:-1])), float(np.max(steps[1:] - below)))
    return distance * (sqrt(count) - 0.01 + 0.85 / sqrt(count))
