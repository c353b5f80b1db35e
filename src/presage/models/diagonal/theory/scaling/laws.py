"""The leading law of the error in each phase, with its prefactor.

``c`` is the cutoff, ``delta`` the noise on an entry, ``chi = c/delta``, ``phi`` and ``Q`` density and upper tail of a
normal number. Laws are for entries ``A i^-gamma``; M is `PowerProblem.moment`.
"""

from __future__ import annotations

from math import exp, inf, log, pi, sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.models.diagonal.theory.scaling.power_problem import PowerProblem

NEWTON = 60  # steps at most: each doubles the digits
LARGEST = 700.0  # of a logarithm whose exponential is a number
WIDEST = 1e9  # cutoff in units of the noise beyond which nothing is fitted
SMALLEST = -200.0  # logarithm of a cutoff in units of the noise that cuts nothing


class Bulk(NamedTuple):
    """Entries that are all noise: cutoff over noise, noise, and the error that fitting them costs."""

    chi: float
    delta: float
    overfitting: float


def noise_cutoff(alpha: float) -> float:
    """Cutoff over noise at which noise alone fills as many entries as there are samples: ``alpha = 2 Q(chi)``.

    Equation: derived: ``lambda = c (alpha - P)`` at ``lambda = 0`` and ``theta = 0``.
    Checked: tests/models/diagonal/test_scaling.py::test_noise_alone_is_the_whole_of_a_tiny_target
    """
    return float(-scipy.special.ndtri(0.5 * min(alpha, 1.0)))


def bulk_risk(chi: float) -> float:
    """Error of an entry that is zero, over ``delta^2``: ``J(chi) = 2 [(1 + chi^2) Q(chi) - chi phi(chi)]``.

    Equation: derived: `fixed_entries` at ``theta = 0``.
    Checked: tests/models/diagonal/test_scaling.py::test_noise_alone_is_the_whole_of_a_tiny_target
    """
    return 2.0 * ((1.0 + chi**2) * _Q(chi) - chi * _phi(chi))


def bulk(alpha: float, weight_decay: float, variance: float) -> Bulk:
    """A target without any entry, labels of this variance: everything that is fitted is noise.

    ``delta^2 = variance/(alpha - J(chi))``, ``lambda = chi delta (alpha - 2 Q(chi))``, overfitting ``delta^2 J(chi)``.

    Equation: derived: both equations of `diagonal_map` at ``theta = 0``.
    Checked: tests/models/diagonal/test_scaling.py::test_noise_alone_is_the_whole_of_a_tiny_target
    """

    def unused(chi: float) -> float:
        """``alpha - 2 Q(chi)``."""
        return alpha - 1.0 + float(scipy.special.erf(chi / sqrt(2.0)))

    def spare(chi: float) -> float:
        """``alpha - J(chi)``, without cancellation where every sample is used."""
        return unused(chi) + 2.0 * chi * (_phi(chi) - chi * _Q(chi))

    def excess(log_chi: float) -> float:
        chi = exp(log_chi)
        return chi * sqrt(variance / spare(chi)) * unused(chi) - weight_decay

    least = noise_cutoff(alpha)
    chi, low = least, log(least) if least > 0.0 else SMALLEST
    if weight_decay > 0.0 > excess(low):  # a weight decay below rounding is none
        chi = exp(float(scipy.optimize.brentq(excess, low, log(WIDEST), xtol=1e-13)))
    delta = sqrt(variance / spare(chi))
    return Bulk(chi, delta, delta**2 * bulk_risk(chi))


def error_of_nothing_learned(p: PowerProblem) -> float:
    """Phase Ia: the target is not seen, and its labels are noise like any other: ``Q_0 + delta^2 J(chi)``.

    Equation: derived: `bulk` with labels of variance ``Q_0 + Delta``.
    Checked: tests/models/diagonal/test_scaling.py::test_every_phase_has_its_law
    """
    return p.Q_0 + bulk(p.alpha, p.weight_decay, p.Q_0 + p.noise).overfitting


def error_above(p: PowerProblem, c: float) -> float:
    """Entries above c are off by it, those below are lost: ``(2 gamma/(2 gamma - 1)) M A^(1/gamma) c^(2 - 1/gamma)/d``.

    Equation: derived: ``(1/d) sum_i min(theta_i, c)^2``, the sum an integral.
    Checked: tests/models/diagonal/test_scaling.py::test_law_of_the_regularised_phase
    """
    g = p.gamma
    return float(2.0 * g / (2.0 * g - 1.0) * p.moment * p.amplitude ** (1.0 / g) * c ** (2.0 - 1.0 / g) / p.d)


def error_of_weight_decay(p: PowerProblem) -> float:
    """Phase II: the weight decay sets the cutoff, ``c = lambda/alpha``.

    Equation: derived: `error_above` where few entries are kept and the noise is far below the cutoff.
    Checked: tests/models/diagonal/test_scaling.py::test_law_of_the_regularised_phase
    """
    return error_above(p, p.weight_decay / p.alpha)


def error_of_all_kept(p: PowerProblem) -> float:
    """Phase III: every entry is off by c and by noise.

    ``(alpha c^2 + Delta)/(alpha - 1)`` with ``c = lambda/(alpha - 1)``; the leading part is ``c^2``.

    Equation: derived: both equations of `diagonal_map` where every entry is kept: exact then.
    Checked: tests/models/diagonal/test_scaling.py::test_error_with_every_entry_kept_is_exact
    """
    c = p.weight_decay / (p.alpha - 1.0)
    return (p.alpha * c**2 + p.noise) / (p.alpha - 1.0)


def error_of_sequence(p: PowerProblem) -> float:
    """Phase IV: the noise sets the cutoff, ``c = chi delta`` with ``alpha = 2 Q(chi)``.

    R is `error_above` at ``c = chi delta`` with ``delta^2 = (Delta + R)/(alpha - J(chi))``, solved for R: noise is that
    of the labels, of entries that are off, and what fitting both costs.

    Equation: derived: `error_above` at the cutoff of noise alone, and `bulk` with labels of variance ``Delta + R``.
    Checked: tests/models/diagonal/test_scaling.py::test_sum_of_both_noise_limited_laws
    """
    power = 1.0 - 0.5 / p.gamma
    chi = noise_cutoff(p.alpha)
    if chi <= 0.0:
        return 0.0
    log_unit = log(error_above(p, chi * bulk(p.alpha, 0.0, 1.0).delta))  # R = unit (Delta + R)^power
    log_noise = log(p.noise) if p.noise > 0.0 else -inf
    x = log_unit + power * log_noise if p.noise > 0.0 else log_unit / (1.0 - power)
    for _ in range(NEWTON):  # what is left rises and is concave in log R: from below every step is safe
        total = float(np.logaddexp(log_noise, x))
        step = (log_unit + power * total - x) / (1.0 - power * exp(x - total))
        x += step
        if abs(step) < 1e-14 * max(1.0, abs(x)):
            break
    return exp(min(x, LARGEST))


def error_of_overfitting(p: PowerProblem) -> float:
    """Phase V: noise that is fitted, ``delta^2 J(chi)`` with ``alpha = 2 Q(chi)``: about ``Delta/log(d/n)``.

    Equation: derived: `bulk` with labels of variance ``Delta``, without weight decay.
    Checked: tests/models/diagonal/test_scaling.py::test_sum_of_both_noise_limited_laws
    """
    return bulk(p.alpha, 0.0, p.noise).overfitting if p.alpha < 1.0 else inf


def error_limited_by_noise(p: PowerProblem) -> float:
    """Phases IV and V together: entries that are off or lost, and the noise that is fitted beside them.

    Equation: derived: the law of IV, and `bulk` with labels whose noise is increased by it.
    Checked: tests/models/diagonal/test_scaling.py::test_sum_of_both_noise_limited_laws
    """
    lost = error_of_sequence(p)
    return lost + bulk(p.alpha, 0.0, p.noise + lost).overfitting


def error_at_peak(p: PowerProblem) -> float:
    """The peak at as many samples as entries: ``(Delta^2 sqrt(pi/2)/(4 lambda))^(2/3)``.

    Equation: derived: `bulk` at ``alpha = 1`` and small chi.
    Checked: tests/models/diagonal/test_scaling.py::test_peak
    """
    if p.weight_decay == 0.0:
        return inf if p.noise > 0.0 else 0.0
    return float((p.noise**2 * sqrt(pi / 2.0) / (4.0 * p.weight_decay)) ** (2.0 / 3.0))


def error_of_least_squares(p: PowerProblem) -> float:
    """Phase VI: ``Delta/(alpha - 1)``, that of least squares.

    Equation: derived: `error_of_all_kept` without weight decay; lost entries are below the noise there.
    Checked: tests/models/diagonal/test_scaling.py::test_error_of_many_samples
    """
    return p.noise / (p.alpha - 1.0) if p.alpha > 1.0 else inf


def _Q(chi: float) -> float:
    return float(scipy.special.ndtr(-chi))


def _phi(chi: float) -> float:
    return exp(-0.5 * chi * chi) / sqrt(2.0 * pi) if abs(chi) < 38.0 else 0.0
