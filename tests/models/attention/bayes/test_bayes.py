"""Bayes-optimal errors: published numbers, identities, and that nothing does better."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import pytest
from scipy.special import log_ndtr

import presage as ps
from presage.models.attention.bayes.evidence import evidence
from presage.models.attention.bayes.optimal import least_test_error
from presage.models.attention.channels.hardmax import normal_pair_cdf, signs_posterior
from presage.models.attention.channels.score import score

MP = ps.MarchenkoPastur(0.5)


def network(k, noise, alpha) -> ps.Problem:
    return ps.quadratic_network(ps.MarchenkoPastur(k), alpha=alpha, weight_decay=0.01, noise=noise)


@pytest.mark.parametrize(
    ("k", "noise", "alpha", "value"),
    [(0.5, 0.0, 0.2, 0.39220), (0.5, 0.5, 0.5, 0.24884), (0.5, 0.5, 1.0, 0.11139), (0.2, 0.0, 0.1, 0.56148)],
)
def test_check_values(k, noise, alpha, value):
    found = ps.bayes_optimal(network(k, noise, alpha))
    assert found.mmse == pytest.approx(value, abs=5e-6)
    assert found.residual < 1e-12
    assert found.test_error == pytest.approx(2 * found.mmse + noise, rel=1e-12)
    assert found.q == pytest.approx(1 + k - found.mmse)
    assert 2 * alpha * found.delta**2 == pytest.approx(found.mmse + noise / 2, rel=1e-10)


@pytest.mark.parametrize(("alpha", "value"), [(0.5, 0.213), (1.0, 0.079)])
def test_hardmax_check_values(alpha, value):
    assert ps.bayes_optimal(ps.hardmax_attention(MP, alpha=alpha)).mmse == pytest.approx(value, abs=5e-4)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
def test_the_published_score_of_hardmax_is_wrong(alpha):
    """With the bivariate density in place of its derivative the square of the score is off by far."""
    solution = ps.bayes_optimal(ps.hardmax_attention(MP, alpha=alpha))
    q, V = solution.q, solution.mmse
    rng = np.random.default_rng(0)
    omega = np.sqrt(q) * rng.standard_normal((200_000, 3))
    z_0 = omega + np.sqrt(V) * rng.standard_normal(omega.shape)
    channel = ps.Hardmax()
    s = channel.signs(z_0)
    k = s * (np.sqrt(2) * omega[:, [0, 2]] - omega[:, [1]]) / np.sqrt(3 * V)
    r = s[:, 0] * s[:, 1] / 3
    quadratic = (k[:, 0] ** 2 - 2 * r * k[:, 0] * k[:, 1] + k[:, 1] ** 2) / (1 - r * r)
    density = np.exp(-quadratic / 2) / (2 * np.pi * np.sqrt(1 - r * r)) / normal_pair_cdf(k[:, 0], k[:, 1], r)
    printed = np.mean((3 + 3 + 6 * r) * density**2) / (3 * V)
    right = evidence(channel, q, V).square
    assert abs(printed / right - 1) > 0.2
    assert 1 / (2 * alpha * right) == pytest.approx(solution.delta**2, rel=1e-9)


CHANNELS = [
    ps.Linear(1),
    ps.Linear(2),
    ps.Softmax(2),
    ps.Softmax(3, 2.0, 0.5),
    ps.Hardmax(),
    ps.PairComparison(3.0),
    ps.Huber(2),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=str)
@pytest.mark.parametrize(("q", "V"), [(1.0, 0.5), (0.3, 1.2), (1.4, 0.02)])
def test_evidence_is_the_average_of_the_score(channel, q, V):
    """``E |g|^2`` by sampling; and ``E g.(z_0 - omega) = V E |g|^2``, since ``omega + V g`` is a posterior mean."""
    rng = np.random.default_rng(3)
    omega = np.sqrt(q) * rng.standard_normal((100_000, channel.n_in))
    z_0 = omega + np.sqrt(V) * rng.standard_normal(omega.shape)
    g = score(channel, z_0, channel.draw_labels(z_0, rng), omega, V)
    square, product = np.sum(g * g, axis=1), np.sum(g * (z_0 - omega), axis=1) / V
    expected = evidence(channel, q, V).square
    for values in (square, product):
        assert abs(values.mean() - expected) < 4 * values.std() / np.sqrt(len(values))


@pytest.mark.parametrize("channel", CHANNELS[:6], ids=str)
@pytest.mark.parametrize(("q", "V"), [(1.0, 0.5), (0.3, 1.2), (1.4, 0.02)])
def test_entropy_of_a_label_falls_with_the_square_of_the_score(channel, q, V):
    """``dH/dq = -E |g|^2/2`` at a given ``q + V``: what one sample tells is the capacity of its channel."""
    step = 1e-3 * min(q, V)
    up, down = (evidence(channel, q + s, V - s).entropy for s in (step, -step))
    assert (down - up) / step == pytest.approx(evidence(channel, q, V).square, rel=1e-5)


def test_entropy_of_signs_of_which_nothing_is_known():
    """Both rows of a hard maximum alike with the probability of a Gaussian pair of correlation 1/3."""
    alike = 0.5 + np.arcsin(1 / 3) / np.pi
    entropy = -alike * np.log(alike / 2) - (1 - alike) * np.log((1 - alike) / 2)
    assert evidence(ps.Hardmax(), 0.0, 1.3).entropy == pytest.approx(entropy, rel=1e-12)
    assert evidence(ps.Hardmax(), 1e-9, 1.3).entropy == pytest.approx(entropy, rel=1e-6)
    assert evidence(ps.Hardmax(), 1.3, 1e-9).entropy == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(("k_1", "k_2"), [(-5.0, -5.0), (-7.0, -7.0), (-12.0, -12.0), (-1.0, -20.0), (-30.0, -40.0)])
def test_improbable_pairs_of_signs_have_their_slope(k_1, k_2):
    """Against the density at the corner over its integral beyond, neither of which cancels."""
    r, across = -1.0 / 3.0, sqrt(8.0 / 9.0)

    def log_beyond(t):  # log of the density of the first at k_1 - t, and of the second below k_2 given it
        return -0.5 * (k_1 - t) ** 2 + log_ndtr((k_2 - r * (k_1 - t)) / across)

    t = np.linspace(0.0, 40.0 / (-k_1 + 2.0), 200_001)
    log_ratio = log_beyond(t) - log_beyond(0.0)
    slope = 1.0 / float(np.sum(np.exp(log_ratio)) * (t[1] - t[0]) - 0.5 * (t[1] - t[0]))
    _, d_1, _ = signs_posterior(np.array([k_1]), np.array([k_2]), np.array([r]))
    assert d_1[0] == pytest.approx(slope, rel=0.02)


def test_hardmax_of_few_samples_has_no_gaps():
    """At alpha = 0.0619 and 0.0689 the improbable corner once overflowed."""
    few = [
        ps.bayes_optimal(ps.hardmax_attention(MP, alpha=alpha)).mmse for alpha in (0.0587, 0.0619150702, 0.068898466)
    ]
    assert few == pytest.approx([0.855489, 0.846842, 0.828012], abs=5e-6)


def test_the_score_of_hardmax_is_the_slope_of_its_probability():
    omega, V, channel = np.array([[0.3, -0.2, 0.5], [1.0, 0.4, -0.7]]), 0.3, ps.Hardmax()
    z_0 = np.array([[1.0, 0.0, -1.0], [-1.0, 0.0, -1.0]])
    s_1, s_2 = channel.signs(z_0).T

    def log_probability(w):
        k_1, k_2 = s_1 * (np.sqrt(2) * w[:, 0] - w[:, 1]), s_2 * (np.sqrt(2) * w[:, 2] - w[:, 1])
        return np.log(normal_pair_cdf(k_1 / np.sqrt(3 * V), k_2 / np.sqrt(3 * V), s_1 * s_2 / 3))

    found, step = score(channel, z_0, z_0, omega, V), 1e-5
    for a in range(3):
        nudge = step * np.eye(3)[a]
        slope = (log_probability(omega + nudge) - log_probability(omega - nudge)) / (2 * step)
        np.testing.assert_allclose(found[:, a], slope, rtol=1e-8)


def test_the_pair_probability_is_that_of_scipy():
    from scipy.stats import multivariate_normal

    for r in (1 / 3, -1 / 3):
        law = multivariate_normal([0, 0], [[1, r], [r, 1]])
        for k in ([0.3, -0.5], [-1.0, 2.0], [3.0, 3.0], [-2.5, -1.0]):
            found = normal_pair_cdf(np.array([k[0]]), np.array([k[1]]), np.array([r]))[0]
            assert found == pytest.approx(law.cdf(k), rel=1e-6)


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("beta", [0.3, 1.0, 5.0])
def test_softmax_is_linear_with_one_component_less(noise, beta):
    softmax = ps.bayes_optimal(ps.attention(MP, alpha=0.06, weight_decay=0.1, noise=noise, n_tokens=3, beta=beta))
    linear = ps.bayes_optimal(network(0.5, noise, 5 * 0.06))
    assert softmax.mmse == pytest.approx(linear.mmse, rel=1e-10)


@pytest.mark.parametrize(
    "problem",
    [
        network(0.5, 0.5, 0.4),
        ps.attention(MP, alpha=0.3, weight_decay=0.1, noise=0.5),
        ps.hardmax_attention(MP, alpha=0.7),
        ps.hardmax_attention(MP, alpha=0.7, noise=0.5),
    ],
    ids=str,
)
def test_mutual_information_is_stationary(problem):
    """In q_hat at the optimum; and its derivative in alpha is the information of one more sample."""
    solution = ps.bayes_optimal(problem)

    def potential(q_hat, q):
        known = evidence(problem.channel, problem.Q_0, problem.noise / 2).entropy
        doubt = evidence(problem.channel, q, problem.rho_0 - q).entropy
        return (
            ps.Denoiser(problem.target).information(q_hat**-0.5)
            - q_hat * (problem.Q_0 - q) / 4
            + problem.alpha * (doubt - known)
        )

    q_hat, q = solution.q_hat, solution.q
    assert potential(q_hat, q) == pytest.approx(solution.mutual_information, rel=1e-9)
    for step in ((0.02, 0.0), (0.0, 0.02)):
        up, down = (potential(q_hat * (1 + s * step[0]), q + s * step[1] * (problem.Q_0 - q)) for s in (1, -1))
        assert abs(up - down) < 2e-5
    step = 1e-3 * problem.alpha
    more, less = (ps.bayes_optimal(problem.replace(alpha=problem.alpha + s * step)) for s in (1, -1))
    slope = (more.mutual_information - less.mutual_information) / (2 * step)
    known = evidence(problem.channel, problem.Q_0, problem.noise / 2).entropy
    assert slope == pytest.approx(evidence(problem.channel, q, problem.rho_0 - q).entropy - known, rel=1e-4)


def test_clean_continuous_labels_hold_infinite_information():
    assert ps.bayes_optimal(network(0.5, 0.0, 0.2)).mutual_information == inf


@pytest.mark.parametrize("channel", [ps.Linear(2), ps.Softmax(2, 1.5), ps.Softmax(3), ps.Hardmax()], ids=str)
def test_least_test_error_of_a_sampled_posterior(channel):
    """The variance of a label given the data, by drawing many labels from one posterior."""
    rng = np.random.default_rng(5)
    rho_0, V = 1.75, 0.4
    omega = np.sqrt(rho_0 - V) * rng.standard_normal((4000, 1, channel.n_in))
    labels = channel.target_output(omega + np.sqrt(V) * rng.standard_normal((4000, 60, channel.n_in)))
    variance = np.sum(np.var(labels, axis=1, ddof=1), axis=(-2, -1))
    found, bar = least_test_error(channel, rho_0, V)
    assert abs(variance.mean() - found) < 4 * variance.std() / np.sqrt(4000) + bar


@pytest.mark.parametrize("alpha", [0.05, 0.16, 0.5, 2.0])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_nothing_does_better(alpha, noise):
    """Weight decay, its vanishing limit, the best weight decay of a few, and a ridge."""
    problems = [
        ps.attention(MP, alpha=alpha, weight_decay=0.01, noise=noise),
        ps.attention(MP, alpha=alpha, weight_decay=0.1, noise=noise, kappa=0.9),
        ps.unfactorized_attention(MP, alpha=alpha, ridge=0.05, noise=noise),
        ps.linear_attention(MP, alpha=alpha, weight_decay=0.05, noise=noise),
    ]
    for problem in problems:
        best, learned = ps.bayes_optimal(problem), ps.solve(problem)
        assert best.mmse <= learned.estimation_error
        assert best.test_error <= learned.test_error + learned.error_bars["test_error"]


@dataclass
class OwnSoftmax(ps.Channel):
    """Written by a user, as a plain dataclass: labels fix what it sees, which has to be found out."""

    n_tokens: int = 2

    def output(self, z):
        weights = np.exp(self.matrix(z))
        return weights / weights.sum(axis=-1, keepdims=True)


class OwnHardmax(ps.Channel):
    """Written by a user: labels are signs, and the score is written."""

    n_tokens = 2

    def output(self, z):
        return ps.Hardmax().output(z)

    def score(self, label, omega, V):
        signs = 2.0 * np.stack([label[..., 0, 0], label[..., 1, 1]], axis=-1) - 1.0
        like = np.stack([signs[..., 0], np.zeros(len(signs)), signs[..., 1]], axis=-1)
        return score(ps.Hardmax(), like, label, omega, V)


def test_channels_of_ones_own_have_a_bayes_error():
    """A user's softmax and hard maximum give the built-in ones; the loss of a learner plays no part."""
    problem = ps.attention(MP, alpha=0.3, weight_decay=0.1, noise=0.5)
    own = ps.bayes_optimal(problem.replace(channel=OwnSoftmax()))
    built_in = ps.bayes_optimal(problem)
    assert own.mmse == pytest.approx(built_in.mmse, rel=1e-10)
    assert abs(own.test_error - built_in.test_error) < 2 * own.error_bars["test_error"]
    hard = ps.hardmax_attention(MP, alpha=0.5)
    written = ps.bayes_optimal(hard.replace(channel=OwnHardmax()))
    expected = ps.bayes_optimal(hard).mmse
    assert abs(written.mmse - expected) < written.error_bars["mmse"] < 0.05 * expected
    robust = ps.bayes_optimal(ps.robust_network(MP, alpha=0.5, weight_decay=0.1, noise=0.5))
    assert robust.mmse == pytest.approx(ps.bayes_optimal(network(0.5, 0.5, 0.5)).mmse, rel=1e-10)
    assert "squared losses only" in str(robust)


def test_sharp_comparisons_say_more():
    errors = [
        ps.bayes_optimal(ps.pair_comparison(MP, alpha=1.0, weight_decay=0.1, beta=b)).mmse for b in (0.1, 1.0, 5.0)
    ]
    assert 1.0 > errors[0] > errors[1] > errors[2]
    learned = ps.solve(ps.pair_comparison(MP, alpha=1.0, weight_decay=0.1)).estimation_error
    assert errors[1] < learned


def test_little_noise_and_sharp_labels():
    for law, alpha in (
        (ps.MarchenkoPastur(1.0), 30.0),
        (ps.PowerLaw(1.25, 100), 30.0),
        (ps.MarchenkoPastur(0.01), 0.5),
    ):
        assert ps.bayes_optimal(ps.quadratic_network(law, alpha=alpha, weight_decay=0.1, noise=1e-6)).mmse < 1e-6
    # Labels of large logits: product rules miss them, and the bar must say so.
    found, bar = least_test_error(ps.Softmax(2), 1e3, 999.0)
    rng = np.random.default_rng(8)
    shared, first, second = rng.standard_normal((3, 10**6, 3))
    losses = 0.5 * ps.Softmax(2).loss_at(shared + 999.0**0.5 * first, shared + 999.0**0.5 * second)
    assert abs(found - losses.mean()) < bar + 3 * losses.std() / 1e3


def test_limits_in_alpha():
    assert ps.bayes_optimal(network(0.5, 0.5, 1e-6)).mmse == pytest.approx(1.0, abs=1e-3)  # the variance of the law
    alpha = 1e4  # the error of a linear regression with d^2/2 unknowns and Bayes' count of them
    assert ps.bayes_optimal(network(0.5, 0.5, alpha)).mmse == pytest.approx(0.25 / alpha * 0.375, rel=1e-3)


@pytest.mark.parametrize(
    "problem",
    [
        network(0.5, 0.5, 1.0),
        network(0.2, 0.0, 1.0),
        ps.linear_attention(MP, alpha=1.0, weight_decay=0.1),
        pytest.param(
            ps.attention(ps.PowerLaw(1.3, 40), alpha=1.0, weight_decay=0.1, noise=0.01, n_tokens=3),
            marks=pytest.mark.slow,
        ),
        ps.quadratic_network(ps.PointMasses([0.0, 1.0], [0.6, 0.4]), alpha=1.0, weight_decay=0.1, noise=0.02),
    ],
    ids=str,
)
def test_a_curve_is_its_points(problem):
    alpha = np.geomspace(0.02, 20.0, 60)
    curve = ps.bayes_curve(problem, alpha=alpha)
    assert [point.problem.alpha for point in curve] == alpha.tolist()
    for point in curve[::7]:
        alone = ps.bayes_optimal(point.problem)
        assert point.mmse == pytest.approx(alone.mmse, rel=1e-7, abs=1e-12)
        assert abs(point.mmse - alone.mmse) <= point.error_bars["mmse"] + alone.error_bars["mmse"]


def test_a_curve_of_few_points_or_another_channel():
    hard = ps.bayes_curve(ps.hardmax_attention(MP, alpha=1.0), alpha=[0.5, 1.0])
    assert [round(point.mmse, 3) for point in hard] == [0.213, 0.079]
    with pytest.raises(ValueError, match="`alpha` must be a list of numbers"):
        ps.bayes_curve(network(0.5, 0.5, 1.0), alpha=[])


def test_known_targets_and_a_sentence():
    known = ps.bayes_optimal(ps.quadratic_network(ps.PointMasses([1.0]), alpha=0.1, weight_decay=1.0, noise=0.3))
    assert known.mmse == 0.0
    words = str(ps.bayes_optimal(network(0.5, 0.5, 0.5)))
    assert "mmse              0.248838 +- " in words
    with pytest.raises(ValueError, match="`problem` must be a LearningProblem"):
        ps.bayes_optimal(MP)  # type: ignore[arg-type]


def test_a_hard_maximum_cannot_be_trained():
    with pytest.raises(ValueError, match=r"hard maximum|Linear|Softmax"):
        ps.solve(ps.hardmax_attention(MP, alpha=1.0, weight_decay=0.1))
    with pytest.raises(ValueError, match="`n_tokens` must be"):
        ps.Hardmax(3)


def test_an_exact_recovery_leaves_no_test_error():
    """Beyond its threshold clean labels fix the target: nothing is left, not even the rounding of a sum."""
    found = ps.bayes_optimal(ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.0))
    assert found.mmse == 0.0
    assert found.test_error == 0.0
    assert found.error_bars["test_error"] == 0.0
