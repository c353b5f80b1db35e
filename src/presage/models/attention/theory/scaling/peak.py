"""The peak of interpolation at finite d: where it is, how high it gets as weight decay vanishes, and how wide it is."""

from __future__ import annotations

from functools import lru_cache
from math import inf, pi
from typing import NamedTuple

from presage.laws.power_law import PowerLaw
from presage.models.attention.theory.interpolation import interpolating_limit
from presage.models.attention.theory.scaling.laws import law_peak

WIDEST = 0.125  # half width in alpha beyond which there is no peak to speak of: half the way to no samples


class Saturation(NamedTuple):
    """The peak as weight decay vanishes, at second moment one."""

    alpha: float  # threshold of interpolation, above 1/4
    error: float  # R_sat
    weight_decay: float  # L_sat: below it the height no longer grows


@lru_cache(maxsize=64)
def saturation(target: PowerLaw, noise: float) -> Saturation:
    """Where the peak is and how high it gets: ``R_sat`` is the ridgeless error at the threshold of interpolation.

    The law of the peak holds for L far above ``L_sat = (3 pi D^2/32) (2 R_sat)^(-3/2)``, where it says R_sat.

    Equation: derived, from `interpolation_threshold` and ``2 alpha t = R + D/2``.
    Checked: tests/models/attention/theory/scaling/test_peak.py::test_the_peak_saturates
    """
    edge = interpolating_limit(target, noise)
    if edge is None:  # noise far beyond the target: the weights diverge at 1/4, as for labels without a signal
        return Saturation(0.25, inf, 0.0)
    size = target.second_moment
    D, error = noise / size, edge.risk / size
    return Saturation(edge.I, error, 3.0 * pi * D**2 / 32.0 * (2.0 * error) ** -1.5)


def peak_height(saturated: Saturation, L: float, D: float) -> float:
    """Height of the peak at a weight decay: that of its law, and no more than the height at which it saturates."""
    return min(float(law_peak(L, D)), saturated.error)


def half_width(height: float, D: float) -> float:
    """How far from its middle the peak reaches in alpha: ``|alpha - alpha_int| = D/(8 R_peak)``; 0 where there is none.

    Equation: derived: the laws of both sides, ``D/(8 |alpha - 1/4|)``, say the height of the peak there.
    Checked: tests/models/attention/theory/scaling/test_peak.py::test_the_laws_of_both_sides_meet_the_peak
    """
    width = D / (8.0 * height)
    return width if width <= WIDEST else 0.0
