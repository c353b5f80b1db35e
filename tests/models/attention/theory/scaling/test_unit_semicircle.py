"""Integrals of the semicircle above a cutoff, beside quadrature."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

from presage.models.attention.theory.scaling.unit_semicircle import CLOSE, F0, F1, F2, Isc, Jsc


def integral(function, chi: float) -> float:
    """``int_chi f(x) rho(x) dx`` in the angle, where the density has no root."""
    angle = np.arcsin(chi / 2.0)
    return quad(lambda a: function(2 * np.sin(a)) * 2 * np.cos(a) ** 2 / np.pi, angle, np.pi / 2, epsabs=0)[0]


@pytest.mark.parametrize("chi", [0.0, 0.3, 1.0, 1.7, 1.95, 2.0 - 1.01 * CLOSE, 2.0 - 0.99 * CLOSE, 1.999])
def test_integrals_agree_with_quadrature(chi):
    assert F0(chi) == pytest.approx(integral(lambda x: 1.0, chi), rel=1e-7)
    assert F1(chi) == pytest.approx(integral(lambda x: x, chi), rel=1e-9)
    assert F2(chi) == pytest.approx(integral(lambda x: x * x, chi), rel=1e-7)
    assert Isc(chi) == pytest.approx(integral(lambda x: (x - chi) * x / 2, chi), rel=2e-8)
    assert Jsc(chi) == pytest.approx(integral(lambda x: (x - chi) ** 2, chi), rel=2e-8)


def test_nothing_is_above_the_edge():
    assert [f(2.5) for f in (F0, F1, F2, Isc, Jsc)] == [0.0] * 5
