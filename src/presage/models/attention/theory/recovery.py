"""From how many clean labels on the target is found exactly: by weight decay, without it, and by any method.

`alpha` is the number of observed components over d^2, as in `interpolation`.
"""

from __future__ import annotations

from math import asin, inf, pi, sin

import numpy as np
import scipy

from presage.laws.spectral_law import SpectralLaw


def perfect_recovery(target: SpectralLaw) -> float:
    """Clean labels from which on vanishing weight decay finds the target: infinite if it is not positive semidefinite.

    ``alpha = (1/2)[1 - (1-k)^2 (M_2(c) - c M_1(c))]`` with ``M_1 - c M_0 + c/(1-k) = 0``, ``M_j`` the moments of the
    unit semicircle below c and k the rank of the target: near recovery noise and cutoff vanish together, the zero
    eigenvalues spread to a semicircle of mass 1-k, and of the others nothing but their number is left.

    Equation: [ETZK25] for a Marchenko-Pastur target; derived for any other, see above.
    Checked: tests/models/attention/theory/test_thresholds.py::test_perfect_recovery_check_values
    Checked: tests/models/attention/theory/test_thresholds.py::test_perfect_recovery_limits
    """
    if target.support[0, 0] < 0.0:
        return inf
    k = target.nonzero
    if k >= 1.0:
        return 0.5

    def condition(c: float) -> float:
        M_0, M_1, _ = _moments_below(c)
        return M_1 - c * M_0 + c / (1.0 - k)

    c = float(scipy.optimize.brentq(condition, 0.0, 2.0, xtol=1e-15)) if condition(2.0) > 0.0 else 2.0
    _, M_1, M_2 = _moments_below(c)
    return 0.5 * (1.0 - (1.0 - k) ** 2 * (M_2 - c * M_1))


def _moments_below(c: float) -> tuple[float, float, float]:
    """``int_-2^c x^j mu_sc(dx)`` for j = 0, 1, 2."""
    angle = asin(min(max(0.5 * c, -1.0), 1.0))
    half = 0.5 * pi + angle
    return (
        (half + 0.5 * sin(2.0 * angle)) / pi,
        -(max(4.0 - c * c, 0.0) ** 1.5) / (6.0 * pi),
        (half - 0.25 * sin(4.0 * angle)) / pi,
    )


def unfactorized_recovery() -> float:
    """Clean labels from which on a symmetric S without any structure is determined: the number of its entries.

    Equation: [BETKZ25], from (66) at a vanishing ridge: ``|S - S_0|^2/d = Q_0 (1 - 2 alpha)``.
    Departs: "alpha = 1/2" in print is in units of (L_in - 1) alpha. Erratum 6.
    Checked: tests/models/attention/theory/test_thresholds.py::test_unfactorized_recovery_is_where_its_error_vanishes
    """
    return 0.5


def bayes_recovery(target: SpectralLaw) -> float:
    """Clean labels from which on the best of all methods finds the target: ``(1/2)(1 - sum_i w_i^2)``.

    The ``w_i`` are the weights of the atoms of the target's law. It is the number of unknowns of a matrix with this
    spectrum: rotations within an eigenspace change nothing. For rank k < 1 and no other atom, ``k - k^2/2``.

    Equation: [MTMKZ24] for a Marchenko-Pastur target; derived for any other: ``MMSE(t)/(2t)`` as t vanishes, where
    each atom is a semicircle of its own.
    Checked: tests/models/attention/theory/test_thresholds.py::test_bayes_recovery_is_where_the_bayes_error_vanishes
    """
    return 0.5 * (1.0 - float(np.sum(target.atoms.masses**2)))
