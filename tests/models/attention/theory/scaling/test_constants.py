"""Prefactors of the laws of a power law: integrals of what features cost, and check values."""

from __future__ import annotations

from math import inf, sqrt

import pytest
from scipy.integrate import quad

from presage.models.attention.theory.scaling import constants
from presage.models.attention.theory.scaling.constants import C_BO, C_IV, C_j, C_w, feature_cost, joint_optimum, u_star

GAMMAS = (0.75, 1.25, 2.0)


def summed(gamma, kept, weakest):
    """Integral over the features: w = u^(-1/g) is how many are above u, over those above u = 1."""
    border = weakest ** (-1.0 / gamma)
    above = quad(lambda w: kept(w**-gamma), 0.0, border, epsabs=1e-13, epsrel=1e-12)[0]
    return above + quad(lambda w: w ** (-2.0 * gamma), border, inf, epsabs=1e-13, epsrel=1e-12)[0]


@pytest.mark.parametrize("gamma", GAMMAS)
def test_constants_are_integrals_of_costs(gamma):
    u, chi = joint_optimum(gamma)
    assert C_IV(gamma) == pytest.approx(summed(gamma, lambda u: float(feature_cost(u, 2.0)), 1.0), rel=1e-8)
    assert C_BO(gamma) == pytest.approx(summed(gamma, lambda u: 2.0 - 1.0 / u**2, 1.0), rel=1e-8)
    assert C_w(gamma) == pytest.approx(summed(gamma, lambda u: feature_cost(u, 0.0), sqrt(3.0)), rel=1e-8)
    assert C_j(gamma) == pytest.approx(summed(gamma, lambda u: feature_cost(u, chi), u), rel=1e-8)
    assert C_IV(gamma) != pytest.approx(summed(gamma, lambda u: feature_cost(u, sqrt(2.0)), 1.0), rel=1e-2)  # control


def test_check_value_12_and_the_table():
    found = (C_IV(1.25), C_BO(1.25), C_w(1.25), C_j(1.25))
    assert found == pytest.approx((3.9682539683, 2.3809523810, 2.7616886356, 2.5506279585), abs=5e-11)
    table = {0.75: (4.629, 4.038, 3.744, 3.6), 1.25: (3.968, 2.762, 2.551, 2.381), 2.0: (4.267, 2.431, 2.301, 2.133)}
    for gamma, row in table.items():
        assert (C_IV(gamma), C_w(gamma), C_j(gamma), C_BO(gamma)) == pytest.approx(row, abs=5.1e-4)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_nothing_beside_the_joint_optimum_is_better(gamma):
    u, chi = joint_optimum(gamma)
    least = C_j(gamma)
    for factor in (0.95, 1.05):
        assert summed(gamma, lambda v: feature_cost(v, factor * chi), u) > least * (1 + 1e-5)  # noqa: B023
        assert summed(gamma, lambda v: feature_cost(v, chi), factor * u) > least * (1 + 1e-5)
    assert C_BO(gamma) < least < min(C_w(gamma), C_IV(gamma))


@pytest.mark.parametrize("chi", [0.0, 0.3, 1.0, 1.9, 2.0])
def test_keeping_a_feature_pays_from_u_star_on(chi):
    u = u_star(chi)
    assert feature_cost(u, chi) == pytest.approx(u**2, rel=1e-12)
    assert feature_cost(1.01 * u, chi) < (1.01 * u) ** 2
    assert feature_cost(0.99 * u, chi) > (0.99 * u) ** 2
    assert (u_star(0.0), u_star(2.0)) == pytest.approx((sqrt(3.0), 1.0))


@pytest.mark.parametrize(("u", "chi"), [(1.5, 0.0), (3.0, 0.7), (10.0, 2.0)])
def test_cost_of_a_feature_is_that_of_an_outlier(u, chi):
    """In units of delta: position u + 1/u, squared overlap 1 - 1/u^2, eigenvalue lowered by chi."""
    learned, overlap = u + 1.0 / u - chi, 1.0 - 1.0 / u**2
    assert feature_cost(u, chi) == pytest.approx(learned**2 - 2.0 * learned * u * overlap + u**2, rel=1e-12)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_ratio_of_the_constants(gamma):
    assert constants.best_ratio(gamma) == pytest.approx(C_IV(gamma) / C_BO(gamma), rel=1e-13)


def test_exponents_without_a_law():
    with pytest.raises(
        ValueError, match=r"`gamma` must be above 0.5 for a scaling law: .* Got gamma=0.5. Use for exam"
    ):
        C_IV(0.5)
