"""The laws of the phases with their prefactors, beside the exact solver."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.scaling import laws
from presage.models.attention.theory.scaling.constants import C_IV, feature_cost
from presage.models.attention.theory.scaling.law_here import law_value
from presage.models.attention.theory.scaling.phase import PHASES
from presage.models.attention.theory.scaling.power_law_units import PowerLawUnits
from tests.models.attention.theory.scaling.point import network, place


def test_laws_of_the_corners():
    """Ia, Ib, VIa and check value 4 of the theory, each at a point that is deep inside."""
    few = ps.solve(network(1.25, 100_000, 0.1, 1e-6)).estimation_error
    assert few == pytest.approx(1.003812, abs=5e-7)
    assert laws.law_Ia(1e-6, 0.5) == pytest.approx(few, abs=1e-5)
    assert ps.solve(network(1.25, 1000, 10.0, 1.3)).estimation_error == pytest.approx(1.0, rel=4e-16)
    many = ps.solve(network(2.0, 10_000, 1e6, 1e-3)).estimation_error
    assert many / laws.law_VIa(100.0, 0.5) == pytest.approx(1.008, abs=5e-4)
    some = ps.solve(network(1.25, 10_000, 1e5, 1e-3)).estimation_error
    assert some / laws.law_VIa(10.0, 0.5) == pytest.approx(1.032, abs=5e-4)


def test_check_value_4():
    found = ps.solve(network(2.0, 10_000, 10_000.0, 1e-6))
    assert found.estimation_error == pytest.approx(0.08357939916, rel=1e-9)
    assert found.rank == pytest.approx(0.5010592488, rel=1e-9)


@pytest.mark.parametrize(
    ("gamma", "d", "n_eff", "L"), [(0.75, 10_000, 1e4, 10.0), (1.25, 100_000, 1e6, 44.7), (2.0, 10_000, 1e6, 100.0)]
)
def test_law_II_is_near_the_exact_error(gamma, d, n_eff, L):
    found = ps.scaling(network(gamma, d, n_eff, L), factor=None)
    assert found.phase == "II"
    assert 0.93 < found.error / found.law_value < 1.0


def test_check_value_5():
    found = ps.solve(network(1.25, 100_000, 1e6, 44.72135955))
    assert found.estimation_error == pytest.approx(0.00169018329, rel=3e-9)
    assert found.delta == pytest.approx(0.112180699, rel=1e-8)
    assert found.cutoff == pytest.approx(1.11808425, rel=1e-8)


@pytest.mark.parametrize(
    ("gamma", "alpha", "L", "D", "error"),
    [(0.75, 1e3, 1.0, 0.5, 1.251251251e-4), (1.25, 1e4, 0.01, 1e-5, 2.5007501e-10)],
)
def test_all_learned_is_exact(gamma, alpha, L, D, error):
    """Check values 11 of the theory."""
    assert laws.law_all_learned(alpha, L, D) == pytest.approx(error, rel=1e-8)
    found = ps.scaling(network(gamma, 300, 300 * alpha, L, D), factor=None)
    assert found.law.exact
    assert found.error == pytest.approx(found.law_value, rel=1e-9)


@pytest.mark.parametrize(("gamma", "value"), [(0.75, 4.629), (1.25, 3.9682539683), (2.0, 4.267)])
def test_C_IV(gamma, value):
    assert C_IV(gamma) == pytest.approx(value, rel=1e-4 if gamma != 1.25 else 1e-10)
    # The sum that it is the limit of: K features learned of strength (K/i)^g, the others not.
    K, i = 5_000, np.arange(1, 1_000_001, dtype=np.float64)
    u = (K / i) ** gamma
    total = (
        sum(feature_cost(one, 2.0) for one in u[:K])
        + (u[K:] ** 2).sum()
        + K ** (2 * gamma) * i[-1] ** (1 - 2 * gamma) / (2 * gamma - 1)
    )
    assert total / K == pytest.approx(C_IV(gamma), rel=1e-3)


def test_law_IV_meets_its_equation():
    units = PowerLawUnits(1.25, 1000)
    for D in (0.0, 1e-6, 0.5, 100.0):
        alpha = np.array([1e-3, 1e-2, 1.0])
        R = laws.law_IV(units, alpha, D)
        says = C_IV(1.25) * units.Z**-0.4 * ((R + D / 2) / (2 * alpha * 1000)) ** 0.6
        assert pytest.approx(says, rel=1e-12) == R
    clean = C_IV(1.25) ** 2.5 / units.Z * (2 * 1000 * 0.01) ** -1.5
    assert laws.law_IV(units, 0.01, 0.0) == pytest.approx(clean, rel=1e-12)


@pytest.mark.parametrize(("alpha", "error"), [(1e-4, 0.00502188471), (0.01, 0.04132260662), (0.1, 0.23674709405)])
def test_uniform_V_check_values(alpha, error):
    """Check values 7 of the theory."""
    assert laws.uniform_V(alpha, 0.5) == pytest.approx(error, rel=1e-9)


def test_uniform_V_tends_to_its_law():
    assert laws.uniform_V(1e-9, 0.5) == pytest.approx(0.125 * laws.B * 1e-9**0.4, rel=1e-3)
    assert pytest.approx(1.53261971, abs=5e-9) == laws.B
    slopes = [
        np.log(laws.uniform_V(a * 1.001, 0.5) / laws.uniform_V(a / 1.001, 0.5)) / (2 * np.log(1.001))
        for a in (1e-6, 1e-4, 1e-3, 0.01, 0.1)
    ]
    assert slopes == pytest.approx([0.403, 0.417, 0.447, 0.546, 1.27], abs=0.005)


def test_noise_alone_under_weight_decay():
    """Beside the exact solver for a target of next to nothing; at 1/4 it is the law of the peak."""
    nothing = ps.PointMasses([0.0, 1e-9], [0.5, 0.5])
    for alpha, L in ((0.05, 0.1), (0.2, 0.01), (0.25, 1e-4), (0.4, 0.3), (0.1, 3.0)):
        exact = ps.solve(ps.quadratic_network(nothing, alpha=alpha, weight_decay=L, noise=0.5)).estimation_error
        assert laws.uniform_V(alpha, 0.5, L) == pytest.approx(exact, rel=1e-6, abs=1e-12)
    assert laws.uniform_V(0.25, 0.5, 1e-9) == pytest.approx(laws.law_peak(1e-9, 0.5), rel=1e-3)


def test_uniform_V_against_the_exact_solver():
    exact = [ps.solve(network(2.0, 100_000, alpha * 1e5, 1e-7)).estimation_error for alpha in (0.1, 0.01)]
    assert exact == pytest.approx([0.2371, 0.0454], abs=6e-5)
    assert laws.uniform_V(0.1, 0.5) == pytest.approx(exact[0], rel=0.01)


def test_every_phase_has_a_law():
    there = place(1.25, 1000, 1000.0, 0.1)
    assert all(law_value(there, phase) > 0.0 for phase in PHASES)
