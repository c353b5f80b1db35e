"""Where the phases meet, in closed form: the laws of neighbours equated. Right within a factor of two, but for two.

Those are `largest_weight_decay`, beyond which nothing is learned, and `III_VIb`.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, log, sqrt
from typing import Any

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.theory.scaling.composite import FULL
from presage.models.attention.theory.scaling.laws import B, law_all_learned, law_IV, reduced_weight_decay, uniform_V
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from presage.spectra.spiked import spiked_wigner

NEWTON_STEPS = 60
MOST_OF_V = 0.5  # alpha beyond the threshold of interpolation of any target
HALVINGS = 60


def top_edge(units: PowerLawUnits, delta: float) -> float:
    """Largest eigenvalue of ``S_0 + delta GOE`` in the limit: upper edge of the free convolution.

    ``x = u + (t/d) sum_i 1/(u - s_i)`` at the u above all s_i with ``(t/d) sum_i 1/(u - s_i)^2 = 1``.

    Equation: derived: the edge of the curve of the free convolution, where its height ``v(u)`` vanishes.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_top_edge_is_that_of_the_free_convolution
    """
    s, w = units.eigenvalues, delta**2 / units.d
    u = s[0] + sqrt(w)  # the first atom alone: the edge is above
    for _ in range(NEWTON_STEPS):
        inverse = 1.0 / (u - s)
        square = inverse * inverse
        slope, height = w * float(square @ inverse), w * float(square.sum())
        # Newton on 1/sqrt(height), which is nearly a straight line and concave: it comes from below and never leaps.
        step = (1.0 - height**-0.5) * height / slope
        u += step
        if abs(step) <= 1e-15 * u:
            break
    return float(u + w * np.sum(1.0 / (u - s)))


def largest_weight_decay(units: PowerLawUnits, alpha: float, D: float) -> float:
    """Weight decay from which on the fit is zero: ``L_max = 4 alpha x_max(mu_delta)``, ``2 alpha t = 1 + D/2``. Exact.

    Equation: derived: the cutoff ``L/(4 alpha)`` of an empty fit is above the whole spectrum.
    Checked:
        tests/models/attention/theory/scaling/test_boundaries.py::test_the_rank_is_zero_from_the_largest_weight_decay_on
    """
    return 4.0 * alpha * top_edge(units, sqrt((1.0 + 0.5 * D) / (2.0 * alpha)))


def isolated_largest_weight_decay(units: PowerLawUnits, alpha: Any, D: float) -> Any:
    """`largest_weight_decay` with the first feature isolated: ``x_max = s_1 + t/s_1``, ``2 delta`` where it is lost.

    ``sqrt(32 alpha (1 + D/2))`` next to Ia.

    Equation: derived: the outlier of one feature on a semicircle.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_top_edge_of_an_isolated_feature
    """
    alpha = np.asarray(alpha, dtype=np.float64)
    delta = np.sqrt((1.0 + 0.5 * D) / (2.0 * alpha))
    return 4.0 * alpha * delta * spiked_wigner(units.A / delta).outlier


def Ia_IV(units: PowerLawUnits, D: float) -> float:
    """The alpha at which the first feature leaves the bulk: ``n_eff = Z (1 + D/2)/2``.

    Equation: derived: ``delta = s_1`` at ``R = 1``.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_the_first_feature_is_learned_at_Ia_IV
    """
    return units.Z * (1.0 + 0.5 * D) / (2.0 * units.d)


def Ia_V(D: float) -> float:
    """The alpha at which fitted noise costs as much as the whole target, ``(1 + D/2) (B/2) alpha^(2/5) = 1``.

    Equation: derived, from the law of Ia.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_fitted_noise_costs_a_target
    """
    return float((0.5 * B * (1.0 + 0.5 * D)) ** -2.5)


@lru_cache(maxsize=256)
def IV_V(units: PowerLawUnits, D: float) -> float:
    """The alpha at which fitted noise costs as much as features, at little weight decay; infinite if clean.

    Where it is far below 1/4 it is ``n_eff = [(C_IV/B) (4/(D Z))^(1/2g)]^w d^(2w/5)``, ``w = 1/(7/5 - 1/2g)``. The root
    is taken instead, since fitted noise costs ever more than its leading law as alpha comes near 1/4.

    Equation: derived: ``R_IV = R_V`` with the law of V uniform in alpha.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_IV_V_in_numbers
    """
    if D == 0.0:
        return inf
    low, high = log(1e-30), log(0.25)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        learns = law_IV(units, exp(middle), D) > uniform_V(exp(middle), D)
        low, high = (middle, high) if learns else (low, middle)
    return exp(0.5 * (low + high))


def noise_costs_more(units: PowerLawUnits, alpha: Floats, L: Floats, D: float) -> Any:
    """Whether fitted noise costs more than features: V from IV at any weight decay, which cuts the noise.

    Equation: derived: ``R_V > R_IV`` with the law of V uniform in alpha and weight decay.
    Checked:
        tests/models/attention/theory/scaling/test_phase.py::test_structure_agrees_with_the_boundaries_within_a_factor_two
    """
    # Weight decay cuts noise: where it costs less without, it costs less with it, and from 1/4 on other laws hold.
    maybe = (alpha > IV_V(units, D)) & (alpha < MOST_OF_V)
    noise = np.zeros(np.shape(alpha))
    noise[maybe] = [uniform_V(a, D, w) for a, w in zip(alpha[maybe], L[maybe], strict=True)]
    return noise > law_IV(units, alpha, D)


def II_III(units: PowerLawUnits) -> float:
    """The y below which weight decay spares the last feature too: ``y = (2g/(2g-1))^g Z^(-1/2) d^-g``.

    Without the bracket it is ``c = s_d``.

    Equation: derived: the law of II is ``c^2`` there.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_neighbours_meet
    """
    g = units.gamma
    return float((2.0 * g / (2.0 * g - 1.0)) ** g * units.Z**-0.5 * units.d**-g)


def above_the_noise(units: PowerLawUnits, alpha: Any, D: float) -> Any:
    """The weight decay above which no noise is fitted: II from IV, V and VIa.

    ``L = 4 alpha delta [12 g^2/((1+g)(2g+1))]^(g/(2g-1))`` with ``2 alpha t = R_IV + D/2``; where the error is far
    below the noise ``4 alpha delta = 2 sqrt(D alpha)``. The bracket with its power is about 2: it is ``c = 2 delta``,
    and just that where so few features are learned that the law of IV says more than one.

    Equation: derived: the laws of II and IV equated; on that line the bulk is cut, so that R is that of IV everywhere.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_neighbours_meet
    Checked:
        tests/models/attention/theory/scaling/test_boundaries.py::test_the_cutoff_is_twice_the_noise_level_at_the_edge_of_II
    """
    g = units.gamma
    ratio = (12.0 * g**2 / ((1.0 + g) * (2.0 * g + 1.0))) ** (g / (2.0 * g - 1.0))
    R = law_IV(units, alpha, D)
    chi = np.where(R < 1.0, ratio, 2.0)
    return chi * 4.0 * alpha * np.sqrt((np.minimum(R, 1.0) + 0.5 * D) / (2.0 * alpha))


def III_VIb(alpha: Any, D: float) -> Any:
    """The weight decay above which shrinkage costs more than noise, all features being learned. Exact.

    ``L = (2 alpha - 1) sqrt(D/alpha)``, which is ``2 sqrt(D alpha)`` for many samples.

    Equation: derived: the two terms ``2 alpha c^2`` and ``D/2`` of the law equated.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_neighbours_meet
    """
    return (2.0 * alpha - 1.0) * np.sqrt(D / alpha)


def all_learned(units: PowerLawUnits, alpha: Any, L: Any, D: float) -> Any:
    """Whether the last feature is learned too: III from II, VIb from VIa.

    Where noise hides it, from ``delta = s_d`` on, with the delta of `law_all_learned`: ``n_eff = D Z d^2g/4`` if noise
    is all. Where weight decay does, from `II_III` on.

    Equation: derived: ``s_d = s_*``, and where the cutoff is above the bulk, that the law of II is ``c^2``.
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_the_last_feature_is_learned_at_VIa_VIb
    Checked: tests/models/attention/theory/scaling/test_boundaries.py::test_neighbours_meet
    """
    enough = np.asarray(alpha > FULL)
    many = np.where(enough, alpha, 1.0)  # below there is no such solution, whatever the formula says
    c = L / (4.0 * many - 2.0)
    t = (law_all_learned(many, L, D) + 0.5 * D) / (2.0 * many)
    spared = np.where(c * c >= 4.0 * t, reduced_weight_decay(units, many, L) < II_III(units), t < units.smallest**2)
    return enough & spared
