"""Singular values of symmetric matrices: laws folded at zero, beside sums over eigenvalues and drawn matrices."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.laws.absolute_values import AbsoluteValues, Squares
from presage.spectra.rectangular.convolution import rectangular_functionals

LAWS = [
    ps.MarchenkoPastur(0.5),
    ps.MarchenkoPastur(2.0),
    ps.Semicircle(1.0),
    ps.Semicircle(1.0, 0.7),
    ps.Semicircle(1.0, -3.0),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_squares_are_a_law(law):
    report = ps.check_law(Squares(law))
    assert "nothing found" in str(report)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_squares_have_the_transform_of_squared_eigenvalues(law):
    squares, (angle, weight) = Squares(law), np.polynomial.legendre.leggauss(300)
    left, right = law.support[-1]  # of the density; a Marchenko-Pastur law may have zeros beside it
    x = 0.5 * (left + right) + 0.5 * (right - left) * np.sin(0.5 * np.pi * angle)
    mass = weight * law.density(x) * 0.25 * np.pi * (right - left) * np.cos(0.5 * np.pi * angle)
    x, mass = np.append(x, law.atoms.positions), np.append(mass, law.atoms.masses)
    w = np.array([0.3 + 0.4j, -2.0, 40.0, 2.0 + 0.7j])
    assert squares.stieltjes(w) == pytest.approx((1.0 / (w[:, None] - x**2)) @ mass, rel=1e-6)
    assert squares.stieltjes_derivative(w) == pytest.approx(-((w[:, None] - x**2) ** -2.0) @ mass, rel=1e-6)
    assert squares.mean == pytest.approx(law.second_moment, rel=1e-9)
    assert squares.moment(2) == pytest.approx(law.moment(4), rel=1e-9)
    root = np.linspace(0.0, np.sqrt(squares.support[-1, 1]), 20_001)
    whole = np.trapezoid(2.0 * root * squares.density(root**2), root)
    assert whole == pytest.approx(1.0 - squares.atoms.masses.sum(), abs=1e-3)
    for level in (0.1, 1.0, 3.0, 9.0):
        assert float(squares.cdf(level)) == pytest.approx(mass[x**2 <= level].sum(), abs=0.01)


def test_supports_that_meet_when_folded_are_one():
    two_sided = ps.PointMasses([-1.0, 1.0, 2.0], [0.2, 0.3, 0.5])
    positions, masses = AbsoluteValues(two_sided).squared.atoms
    assert positions.tolist() == [1.0, 4.0]
    assert masses == pytest.approx([0.5, 0.5])
    assert Squares(ps.Semicircle(1.0, 0.7)).support.tolist() == [[0.0, pytest.approx(2.7**2)]]
    assert Squares(ps.Semicircle(1.0, -3.0)).support.tolist() == [[pytest.approx(1.0), pytest.approx(25.0)]]


def test_noise_on_a_symmetric_matrix_by_drawing_it():
    law, d, rng = ps.Semicircle(1.0, 0.7), 500, np.random.default_rng(0)
    frame = np.linalg.qr(rng.standard_normal((d, d)))[0]
    S_0 = (frame * law.quantile((np.arange(d) + 0.5) / d)) @ frame.T
    x = np.linalg.svd(S_0 + 0.5 * rng.standard_normal((d, d)) / np.sqrt(d), compute_uv=False)
    kept = np.maximum(x - 0.3, 0.0)
    found = rectangular_functionals(AbsoluteValues(law), 0.5, 0.3)
    assert (found.J, found.first) == pytest.approx((np.mean(kept**2), np.mean(kept)), rel=5e-3)
    assert found.rank == pytest.approx(np.mean(kept > 0.0), abs=0.01)
