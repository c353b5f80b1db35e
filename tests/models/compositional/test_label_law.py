"""The law of the second layer on a grid: masses, moments, and what a feature adds."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.compositional.theory.label_law import POINTS, label_law
from presage.models.compositional.theory.moments import (
    Moments,
    _on_grid,
    law_of,
    moments,
    row_noise_of_identity,
    third_moments_of_identity,
)

STRENGTHS = [
    np.array([1.0]),
    np.array([0.8, -0.6]),
    ps.compositional(alpha=1.0, features=6, decay=0.5).strengths,
    ps.compositional(alpha=1.0, features=40, decay=0.3, signs="positive").strengths,
]


def extrapolated(strengths: np.ndarray, function) -> tuple[float, np.ndarray]:
    """Expectations of a function of the second layer, plain and with squares of features, without the grid's step."""
    found = []
    for points in (POINTS, POINTS // 2):
        law = label_law(strengths, strengths, points)
        values = function(law.grid)
        found.append((float(law.mass @ values), law.weighted @ values))
    (a, b), (c, d) = found
    return (4 * a - c) / 3, (4 * b - d) / 3


@pytest.mark.parametrize("strengths", STRENGTHS)
def test_masses_have_the_moments_of_the_second_layer(strengths):
    """Total mass 1, mean 0, variance 1, third moment 2 sqrt2 sum lam^3, fourth 3 + 12 sum lam^4."""
    law = label_law(strengths, strengths[:1], POINTS)
    assert law.mass.sum() == pytest.approx(1.0, abs=1e-10)
    assert law.mass @ law.grid == pytest.approx(0.0, abs=1e-10)
    expected = {2: 1.0, 3: 2 * sqrt(2) * np.sum(strengths**3), 4: 3 + 12 * np.sum(strengths**4)}
    for k, value in expected.items():
        assert extrapolated(strengths, lambda h, k=k: h**k)[0] == pytest.approx(value, abs=2e-5), k


@pytest.mark.parametrize("strengths", STRENGTHS)
def test_weights_of_a_feature_add_an_exponential(strengths):
    """Weighted by h_i^2 the mean of h_2 is sqrt2 lam_i, and the total weight is one."""
    law = label_law(strengths, strengths, POINTS)
    assert law.weighted.sum(axis=1) == pytest.approx(np.ones(len(strengths)), abs=1e-10)
    assert law.weighted @ law.grid == pytest.approx(sqrt(2) * strengths, abs=1e-9)
    rng = np.random.default_rng(0)
    h = rng.standard_normal((400_000, len(strengths)))
    second = (h**2 - 1) @ strengths / sqrt(2)
    values = np.tanh(second)[:, None] * h**2
    error = values.std(axis=0) / sqrt(len(h))
    assert np.all(np.abs(values.mean(axis=0) - extrapolated(strengths, np.tanh)[1]) < 4 * error)


@pytest.mark.parametrize("strengths", STRENGTHS)
def test_closed_forms_are_the_expectations_on_the_grid(strengths):
    assert extrapolated(strengths, lambda h: h**2)[1] == pytest.approx(row_noise_of_identity(strengths), abs=1e-5)
    plain, weighted = extrapolated(strengths, lambda h: h**3)
    third, third_row = third_moments_of_identity(strengths)
    assert plain == pytest.approx(third, abs=1e-5)
    assert weighted == pytest.approx(third_row, abs=3e-5)


def test_many_features_are_nearly_gaussian():
    """A thousand weak features and their cumulants: the law of h_2 is normal up to a skewness that is known."""
    strengths = ps.compositional(alpha=1.0, features=3000, decay=0.0).strengths
    law = label_law(strengths, strengths[:1], POINTS)
    from scipy.special import ndtr

    below = np.cumsum(law.mass) - 0.5 * law.mass
    assert np.abs(below - ndtr(law.grid)).max() < 2e-4


@pytest.mark.parametrize("clip", [1.0, 2.5])
def test_moments_of_clipped_labels(clip):
    """Beside a million draws, within four standard errors."""
    problem = ps.compositional(alpha=10.0, features=3, decay=0.7, clip=clip)
    found = moments(problem)
    h = np.random.default_rng(1).standard_normal((1_000_000, 3))
    y = (h**2 - 1) @ problem.strengths / sqrt(2)
    used = np.clip(y, -clip, clip)
    used = used - used.mean()
    for measured, predicted in (
        (used[:, None] * (h**2 - 1), found.signal),
        (used[:, None] ** 2 * h**2, found.row),
        (used[:, None] ** 3 * h**2, found.third_row),
        (used[:, None] ** 2, np.array([found.variance])),
        (y[:, None] * (h**2 - 1), found.readout),
    ):
        error = measured.std(axis=0) / 1000.0
        assert np.all(np.abs(measured.mean(axis=0) - predicted) < 4 * error)
    assert found.error < 1e-4


def test_weak_features_beyond_those_that_are_followed():
    """Their signals fall with their strengths: those of 256 features are continued to 300 as a direct sum has them."""
    problem = ps.compositional(alpha=10.0, features=300, decay=0.5, link=ps.TanhLink(1.0))
    found: Moments = moments(problem)
    direct = label_law(problem.strengths, problem.strengths[[270, 299]], POINTS)
    y = np.tanh(direct.grid)
    y = y - direct.mass @ y
    assert len(found.signal) == 300
    assert direct.weighted @ y == pytest.approx(found.signal[[270, 299]], rel=3e-3)


def test_the_law_is_that_of_the_problem():
    problem = ps.compositional(alpha=10.0, features=4, decay=1.0)
    assert _on_grid(problem, law_of(problem))[0] == pytest.approx(sqrt(2) * problem.strengths, abs=1e-9)
