"""The leading law of every phase, with its prefactor: errors at second moment one.

Everywhere ``t = delta^2``, ``alpha = n/d^2``, ``n_eff = n/d``, ``L = lambda~``, ``y = L sqrt(d)/(4 n_eff)``, and D is
the noise.
"""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np

from presage.models.attention.theory.scaling.constants import C_IV
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from presage.models.attention.theory.scaling.unit_semicircle import Isc, Jsc
from presage.protocol.njit import njit

B = 16.0 / (105.0 * pi) * (15.0 * pi / 4.0) ** 1.4  # 1.53261971
NEWTON_STEPS = 60
HALVINGS = 60


def law_Ia(alpha: Any, D: float) -> Any:
    """Few samples: nothing is learned, and a little noise is fitted.

        R = 1 + (1 + D/2) (B/2) alpha^(2/5)

    Equation: derived: labels without a signal, of variance ``1 + D/2``, at ``chi -> 2``.
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_laws_of_the_corners
    """
    return 1.0 + (1.0 + 0.5 * D) * 0.5 * B * alpha**0.4


def reduced_weight_decay(units: PowerLawUnits, alpha: Any, L: Any) -> Any:
    """``y = L sqrt(d)/(4 n_eff)``: the cutoff ``L/(4 alpha)`` of few kept directions, over ``sqrt(d)``."""
    return L / (4.0 * alpha * sqrt(units.d))


def law_II(units: PowerLawUnits, alpha: Any, L: Any) -> Any:
    """Weight decay decides: features above the cutoff are learned less the cutoff, and no noise is.

        R = (2g/(2g-1)) Z^(-1/2g) y^(2-1/g)

    Equation: derived: ``(1/d) sum_i min(s_i, c)^2`` with ``c = L/(4 alpha)``.
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_law_II_is_near_the_exact_error
    Checked: tests/models/attention/theory/scaling/test_exponents.py::test_exponents_of_II
    """
    g = units.gamma
    y = reduced_weight_decay(units, alpha, L)
    return 2.0 * g / (2.0 * g - 1.0) * units.Z ** (-0.5 / g) * y ** (2.0 - 1.0 / g)


def law_all_learned(alpha: Any, L: Any, D: float) -> Any:
    """All features learned (III and VIb): exact whenever the rank is one.

        R = (2 alpha c^2 + D/2)/(2 alpha - 1),  c = L/(4 alpha - 2)

    Equation: derived: above a cutoff that cuts nothing ``I = 1/2`` and ``J = Q_0 + t - 2 c m + c^2``.
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_all_learned_is_exact
    """
    c = L / (4.0 * alpha - 2.0)
    return (2.0 * alpha * c**2 + 0.5 * D) / (2.0 * alpha - 1.0)


def law_IV(units: PowerLawUnits, alpha: Any, D: float) -> Any:
    """Features are learned one after the other, down to the noise level.

        R = C_IV Z^(-1/2g) ((R + D/2)/(2 n_eff))^(1-1/2g),  solved for R

    Without noise it is ``R = (C_IV^2g/Z) (2 n_eff)^(1-2g)``.

    Equation: derived: ``C_IV t K/d`` with ``2 alpha t = R + D/2`` and ``K = (s_1/delta)^(1/g)``.
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_law_IV_meets_its_equation
    Checked: tests/models/attention/theory/scaling/test_exponents.py::test_noiseless_IV
    """
    g = units.gamma
    n_eff = np.asarray(alpha, dtype=np.float64) * units.d
    power = 1.0 - 0.5 / g
    prefactor = C_IV(g) * units.Z ** (-0.5 / g) * (2.0 * n_eff) ** -power
    R = np.maximum(prefactor ** (2.0 * g), prefactor * (0.5 * D) ** power)  # a start below the root: R^p is concave
    for _ in range(NEWTON_STEPS):
        says = prefactor * (R + 0.5 * D) ** power
        step = (says - R) / (1.0 - power * says / (R + 0.5 * D))
        R = R + step
        if (np.abs(step) <= 1e-14 * R).all():
            break
    return R if R.ndim else float(R)


@njit(cache=True)
def uniform_V(alpha: float, D: float, L: float = 0.0) -> float:
    """What fitted noise costs up to the threshold of interpolation at 1/4, and under a weight decay that cuts it.

        alpha = Isc(chi) + L/(4 chi delta),  t = (D/2)/(2 alpha - Jsc(chi)),  R = t Jsc(chi)

    Without weight decay ``R = (D/2) Jsc/(2 Isc - Jsc)``, far below 1/4 ``(D B/4) alpha^(2/5)``.

    Equation: derived: the two equations for noise alone.
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_uniform_V_check_values
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_uniform_V_tends_to_its_law
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_noise_alone_under_weight_decay
    """
    low, high = 0.0, 2.0
    for _ in range(HALVINGS):
        chi = 0.5 * (low + high)
        room = 2.0 * alpha - Jsc(chi)
        # Where there is no room for the noise, or too little for the pull of weight decay, more has to be cut.
        if room <= 0.0 or Isc(chi) + L / (4.0 * chi * sqrt(0.5 * D / room)) > alpha:
            low = chi
        else:
            high = chi
    J = Jsc(high)
    return float(0.5 * D * J / (2.0 * alpha - J))


def law_peak(L: Any, D: float) -> Any:
    """Height of the peak of interpolation at ``alpha = 1/4``, before it saturates.

        R = (1/2) (3 pi D^2/(32 L))^(2/3)

    Equation: derived: the two equations for noise alone at 1/4, small cutoff.
    Checked: tests/models/attention/theory/scaling/test_exponents.py::test_peak
    """
    return 0.5 * (3.0 * pi * D**2 / (32.0 * L)) ** (2.0 / 3.0)


def law_VIa(alpha: Any, D: float) -> Any:
    """Beyond interpolation: the noise of that half of all directions that a positive matrix has room for.

        R = D/(8 alpha - 2)

    Equation: derived: the two equations for noise alone at a vanishing cutoff.
    Checked: tests/models/attention/theory/scaling/test_laws.py::test_laws_of_the_corners
    Checked: tests/models/attention/theory/scaling/test_exponents.py::test_exponents_of_VIa
    """
    return D / (8.0 * alpha - 2.0)
