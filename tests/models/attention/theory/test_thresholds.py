"""Thresholds: closed forms of Marchenko-Pastur targets, limits of the equations for any law, and units."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.interpolation import interpolating_point, interpolation_threshold
from presage.models.attention.theory.recovery import bayes_recovery, perfect_recovery

ANY = [
    ps.MarchenkoPastur(0.3),
    ps.PointMasses([0.0, 1.0], [0.6, 0.4]),
    ps.PointMasses([0.0, 0.5, 2.0], [0.5, 0.3, 0.2]),
]


def network(law, alpha=0.5, noise=0.0) -> ps.Problem:
    return ps.quadratic_network(law, alpha=alpha, weight_decay=0.1, noise=noise)


@pytest.mark.parametrize("k", [0.05, 0.2, 0.5, 0.9, 1.0, 2.0])
def test_interpolation_without_noise_in_closed_form(k):
    law = ps.MarchenkoPastur(k)
    closed = (1 + 2 * k - k * k) / 4 if k < 1 else 0.5
    assert interpolation_threshold(law, 0.0) == pytest.approx(closed, rel=1e-14)
    # The equations at little noise approach it, as the square root or slower.
    gaps = [closed - interpolation_threshold(law, noise) for noise in (1e-3, 1e-5, 1e-7)]
    assert gaps[0] > gaps[1] > gaps[2] > 0.0
    assert gaps[2] < 2e-3


def test_interpolation_without_a_signal_is_ellipsoid_fitting():
    assert interpolation_threshold(ps.MarchenkoPastur(0.5), 1e6) == pytest.approx(0.25, abs=1e-5)
    assert interpolation_threshold(ps.Semicircle(), 0.5) == 0.25


@pytest.mark.parametrize(("law", "noise"), [(ps.MarchenkoPastur(0.2), 0.5), (ANY[2], 0.1), (ps.PowerLaw(1.3, 50), 0.4)])
def test_the_cutoff_of_interpolating_networks_vanishes_at_the_threshold(law, noise):
    threshold = interpolation_threshold(law, noise)
    cutoffs = [interpolating_point(law, noise, threshold * (1 - gap)).c for gap in (1e-2, 1e-4, 1e-6)]
    assert cutoffs[0] > cutoffs[1] > cutoffs[2] > 0.0
    assert cutoffs[2] < 0.02 * cutoffs[0]
    below, above = (
        ps.solve(network(law, alpha, noise).replace(weight_decay=1e-7)).train_error
        for alpha in (0.98 * threshold, 1.02 * threshold)
    )
    assert below < 1e-6
    assert above > 1e-5


@pytest.mark.parametrize(("k", "value"), [(0.05, 0.0920074), (0.2, 0.2555620), (0.5, 0.4221750), (0.8, 0.4891976)])
def test_perfect_recovery_check_values(k, value):
    assert perfect_recovery(ps.MarchenkoPastur(k)) == pytest.approx(value, abs=5e-8)


def test_perfect_recovery_limits():
    assert perfect_recovery(ps.MarchenkoPastur(1e-8)) / 1e-8 == pytest.approx(3.0, abs=0.02)
    assert perfect_recovery(ps.MarchenkoPastur(1.5)) == 0.5
    assert perfect_recovery(ps.Semicircle()) == inf


@pytest.mark.parametrize("law", ANY, ids=str)
def test_perfect_recovery_is_where_the_error_vanishes(law):
    """For any law: the error of the fit of least weight goes to zero there, not before."""
    threshold = perfect_recovery(law)
    errors = []
    for gap in (1e-2, 1e-3, 1e-4):
        alpha = threshold * (1 - gap)
        errors.append(2 * alpha * interpolating_point(law, 0.0, alpha).delta ** 2)
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4 * law.second_moment
    assert errors[0] > 1e-6


@pytest.mark.parametrize("law", ANY, ids=str)
def test_bayes_recovery_is_where_the_bayes_error_vanishes(law):
    threshold = bayes_recovery(law)
    below, near = (ps.bayes_optimal(network(law, threshold * (1 - gap))).mmse for gap in (1e-1, 1e-4))
    assert ps.bayes_optimal(network(law, 1.001 * threshold)).mmse == 0.0
    assert 0.0 < near < 2e-3 * below


def test_bayes_recovery_in_closed_form():
    for k in (0.1, 0.5, 0.99):
        assert bayes_recovery(ps.MarchenkoPastur(k)) == pytest.approx(k - k * k / 2, rel=1e-14)
    assert bayes_recovery(ps.MarchenkoPastur(1.2)) == 0.5


@pytest.mark.parametrize("n_tokens", [2, 3])
def test_unfactorized_recovery_is_where_its_error_vanishes(n_tokens):
    """At 1/2 in units of (L_in - 1) alpha; alpha = 1/2, as printed, is far beyond it."""
    problem = ps.unfactorized_attention(ANY[0], alpha=0.1, ridge=1.0, n_tokens=n_tokens)
    threshold = ps.thresholds(problem).unfactorized_recovery
    assert threshold == pytest.approx(0.5 / (n_tokens * (n_tokens + 1) / 2 - 1))
    for fraction in (0.5, 0.9, 0.999):
        error = ps.ridgeless(problem.replace(alpha=fraction * threshold)).estimation_error
        assert error == pytest.approx(problem.Q_0 * (1 - fraction), rel=1e-10)


@pytest.mark.parametrize("n_tokens", [1, 2, 4])
def test_thresholds_count_the_components_of_a_sample(n_tokens):
    law, L_in = ps.MarchenkoPastur(0.5), n_tokens * (n_tokens + 1) // 2
    one = ps.thresholds(network(law, noise=0.5))
    linear = ps.thresholds(ps.linear_attention(law, alpha=1.0, weight_decay=0.1, noise=0.5, n_tokens=n_tokens))
    names = ("interpolation", "perfect_recovery", "unfactorized_recovery", "bayes_recovery", "weak_recovery")
    for name in names:
        assert getattr(linear, name) * L_in == pytest.approx(getattr(one, name), rel=1e-12)
    if n_tokens > 1:
        softmax = ps.thresholds(ps.attention(law, alpha=1.0, weight_decay=0.1, noise=0.5, n_tokens=n_tokens))
        for name in names:
            assert getattr(softmax, name) * (L_in - 1) == pytest.approx(getattr(one, name), rel=1e-12)


def test_order_of_the_thresholds():
    """Nobody recovers before the best method does, and factors help."""
    for law in (*ANY, ps.MarchenkoPastur(0.01), ps.MarchenkoPastur(0.7)):
        found = ps.thresholds(network(law))
        assert found.weak_recovery <= found.bayes_recovery <= found.perfect_recovery <= found.unfactorized_recovery


@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("kappa_0", [0.25, 1.0, 3.0])
def test_learning_begins_at_once_where_the_rank_is_not_low(kappa_0, noise):
    """Shrinking what one label says of each entry gains in proportion to alpha, and the best method no less."""
    law = ps.MarchenkoPastur(kappa_0)
    found = ps.thresholds(network(law, noise=noise))
    assert found.weak_recovery == 0.0 < found.bayes_recovery
    unseen = law.second_moment - law.mean**2  # the mean of the eigenvalues is known
    for alpha in (0.002, 0.01):
        gain = 1.0 - ps.bayes_optimal(network(law, noise=noise).replace(alpha=alpha)).mmse / unseen
        # 2 alpha labels an entry, of variance unseen + noise/2 each as long as nothing is learned
        assert gain > 0.9 * 2.0 * alpha * unseen / (unseen + 0.5 * noise)
    low = ps.thresholds(network(ps.MarchenkoPastur(0.05), noise=noise))
    assert low.weak_recovery > 0.0


def test_thresholds_speak():
    words = str(ps.thresholds(ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5)))
    assert "alpha = 0.153482" in words
    assert "recovery is for clean labels" in words
    assert "weak recovery is for low rank: at rank 0.5" in words
    assert "weak recovery is for low rank" not in str(ps.thresholds(network(ps.MarchenkoPastur(0.05))))
    negative = str(ps.thresholds(network(ps.Semicircle())))
    assert "no alpha" in negative
    assert "negative eigenvalues" in negative
    ridge = ps.thresholds(ps.unfactorized_attention(ps.MarchenkoPastur(0.5), alpha=0.5, ridge=0.1, noise=0.5))
    assert ridge.interpolation == 0.25


def test_a_narrow_student_cannot_be_the_target():
    found = ps.thresholds(ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, kappa=0.2))
    assert found.perfect_recovery == inf
    assert "cannot be the target of rank 0.5 d" in str(found)


def test_what_has_no_thresholds_is_refused():
    with pytest.raises(ValueError, match=r"`channel` must be a Linear or a Softmax.*a label fixes"):
        ps.thresholds(ps.hardmax_attention(ps.MarchenkoPastur(0.5), alpha=1.0))
    with pytest.raises(ValueError, match="`problem` must be a LearningProblem"):
        ps.thresholds(ps.MarchenkoPastur(0.5))  # type: ignore[arg-type]


def test_interpolation_of_a_target_with_negative_eigenvalues():
    """The threshold is between that of noise and that of a positive semidefinite target, and its network fits."""
    law = ps.Semicircle(1.0, centre=1.0)
    threshold = interpolation_threshold(law, 0.0)
    assert 0.25 < threshold < 0.5
    errors = [
        ps.solve(network(law, alpha).replace(weight_decay=1e-7)).train_error
        for alpha in (0.97 * threshold, 1.03 * threshold)
    ]
    assert errors[0] < 1e-6 < errors[1]
    assert np.isfinite(errors).all()
