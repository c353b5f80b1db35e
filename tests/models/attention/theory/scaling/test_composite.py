"""The composite law: isolated features on a semicircle, beside the exact solver."""

from __future__ import annotations

import pytest

import presage as ps
from presage.models.attention.theory.decomposition import threshold
from presage.models.attention.theory.scaling.composite import (
    composite_alpha,
    composite_law,
    costs,
)
from presage.models.attention.theory.scaling.constants import feature_cost
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from tests.models.attention.theory.scaling.point import network


@pytest.mark.parametrize(
    ("gamma", "d", "n_eff", "L", "relative"),
    [
        (1.25, 100_000, 1e6, 44.72135955, 1e-5),  # II, check value 5
        (2.0, 10_000, 1e5, 200.0, 1e-4),
        (1.25, 10_000, 1e4, 10.0, 1e-4),
        (2.0, 100_000, 100.0, 1e-3, 0.004),  # below 2 delta
        (1.25, 100_000, 100.0, 1e-3, 0.026),
        (1.25, 100_000, 0.1, 1e-6, 0.001),  # Ia
    ],
)
def test_composite_law_against_the_exact_solver(gamma, d, n_eff, L, relative):
    exact = ps.solve(network(gamma, d, n_eff, L)).estimation_error
    assert composite_law(PowerLawUnits(gamma, d), n_eff / d, L, 0.5).error == pytest.approx(exact, rel=relative)


def test_below_gamma_one_it_is_too_high():
    exact = ps.solve(network(0.75, 10_000, 100.0, 0.01)).estimation_error
    found = composite_law(PowerLawUnits(0.75, 10_000), 0.01, 0.01, 0.5).error
    assert 1.0 < found / exact < 1.5


def test_check_value_of_the_isolated_sum():
    """Check value 5 of the theory: the sum over isolated features at the exact noise level and cutoff."""
    exact = ps.solve(network(1.25, 100_000, 1e6, 44.72135955))
    bulk, features = costs(PowerLawUnits(1.25, 100_000), exact.delta, exact.cutoff)
    assert bulk == 0.0
    assert features == pytest.approx(0.00169018957, rel=3e-9)


@pytest.mark.parametrize(("alpha", "L", "D"), [(1e-3, 1e-3, 0.5), (0.1, 0.2, 0.5), (0.25, 1e-4, 0.5), (3.0, 8.0, 0.0)])
def test_composite_law_meets_its_own_equations(alpha, L, D):
    units = PowerLawUnits(1.25, 1000)
    found = composite_law(units, alpha, L, D)
    sums = units.sums
    assert composite_alpha(sums.inverse, sums.inverse_square, found.learned, found.delta, found.c, L) == pytest.approx(
        alpha, rel=1e-10
    )
    # The number of learned features jumps, and so may the error, at a root: within the cost of one feature.
    one = found.delta**2 * float(feature_cost(1.0, found.c / found.delta)) / units.d
    assert 2 * alpha * found.delta**2 == pytest.approx(found.error + D / 2, rel=1e-10, abs=one)
    assert found.bulk + found.features == pytest.approx(found.error)


def test_where_all_is_learned_it_is_the_exact_law():
    exact = ps.solve(network(0.75, 300, 3e5, 1.0)).estimation_error
    found = composite_law(PowerLawUnits(0.75, 300), 1000.0, 1.0, 0.5)
    assert found.learned == 300
    assert found.error == pytest.approx(exact, rel=1e-9)


def test_an_isolated_feature_costs_what_the_solver_says():
    """One atom of small mass on zeros, at a cutoff above the bulk: the risk is all its own."""
    w, delta = 1e-6, 0.8
    for s, c in ((2.4, 1.7), (4.0, 2.5), (4.0, 4.1)):
        risk = ps.functionals(ps.PointMasses([0.0, s], [1 - w, w]), delta, c).risk
        assert risk / w == pytest.approx(delta**2 * feature_cost(s / delta, c / delta), rel=1e-5)


def test_a_feature_is_learned_above_the_threshold():
    """Its outlier at ``s + t/s`` is above the cutoff from there on, and leaves the bulk at delta."""
    s = threshold(1.0, 3.0)
    assert s + 1.0 / s == pytest.approx(3.0)
    assert threshold(1.0, 1.3) == 1.0
    assert threshold(1.0, 2.0) == pytest.approx(threshold(1.0, 2.0 + 1e-12), abs=1e-5)
