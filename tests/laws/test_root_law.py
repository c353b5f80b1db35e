"""The law of singular values: mass one, the second moment of the target, and a density that is the slope of its cdf."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps

LAWS = [ps.GaussianProduct(0.5, 2.0), ps.GaussianProduct(0.3), ps.GaussianProduct(1.5, 3.0)]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_mass_and_second_moment(law):
    roots = law.singular_values
    left, right = roots.support[-1]
    angle = np.linspace(0.0, np.pi, 20_001)
    s = 0.5 * (left + right) - 0.5 * (right - left) * np.cos(angle)
    weight = roots.density(s) * 0.5 * (right - left) * np.sin(angle)
    assert np.trapezoid(weight, angle) + roots.atoms.masses.sum() == pytest.approx(1.0, abs=1e-4)
    # Q_0 = |M|_F^2/sqrt(p N), and the sum of the squared singular values over p is sqrt(aspect) times that.
    expected = law.second_moment * np.sqrt(law.aspect)
    assert np.trapezoid(weight * s**2, angle) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_density_is_the_slope_of_the_distribution_function(law):
    roots = law.singular_values
    left, right = roots.support[-1]
    s = np.linspace(left, right, 9)[2:-2]
    slope = (roots.cdf(s + 1e-4) - roots.cdf(s - 1e-4)) / 2e-4
    assert roots.density(s) == pytest.approx(slope, rel=1e-3)
    assert float(roots.cdf(-1.0)) == 0.0
    assert float(roots.density(-1.0)) == 0.0


def test_given_singular_values_are_its_atoms():
    roots = ps.SingularValueMasses([0.0, 1.0, 2.5], [0.5, 0.3, 0.2]).singular_values
    assert roots.atoms.positions == pytest.approx([0.0, 1.0, 2.5])
    assert roots.atoms.masses == pytest.approx([0.5, 0.3, 0.2])
