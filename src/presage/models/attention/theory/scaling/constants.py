"""Prefactors of the error of a power law of exponent g, in units of ``t K/d``: K features are above the noise level.

In units of ``t/d`` a feature of strength ``u = s/delta`` costs ``u^2`` when it is lost, and `feature_cost` when it is
kept behind a cutoff ``chi delta``. Eigenvalues ``s_i = A i^-g`` put ``K u^(-1/g)`` features above u, so that each
prefactor is an integral of these costs over ``w = u^(-1/g)``.
"""

from __future__ import annotations

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.spectral_law import Floats
from presage.protocol import checks


def summable(gamma: float) -> float:
    """An exponent whose squared eigenvalues have a sum, or a complaint."""
    if not gamma > 0.5:
        reason = "with a smaller exponent the features that are not learned outweigh all others at every noise level"
        remedy = "Use for example <gamma=1.25>; <solve()> has the error itself at any exponent."
        raise checks.complaint("gamma", "be above 0.5 for a scaling law", reason, gamma, remedy)
    return gamma


def feature_cost(strength: ArrayLike, chi: float) -> Floats:
    """Error of kept, isolated features, in units of ``t/d``: ``e(u, chi) = 2 + 3/u^2 - 4 chi/u + chi^2``.

    Equation: derived: the outlier is at ``s + t/s``, its squared overlap ``1 - t/s^2``, and the cutoff moves it down.
    Checked: tests/models/attention/theory/scaling/test_constants.py::test_cost_of_a_feature_is_that_of_an_outlier
    Checked:
        tests/models/attention/theory/scaling/test_composite.py::test_an_isolated_feature_costs_what_the_solver_says
    """
    u = np.asarray(strength, dtype=np.float64)
    return np.asarray(2.0 + 3.0 / u**2 - 4.0 * chi / u + chi**2)


def C_IV(gamma: float) -> float:
    """Every feature above the noise level, behind a cutoff at the edge of the bulk, ``chi = 2``.

    ``C_IV = 24 g^3/((1+g)(4g^2-1))``.

    Equation: derived: the integral of ``e(u, 2)`` over ``u > 1``, and of ``u^2`` below.
    Checked: tests/models/attention/theory/scaling/test_constants.py::test_constants_are_integrals_of_costs
    """
    g = summable(gamma)
    return 24.0 * g**3 / ((1.0 + g) * (4.0 * g**2 - 1.0))


def C_BO(gamma: float) -> float:
    """The best of all methods, to which a learned feature costs ``2 - 1/u^2``: ``C_BO = 8 g^2/(4g^2-1)``.

    Equation: derived, as above.
    Checked: tests/models/attention/theory/scaling/test_constants.py::test_constants_are_integrals_of_costs
    """
    g = summable(gamma)
    return 8.0 * g**2 / (4.0 * g**2 - 1.0)


def C_w(gamma: float) -> float:
    """The best width without weight decay: ``C_w = 3^(-1/2g) [2 + 1/(2g+1) + 3/(2g-1)]``.

    Equation: derived: the integral of ``e(u, 0)`` over ``u > sqrt(3)``, and of ``u^2`` below.
    Checked: tests/models/attention/theory/scaling/test_constants.py::test_constants_are_integrals_of_costs
    """
    g = summable(gamma)
    return float(3.0 ** (-0.5 / g) * (2.0 + 1.0 / (2.0 * g + 1.0) + 3.0 / (2.0 * g - 1.0)))


def C_j(gamma: float) -> float:
    """The best width and the best weight decay together.

    ``C_j = u^(-1/g) [2 + 3/((2g+1) u^2) - 4/((1+g)^2 u^2) + u^2/(2g-1)]`` at the u of `joint_optimum`.

    Equation: derived: the least, over u and chi, of the integral of ``e(u, chi)`` above u and of ``u^2`` below.
    Checked: tests/models/attention/theory/scaling/test_constants.py::test_constants_are_integrals_of_costs
    """
    g = summable(gamma)
    u, _ = joint_optimum(g)
    kept = 2.0 + 3.0 / ((2.0 * g + 1.0) * u**2) - 4.0 / ((1.0 + g) ** 2 * u**2)
    return float(u ** (-1.0 / g) * (kept + u**2 / (2.0 * g - 1.0)))


def joint_optimum(gamma: float) -> tuple[float, float]:
    """Weakest feature worth a unit of width, and cutoff, both over delta, where width and weight decay are best.

    ``u^2 = (1+3g)/(1+g)``, ``chi = 2/(u (1+g))``.

    Equation: derived: both derivatives of the integral in `C_j` vanish.
    Checked: tests/models/attention/theory/scaling/test_constants.py::test_nothing_beside_the_joint_optimum_is_better
    """
    u = sqrt((1.0 + 3.0 * gamma) / (1.0 + gamma))
    return u, 2.0 / (u * (1.0 + gamma))


def u_star(chi: float) -> float:
    """Strength from which on keeping a feature pays: ``e(u, chi) = u^2`` at ``u = (sqrt(chi^2 + 12) - chi)/2``.

    Equation: derived: ``u^4 - (2 + chi^2) u^2 + 4 chi u - 3`` has the factor ``u^2 + chi u - 3``.
    Checked: tests/models/attention/theory/scaling/test_constants.py::test_keeping_a_feature_pays_from_u_star_on
    """
    return 0.5 * (sqrt(chi**2 + 12.0) - chi)


def best_ratio(gamma: float) -> float:
    """What the best weight decay loses to the best of all methods: ``C_IV/C_BO = 3g/(1+g)``.

    Equation: derived, from the two constants.
    Checked: tests/models/attention/theory/scaling/test_constants.py::test_ratio_of_the_constants
    """
    return 3.0 * gamma / (1.0 + gamma)
