"""Limits in which the answer is known by itself."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.untied.theory.linear_start import linear_start
from presage.models.untied.theory.state_evolution import fixed_point
from tests.models.untied.problems import HALF, LOW, cross


@pytest.mark.parametrize(("mask", "tokens", "shown"), [("cross", 2, 4), ("causal", 4, 6), ("off-diagonal", 3, 6)])
def test_a_linear_output_is_bilinear_regression(mask, tokens, shown):
    problem = cross(output="linear", mask=mask, n_tokens=tokens, alpha=0.3, weight_decay=0.2)
    assert problem.components == shown
    one = ps.solve(problem)
    regression = ps.solve(ps.bilinear_regression(HALF, alpha=0.3 * shown, noise=0.25, weight_decay=0.2))
    assert one.estimation_error == pytest.approx(regression.estimation_error, rel=1e-6)
    assert one.train_loss == pytest.approx(regression.train_loss, rel=1e-6)
    assert one.rank == pytest.approx(regression.rank, rel=1e-6)
    assert one.test_error == pytest.approx(shown * regression.test_error, rel=1e-6)
    assert one.train_error == pytest.approx(shown * regression.train_error, rel=1e-6)


def test_a_ridge_on_a_linear_output_is_ridge_regression():
    alpha, tau, noise = 1.3, 0.4, 0.25
    found = ps.solve(cross(output="linear", penalty="frobenius", alpha=alpha / 4.0, weight_decay=tau, noise=noise))
    # The trace of a resolvent of a Marchenko-Pastur matrix, as for ridge regression of a vector of d^2 entries.
    b = tau + alpha - 1.0
    trace = (np.sqrt(b * b + 4.0 * tau) - b) / (2.0 * tau)
    slope = -(trace * trace + trace) / (2.0 * tau * trace + b)
    error = -(tau**2) * slope + noise * (trace + tau * slope)
    assert found.estimation_error == pytest.approx(error, rel=1e-6)
    assert found.train_error == pytest.approx(4.0 * (error + noise) / (1.0 + trace) ** 2, rel=1e-6)


def test_the_start_of_a_small_signal_is_the_answer():
    # A softmax of small scores is linear: its slope is beta^2/4 a measurement, and the start is where it ends.
    problem = cross(beta=0.02, weight_decay=0.02 * 0.01**2, alpha=0.7)
    found = fixed_point(problem, accuracy=1e-3, tol=1e-9).state.logs
    assert np.allclose(linear_start(problem, 0.25 * 0.02**2), found, atol=2e-3)
    ridge = problem.replace(penalty="frobenius")
    found = fixed_point(ridge, accuracy=1e-3, tol=1e-9).state.logs
    assert np.allclose(linear_start(ridge, 0.25 * 0.02**2), found, atol=2e-3)
    assert not np.allclose(linear_start(ridge, 0.35 * 0.02**2), found, atol=2e-3)


@pytest.mark.parametrize(("alpha", "error"), [(0.22, 0.112), (0.26, 0.019), (0.32, 0.0)])
def test_vanishing_weight_decay_is_bilinear_regression(alpha, error):
    problem = cross(target=LOW, alpha=alpha, weight_decay=0.0, noise=0.0)
    limit = ps.solve(problem)
    assert limit.estimation_error == pytest.approx(error, abs=5e-4)
    assert limit.train_loss == 0.0
    regression = ps.solve(ps.bilinear_regression(LOW, alpha=2.0 * alpha, weight_decay=0.0))
    assert limit.estimation_error == pytest.approx(regression.estimation_error, abs=1e-9)
    if error:
        small = ps.solve(problem.replace(weight_decay=1e-6))
        assert small.estimation_error == pytest.approx(limit.estimation_error, rel=2e-3)
        assert small.test_error == pytest.approx(limit.test_error, rel=2e-3)


def test_temperatures_scale_the_interpolator():
    problem = cross(target=LOW, alpha=0.22, weight_decay=0.0, noise=0.1)
    one, warm = ps.solve(problem), ps.solve(problem.replace(beta=0.5, beta_0=1.0))
    assert (warm.m, warm.q) == pytest.approx((2.0 * one.m, 4.0 * one.q))
    assert warm.test_error == pytest.approx(one.test_error, rel=1e-9)


def test_a_small_ridge_tends_to_the_interpolator():
    problem = cross(alpha=0.2, weight_decay=0.0, noise=0.1, penalty="frobenius", beta=0.5)
    limit = ps.solve(problem).estimation_error
    off = [abs(ps.solve(problem.replace(weight_decay=decay)).estimation_error / limit - 1.0) for decay in (1e-4, 1e-6)]
    assert off[1] < 0.02 * off[0]
    assert off[1] < 1e-3


def test_more_samples_than_entries_need_no_weight_decay():
    limit = ps.solve(cross(alpha=2.0, weight_decay=0.0))
    small = ps.solve(cross(alpha=2.0, weight_decay=1e-5))
    assert limit.rank == 1.0
    assert small.estimation_error == pytest.approx(limit.estimation_error, rel=1e-3)


def test_a_large_weight_decay_cuts_everything():
    found = ps.solve(cross(weight_decay=2.0))
    assert found.rank == 0.0
    assert found.estimation_error == pytest.approx(1.0, rel=1e-12)
    assert found.train_loss == pytest.approx(found.test_error)  # of no weights: alpha times the loss of a sample


def test_as_many_measurements_as_entries_is_an_error_that_says_so():
    with pytest.raises(ps.SolveError, match="as many measurements as entries"):
        ps.solve(cross(alpha=0.5, weight_decay=0.0))


@pytest.mark.parametrize("penalty", ["weight-decay", "frobenius"])
def test_the_loss_grows_with_its_price_by_what_is_paid_for(penalty):
    low, middle, high = (ps.solve(cross(penalty=penalty, weight_decay=decay)) for decay in (0.0199, 0.02, 0.0201))
    slope = (high.train_loss - low.train_loss) / 0.0002
    paid = middle.q if penalty == "frobenius" else 2.0 * middle.spectrum.moment(1)
    assert slope == pytest.approx(paid, rel=1e-5)


def test_the_spectrum_has_the_moments_of_the_fit():
    found = ps.solve(cross())
    law = found.spectrum
    assert law.moment(2) == pytest.approx(found.q, rel=1e-8)
    assert law.cdf(0.0) == pytest.approx(1.0 - found.rank, abs=1e-6)
    assert float(law.cdf(np.inf)) == 1.0
    edges = law.support[-1]
    middle = np.linspace(edges[0], edges[1], 4001)
    assert np.trapezoid(law.density(middle), middle) == pytest.approx(found.rank, abs=2e-3)
    drawn = law.sample(400, np.random.default_rng(0))
    assert np.mean(drawn**2) == pytest.approx(found.q, rel=0.03)
