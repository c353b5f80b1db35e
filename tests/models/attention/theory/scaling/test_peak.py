"""The peak of interpolation at finite d."""

from __future__ import annotations

import pytest

import presage as ps
from presage.models.attention.theory.scaling.laws import law_peak, law_VIa, uniform_V
from presage.models.attention.theory.scaling.peak import half_width, peak_height, saturation

SEEN = [
    (1.25, 1000, 0.2519861, 46.915),
    (2.0, 1000, 0.2503812, 298.52),
    (0.75, 1000, 0.2777126, 3.3399),
    (0.75, 10_000, 0.2617151, 6.8289),
    (1.25, 100_000, 0.2500262, 3375.2),
]


@pytest.mark.parametrize(("gamma", "d", "alpha", "error"), SEEN)
def test_the_peak_saturates(gamma, d, alpha, error):
    found = saturation(ps.PowerLaw(gamma, d), 0.5)
    assert found.alpha == pytest.approx(alpha, abs=5e-8)
    assert found.error == pytest.approx(error, rel=2e-5)
    assert law_peak(found.weight_decay, 0.5) == pytest.approx(found.error)


def test_it_is_the_ridgeless_error_at_the_threshold():
    problem = ps.quadratic_network(ps.PowerLaw(1.25, 200), alpha=0.3, weight_decay=0.1, noise=0.5)
    threshold = ps.thresholds(problem).interpolation
    beyond = ps.ridgeless(problem.replace(alpha=threshold * (1 + 1e-8)))
    found = saturation(problem.target, 0.5)
    assert found.alpha == pytest.approx(threshold, rel=1e-12)
    assert found.error == pytest.approx(beyond.estimation_error, rel=1e-6)


def test_of_a_plain_target_it_is_told_at_second_moment_one():
    plain, one = ps.PowerLaw(1.25, 100, normalized=False), ps.PowerLaw(1.25, 100)
    size = plain.second_moment
    assert saturation(plain, 0.5 * size) == pytest.approx(saturation(one, 0.5), rel=1e-9)


def test_the_laws_of_both_sides_meet_the_peak():
    height = 40.0
    width = half_width(height, 0.5)
    assert law_VIa(0.25 + width, 0.5) == pytest.approx(height)
    assert uniform_V(0.25 - width, 0.5) == pytest.approx(height, rel=0.01)
    assert half_width(0.3, 0.5) == 0.0


def test_its_height_is_bounded():
    found = saturation(ps.PowerLaw(1.25, 1000), 0.5)
    assert peak_height(found, 1e-3, 0.5) == law_peak(1e-3, 0.5)
    assert peak_height(found, 1e-9, 0.5) == found.error
