"""Integrals of the unit semicircle above a cutoff ``chi``: what noise alone leaves there."""

from __future__ import annotations

from math import asin, pi, sin, sqrt

from presage.protocol.njit import njit

CLOSE = 0.02  # distance from the edge below which a series has more digits than the closed form


@njit(cache=True)
def F0(chi: float) -> float:
    """Mass above the cutoff, ``1/2 - a/pi - chi q/(4 pi)`` with ``a = asin(chi/2)``, ``q = sqrt(4 - chi^2)``.

    Equation: derived, from the density ``q/(2 pi)``.
    Checked: tests/models/attention/theory/scaling/test_unit_semicircle.py::test_integrals_agree_with_quadrature
    """
    if chi >= 2.0:
        return 0.0
    return 0.5 - asin(0.5 * chi) / pi - chi * sqrt(4.0 - chi * chi) / (4.0 * pi)


@njit(cache=True)
def F1(chi: float) -> float:
    """First moment above the cutoff, ``q^3/(6 pi)``.

    Equation: derived, from the density ``q/(2 pi)``.
    Checked: tests/models/attention/theory/scaling/test_unit_semicircle.py::test_integrals_agree_with_quadrature
    """
    if chi >= 2.0:
        return 0.0
    return float((4.0 - chi * chi) ** 1.5 / (6.0 * pi))


@njit(cache=True)
def F2(chi: float) -> float:
    """Second moment above the cutoff, ``1/2 - a/pi + sin(4a)/(4 pi)`` with ``a = asin(chi/2)``.

    Equation: derived, from the density ``q/(2 pi)``.
    Checked: tests/models/attention/theory/scaling/test_unit_semicircle.py::test_integrals_agree_with_quadrature
    """
    if chi >= 2.0:
        return 0.0
    a = asin(0.5 * chi)
    return 0.5 - a / pi + sin(4.0 * a) / (4.0 * pi)


@njit(cache=True)
def Isc(chi: float) -> float:
    """``int_chi (x - chi) h`` over the semicircle, whose Hilbert part h is x/2: ``(F2 - chi F1)/2``.

    Next to the edge the two terms cancel, and its series in ``2 - chi`` is summed.

    Equation: derived.
    Checked: tests/models/attention/theory/scaling/test_unit_semicircle.py::test_integrals_agree_with_quadrature
    """
    if chi >= 2.0:
        return 0.0
    eta = 2.0 - chi
    if eta < CLOSE:
        return float(4.0 / pi * eta**2.5 * (1.0 / 15.0 - eta / 56.0 + eta * eta / 1152.0))
    return float(0.5 * (F2(chi) - chi * F1(chi)))


@njit(cache=True)
def Jsc(chi: float) -> float:
    """``int_chi (x - chi)^2`` over the semicircle: ``F2 - 2 chi F1 + chi^2 F0``.

    Next to the edge the terms cancel, and its series in ``2 - chi`` is summed.

    Equation: derived.
    Checked: tests/models/attention/theory/scaling/test_unit_semicircle.py::test_integrals_agree_with_quadrature
    """
    if chi >= 2.0:
        return 0.0
    eta = 2.0 - chi
    if eta < CLOSE:
        return float(16.0 / pi * eta**3.5 * (1.0 / 105.0 - eta / 2520.0 - eta * eta / 88704.0))
    return float(F2(chi) - 2.0 * chi * F1(chi) + chi * chi * F0(chi))
