"""Boundaries of the phases: laws of neighbours that meet, and what happens there in the exact solution."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.scaling import boundaries, laws
from presage.models.attention.theory.scaling.constants import C_IV
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from tests.models.attention.theory.scaling.point import network

GAMMAS = (0.75, 1.25, 2.0)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("delta", [1e-3, 0.5, 5.0, 100.0])
def test_top_edge_is_that_of_the_free_convolution(gamma, delta):
    edge = ps.FreeConvolution(ps.PowerLaw(gamma, 300), delta).support[-1, 1]
    assert boundaries.top_edge(PowerLawUnits(gamma, 300), delta) == pytest.approx(edge, rel=1e-12)


def test_top_edge_of_an_isolated_feature():
    units = PowerLawUnits(2.0, 10_000)
    exact = [boundaries.largest_weight_decay(units, alpha, 0.5) for alpha in (1e-6, 1e-2)]
    assert boundaries.isolated_largest_weight_decay(units, np.array([1e-6, 1e-2]), 0.5) == pytest.approx(
        exact, rel=0.01
    )
    assert boundaries.isolated_largest_weight_decay(units, 1e-6, 0.5) == pytest.approx(sqrt(32e-6 * 1.25))


@pytest.mark.parametrize(("gamma", "n_eff"), [(0.75, 0.01), (1.25, 10.0), (2.0, 1e4)])
def test_the_rank_is_zero_from_the_largest_weight_decay_on(gamma, n_eff):
    L = boundaries.largest_weight_decay(PowerLawUnits(gamma, 1000), n_eff / 1000, 0.5)
    assert ps.solve(network(gamma, 1000, n_eff, 1.001 * L)).rank == 0.0
    assert ps.solve(network(gamma, 1000, n_eff, 0.999 * L)).rank > 0.0


def test_check_value_8():
    assert boundaries.largest_weight_decay(PowerLawUnits(1.25, 1000), 0.01, 0.5) == pytest.approx(1.20304908, rel=1e-8)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_neighbours_meet(gamma):
    """At a boundary the laws of its two sides say the same; without noise too."""
    units = PowerLawUnits(gamma, 10_000)
    for D in (0.0, 1e-3, 0.5):
        L = boundaries.above_the_noise(units, 0.05, D)
        assert laws.law_II(units, 0.05, L) == pytest.approx(laws.law_IV(units, 0.05, D), rel=1e-10)
    alpha = 1e6
    L = 4.0 * alpha * sqrt(units.d) * boundaries.II_III(units)
    assert laws.law_II(units, alpha, L) == pytest.approx((L / (4.0 * alpha)) ** 2, rel=1e-10)
    assert [bool(boundaries.all_learned(units, alpha, L * f, 1e-9)) for f in (0.99, 1.01)] == [True, False]
    L, c = boundaries.III_VIb(50.0, 0.5), boundaries.III_VIb(50.0, 0.5) / (4.0 * 50.0 - 2.0)
    assert 2.0 * 50.0 * c**2 == pytest.approx(0.25)
    assert boundaries.III_VIb(1e6, 0.5) == pytest.approx(2.0 * sqrt(0.5e6), rel=1e-6)


@pytest.mark.parametrize(("gamma", "bracket"), [(0.75, 1.92), (1.25, 2.06), (2.0, 2.17)])
def test_the_cutoff_is_twice_the_noise_level_at_the_edge_of_II(gamma, bracket):
    """In numbers, and in the exact solution: ``c/delta`` is 2 within a tenth."""
    d, n_eff = 10_000, 1e4
    units = PowerLawUnits(gamma, d)
    far = boundaries.above_the_noise(units, 1e6, 0.5) / (2.0 * sqrt(0.5e6))
    assert far == pytest.approx(bracket, abs=0.006)
    found = ps.solve(network(gamma, d, n_eff, float(boundaries.above_the_noise(units, n_eff / d, 0.5))))
    assert found.cutoff / found.delta == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("gamma", [1.25, 2.0])
def test_the_first_feature_is_learned_at_Ia_IV(gamma):
    units = PowerLawUnits(gamma, 1000)
    n_eff = 1000 * boundaries.Ia_IV(units, 0.5)
    learned = [ps.scaling(network(gamma, 1000, n_eff * f, 1e-4), factor=None).learned for f in (0.8, 1.25)]
    assert learned == [0, 1]


def test_fitted_noise_costs_a_target():
    assert laws.law_Ia(boundaries.Ia_V(20.0), 20.0) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("gamma", "d", "leading", "seen"), [(1.25, 10_000, 211, 146), (1.25, 100_000, 529, 398), (2.0, 100_000, 206, 155)]
)
def test_IV_V_in_numbers(gamma, d, leading, seen):
    """Between its leading formula and where overfitting was seen to cross, both numbers of the theory."""
    units = PowerLawUnits(gamma, d)
    w = 1.0 / (1.4 - 0.5 / gamma)
    closed = (C_IV(gamma) / laws.B * (8.0 / units.Z) ** (0.5 / gamma)) ** w * d ** (0.4 * w)
    assert closed == pytest.approx(leading, abs=0.5)
    found = d * boundaries.IV_V(units, 0.5)
    assert seen < found < closed
    assert found / seen < 1.25
    assert laws.law_IV(units, found / d, 0.5) == pytest.approx(laws.uniform_V(found / d, 0.5), rel=1e-9)
    assert boundaries.IV_V(units, 0.0) == np.inf


@pytest.mark.parametrize("gamma", [0.75, 1.25])
def test_the_last_feature_is_learned_at_VIa_VIb(gamma):
    """There delta is ``s_d``, up to what the error adds to the noise."""
    units = PowerLawUnits(gamma, 300)
    n_eff = 0.5 * units.Z * 300 ** (2 * gamma) / 4
    at = [boundaries.all_learned(units, n_eff * f / 300, 1e-3, 0.5) for f in (0.9, 1.3)]
    assert at == [False, True]
    found = ps.solve(network(gamma, 300, n_eff, 1e-3))
    assert found.delta == pytest.approx(units.smallest, rel=0.06)
