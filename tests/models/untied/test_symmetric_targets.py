"""A symmetric target of queries and keys of their own: its singular values are all that scores of others show."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps
from tests.models.untied.problems import cross, itself

SIGNED, UNSIGNED = (
    ps.PointMasses([-1.0, 2.0, 0.0], [0.2, 0.3, 0.5]),
    ps.SingularValueMasses([1.0, 2.0, 0.0], [0.2, 0.3, 0.5]),
)
HALF = ps.MarchenkoPastur(0.5)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"mask": "causal", "n_tokens": 4, "output": "linear"},
        {"penalty": "frobenius"},
        {"weight_decay": 0.0, "alpha": 0.3},
        {"target_gain": 1.5},
    ],
)
def test_signs_of_the_eigenvalues_play_no_part(changes):
    one, other = (ps.solve(cross(target=law, **changes)) for law in (SIGNED, UNSIGNED))
    for name in one.compared:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9)
    assert one.spectrum.cdf(0.7) == pytest.approx(other.spectrum.cdf(0.7), abs=1e-9)
    assert one.target_law.cdf(1.5) == pytest.approx(0.7)


def test_a_law_with_a_density_is_that_of_its_quantiles():
    many = ps.Empirical(HALF.quantile((np.arange(4000) + 0.5) / 4000))
    one, other = ps.solve(cross(target=HALF)), ps.solve(cross(target=many))
    for name in one.compared:
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=2e-3)
    assert float(one.target_law.cdf(0.0)) == pytest.approx(0.5)


def test_a_product_target_of_the_same_size_is_another():
    # The negative control: a law of other singular values with the same second moment.
    symmetric = ps.solve(cross(target=ps.MarchenkoPastur(1.0)))
    scaled = ps.solve(cross(target=ps.SingularValueMasses([sqrt(2.0)], [1.0])))
    assert ps.MarchenkoPastur(1.0).second_moment == pytest.approx(2.0)
    assert abs(symmetric.estimation_error / scaled.estimation_error - 1.0) > 0.1


def test_who_knows_the_symmetry_needs_half_the_samples():
    low = ps.MarchenkoPastur(0.05)
    found, tied = (
        ps.thresholds(cross(target=low, noise=0.0)),
        ps.thresholds(ps.attention(low, alpha=1.0, weight_decay=0.1)),
    )
    assert 2 * found.strong_recovery == pytest.approx(2 * tied.bayes_recovery)  # numbers a sample: two, and two
    assert 2 * found.weak_recovery == pytest.approx(2 * tied.weak_recovery)
    product = ps.thresholds(cross(target=ps.GaussianProduct(0.05), noise=0.0))
    assert found.strong_recovery == pytest.approx(0.5 * product.strong_recovery)
    assert found.minimal_nuclear_norm == product.minimal_nuclear_norm
    assert "know that the target is symmetric" in found.caveats[0]
    best = ps.bayes_optimal(cross(target=HALF))
    blind = ps.bayes_optimal(
        cross(target=ps.SingularValueMasses.of_matrix(np.diag(HALF.quantile(np.linspace(0.01, 0.99, 50)))))
    )
    assert best.mmse < 0.7 * blind.mmse
    assert best.test_error < ps.solve(cross(target=HALF)).test_error
    assert best.denoiser.mmse(best.delta) == pytest.approx(best.mmse, rel=1e-9)
    # 2 alpha_eff delta^2 = Delta + MMSE
    assert 4.0 * best.delta**2 == pytest.approx(0.25 + best.mmse, rel=1e-9)


def error_of_posterior_mean(d, seeds, alpha, noise):
    """Of a Gaussian symmetric matrix seen linearly: ridge regression on its entries, the trace of its covariance."""
    i, j = np.triu_indices(d)
    prior, errors = np.where(i == j, 2.0, 1.0) / d, []
    for seed in range(seeds):
        x, z = np.random.default_rng(seed).standard_normal((2, round(alpha * d * d), d))
        A = np.where(i == j, x[:, i] * z[:, j], x[:, i] * z[:, j] + x[:, j] * z[:, i]) / sqrt(d)
        covariance = np.linalg.inv(A.T @ A / noise + np.diag(1.0 / prior))
        errors.append(np.where(i == j, 1.0, 2.0) @ np.diag(covariance) / d)
    return np.mean(errors)


def test_the_best_of_all_methods_is_the_posterior_mean_of_a_gaussian_target():
    seen = {"n_tokens": 1, "n_keys": 1, "output": "linear", "alpha": 0.6, "noise": 0.3}
    best = ps.bayes_optimal(cross(target=ps.Semicircle(1.0), **seen)).mmse
    small, large = (error_of_posterior_mean(d, seeds, 0.6, 0.3) for d, seeds in ((15, 60), (30, 8)))
    assert 2.0 * large - small == pytest.approx(best, rel=0.01)  # a + b/d
    blind = ps.bayes_optimal(cross(target=ps.GaussianProduct(50.0), **seen)).mmse  # of nearly Gaussian entries
    assert blind > 1.5 * best


def test_a_symmetric_target_where_a_token_looks_at_itself_is_told():
    found = ps.solve(itself(target=HALF, penalty="frobenius", output="linear"))
    assert float(found.target_law.cdf(0.0)) == pytest.approx(0.5)
