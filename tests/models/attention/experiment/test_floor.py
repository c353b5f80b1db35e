"""The floor of the test error, measured, beside that of the theory."""

from __future__ import annotations

import pytest

import presage as ps
from presage.models.attention.experiment.floor import measured_floor
from presage.models.attention.theory.scaling.softmax_map import well_sampled


def test_floor_of_a_target_of_many_eigenvalues_is_that_of_the_theory():
    problem = ps.attention(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5)
    theory = well_sampled(problem.channel, problem.Q_0, 0.5)  # type: ignore[arg-type]
    found = measured_floor(problem, d=200, samples=100_000)
    assert found.test_error == pytest.approx(theory.test_floor, abs=4 * found.bar + 2.0 / 200 * theory.test_floor)
    assert found.scale == pytest.approx(theory.scale, rel=0.03)


def test_floor_of_a_power_law_is_another_one_at_any_dimension():
    """One eigenvalue makes 3/4 of the target: scores are not Gaussian, however large d is."""
    theory = well_sampled(ps.Softmax(2), 1.0, 0.5)
    found = []
    for d in (50, 200):
        problem = ps.attention(ps.PowerLaw(1.25, d), alpha=1.0, weight_decay=0.1, noise=0.5)
        found.append(measured_floor(problem, d=d, samples=100_000))
    for measured in found:
        assert measured.test_error > theory.test_floor + 10 * measured.bar
        assert measured.test_error == pytest.approx(0.0937, abs=5 * measured.bar)


def test_clean_labels_have_no_floor():
    problem = ps.attention(ps.PowerLaw(1.25, 30), alpha=1.0, weight_decay=0.1, beta=1.0, beta_0=2.0)
    found = measured_floor(problem, d=30, samples=2000)
    assert found.scale == pytest.approx(2.0, rel=1e-4)
    assert found.test_error == pytest.approx(0.0, abs=1e-8)
