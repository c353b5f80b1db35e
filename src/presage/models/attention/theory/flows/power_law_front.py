"""How the error of a power law falls with the time of training: by a front that moves through its features."""

from __future__ import annotations

import numpy as np
from scipy.special import lambertw

from presage.laws.spectral_law import Floats


def front(eps: float, theta: Floats | float) -> Floats:
    """Strength of the features that are being learned, from ``S = eps 1``.

        s* = ln(s*/eps)/(2 theta)

    Equation: derived: the half-time ln(s/eps)/(2 s) is theta; the larger of two roots.
    Checked: tests/models/attention/theory/test_flows.py::test_the_front_is_where_half_is_learned
    """
    # s = -W_{-1}(-2 theta eps)/(2 theta): for theta eps beyond 1/(2 e) every feature above eps is learned.
    return np.asarray(-lambertw(-2.0 * theta * eps, -1).real / (2.0 * theta))


def front_error(gamma: float, eps: float, theta: Floats | float) -> Floats:
    """``|S - S_0|_F^2`` of ``s_i = i^-gamma`` and infinitely many features, up to a factor of 0.93 to 0.97.

        s*^{2 - 1/gamma}/(2 gamma - 1)

    Equation: derived: the sum of s_i^2 over the features below the front.
    Checked: tests/models/attention/theory/test_flows.py::test_exponents_of_power_laws
    """
    return np.asarray(front(eps, theta) ** (2.0 - 1.0 / gamma) / (2.0 * gamma - 1.0))


def front_exponent(gamma: float, eps: float, theta: Floats | float) -> Floats:
    """Local exponent of that error in the time.

        -(2 - 1/gamma) l/(l - 1),   l = ln(s*/eps)

    Equation: derived: d ln s*/d ln theta = -l/(l - 1).
    Checked: tests/models/attention/theory/test_flows.py::test_exponents_of_power_laws
    """
    length = np.log(front(eps, theta) / eps)
    return np.asarray(-(2.0 - 1.0 / gamma) * length / (length - 1.0))
