"""The limit of low rank: a target of rank ``k d``, ``k -> 0``, and ``abar k d^2`` observed components.

`abar` counts as in `interpolation`: for the softmax it is ``(L_in - 1) alpha/k``. Errors are in units of ``Q_0 = 1``.
"""

from __future__ import annotations

from math import inf, pi, sqrt

import scipy

from presage.laws.spectral_law import SpectralLaw
from presage.protocol import checks


def weak_recovery(target: SpectralLaw, noise: float) -> float:
    """Labels from which on anything of the target is learned, in the limit of low rank.

    ``abar = alpha/k = 1/2 + Delta/(4 Q_0)``, for vanishing weight decay and for the best of all methods alike: the
    eigenvalue ``sqrt(Q_0/k)`` of a target of low rank k then equals the noise ``sqrt((Q_0 + Delta/2)/(2 alpha))``.

    Equation: [ETZK25], [MTMKZ24] for ``Q_0 = 1``.
    Checked: tests/models/attention/theory/test_low_rank.py::test_weak_recovery_is_where_the_error_leaves_one
    """
    Q_0 = target.second_moment
    return target.nonzero * (0.5 + 0.25 * noise / Q_0) if Q_0 > 0.0 else inf


def low_rank_noise(abar: float, noise: float = 0.0) -> float:
    """Noise over the eigenvalue of the target, ``t = sqrt(k) delta``: ``2 abar t^2 = Delta/2 + MSE(t)``.

    Equation: [ETZK25].
    Checked: tests/models/attention/theory/test_low_rank.py::test_low_rank_error_is_the_limit_of_the_equations
    Checked: tests/models/attention/theory/test_low_rank.py::test_clean_labels_beyond_three_are_recovered
    """
    abar, noise = _numbers(abar, noise)
    if 2.0 * abar <= 1.0 + 0.5 * noise:
        return sqrt((1.0 + 0.5 * noise) / (2.0 * abar))
    if noise == 0.0:
        # t^2 divides out: 2 abar = 6 - 8 t + 3 t^2.
        return (4.0 - sqrt(16.0 - 3.0 * (6.0 - 2.0 * abar))) / 3.0 if abar < 3.0 else 0.0

    def excess(t: float) -> float:
        return 2.0 * abar * t * t - 0.5 * noise - _squared_error(t)

    return float(scipy.optimize.brentq(excess, 0.0, 1.0, xtol=1e-15))


def _squared_error(t: float) -> float:
    return 6.0 * t**2 - 8.0 * t**3 + 3.0 * t**4 if t < 1.0 else 1.0


def low_rank_error(abar: float, noise: float = 0.0) -> float:
    """Estimation error of vanishing weight decay: ``6 t^2 - 8 t^3 + 3 t^4``, one where ``t >= 1``.

    Equation: [ETZK25].
    Checked: tests/models/attention/theory/test_low_rank.py::test_low_rank_error_is_the_limit_of_the_equations
    """
    return _squared_error(low_rank_noise(abar, noise))


def low_rank_bayes_error(abar: float) -> float:
    """Least estimation error of any method, for clean labels: ``4 abar (1 - abar)`` from 1/2 to 1.

    Equation: [MTMKZ24].
    Checked: tests/models/attention/theory/test_low_rank.py::test_low_rank_bayes_error_is_the_limit_of_the_equations
    Checked: tests/models/attention/theory/test_low_rank.py::test_low_rank_bayes_error_falls_from_one_to_zero
    """
    abar, _ = _numbers(abar, 0.0)
    if abar <= 0.5:
        return 1.0
    return 4.0 * abar * (1.0 - abar) if abar < 1.0 else 0.0


def low_rank_rank(k: float, abar: float, noise: float = 0.0) -> float:
    """Rank of what vanishing weight decay learns of a target of rank k: it grows as ``k^(3/5)``, far above k.

    ``rank = (2/(3 pi)) [(15 pi/4) k (abar - (1-t)^2)]^(3/5)``: the cutoff enters the edge of the noise until the
    eigenvalues above it, together with those of the target, can fit all labels.

    Equation: derived: ``alpha = I(delta, c)`` with the density ``sqrt(e/delta)/(pi delta)`` at the distance e from the
    edge of a semicircle of radius ``2 delta``; the power is that of [ETZK25].
    Checked: tests/models/attention/theory/test_low_rank.py::test_rank_grows_as_the_three_fifths_power
    """
    reason, remedy = "it is the rank of the target over d", "Use for example k=0.01."
    k = checks.real("k", k, at_least=0.0, at_most=1.0, reason=reason, remedy=remedy)
    t = min(low_rank_noise(abar, noise), 1.0)
    unfitted = max(abar - (1.0 - t) ** 2, 0.0)  # labels that the eigenvalues of the target leave to the noise
    return float(2.0 / (3.0 * pi) * (3.75 * pi * k * unfitted) ** 0.6)


def _numbers(abar: float, noise: float) -> tuple[float, float]:
    remedy = "Use for example abar=1.5, noise=0.5."
    reason = "it is the number of observed components over k d^2"
    abar = checks.real("abar", abar, above=0.0, reason=reason, remedy=remedy)
    return abar, checks.real("noise", noise, at_least=0.0, reason="it is a variance", remedy=remedy)
