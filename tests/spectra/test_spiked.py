"""A signal in a random matrix: outliers, overlaps and thresholds against sampled matrices, limits and identities."""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import numpy as np
import pytest
import scipy

import presage as ps
from presage.spectra.labels import Labels, scores
from presage.spectra.spiked import (
    best_preprocessing,
    best_threshold,
    spectral_method,
    spectral_outlier,
    spectral_threshold,
    spiked_wigner,
    spiked_wishart,
    weak_signal,
    wigner_strength,
    wishart_strength,
)


def he_2(s):
    return (s * s - 1.0) / sqrt(2.0)


def without_he_2(s):
    """Even, and orthogonal to the second Hermite polynomial: only its square shows a direction."""
    return np.cos(s) - np.exp(1.5) / 4.0 * np.cos(2.0 * s)


# --- Wigner


def symmetric_noise(d, rng):
    W = rng.standard_normal((d, d))
    return (W + W.T) / sqrt(2.0 * d)


def largest_of(matrices):
    """Mean and standard error of the largest eigenvalue and of the squared overlap with the first axis."""
    rows = []
    for M in matrices:
        values, vectors = np.linalg.eigh(M)
        rows.append((values[-1], vectors[0, -1] ** 2))
    found = np.array(rows)
    return found.mean(axis=0), found.std(axis=0, ddof=1) / sqrt(len(found))


@pytest.mark.parametrize(("theta", "scale"), [(2.0, 1.0), (1.0, 0.4), (3.0, 2.0)])
def test_wigner_outliers_of_sampled_matrices(theta, scale):
    rng, d = np.random.default_rng(0), 500

    def sampled():
        M = scale * symmetric_noise(d, rng)
        M[0, 0] += theta
        return M

    mean, error = largest_of(sampled() for _ in range(12))
    found = spiked_wigner(theta, scale)
    # Corrections are of order 1/d beside the standard error.
    assert mean[0] == pytest.approx(found.outlier, abs=4 * error[0] + 3.0 * scale / d)
    assert mean[1] == pytest.approx(found.overlap, abs=4 * error[1] + 3.0 / d)
    wrong = spiked_wigner(theta, scale * sqrt(2.0))
    assert abs(mean[1] - wrong.overlap) > 8 * error[1]  # a factor of sqrt(2) is seen


def test_wigner_below_threshold_and_below_zero():
    found = spiked_wigner([0.5, -0.5, 3.0, -3.0, 1.0], 1.0)
    np.testing.assert_allclose(found.outlier, [2.0, -2.0, 3.0 + 1 / 3, -3.0 - 1 / 3, 2.0])
    np.testing.assert_allclose(found.overlap, [0.0, 0.0, 8 / 9, 8 / 9, 0.0])
    assert (found.edge, found.threshold) == (2.0, 1.0)


def test_no_outlier_below_threshold_in_a_sampled_matrix():
    rng, d = np.random.default_rng(3), 500
    M = symmetric_noise(d, rng)
    M[0, 0] += 0.5
    values, vectors = np.linalg.eigh(M)
    assert values[-1] < 2.0 + 3.0 * d ** (-2.0 / 3.0)
    assert vectors[0, -1] ** 2 < 0.1


def test_strengths_invert_outliers():
    for theta in (1.0, 1.3, 4.0):
        assert wigner_strength(float(spiked_wigner(theta).outlier)) == pytest.approx(theta, rel=1e-7)
    for lam in (0.8, 1.3, 4.0):
        assert wishart_strength(float(spiked_wishart(lam, 2.0).outlier), 2.0) == pytest.approx(lam, rel=1e-7)


# --- Wishart


@pytest.mark.parametrize(("lam", "alpha"), [(1.5, 2.0), (3.0, 0.5), (1.0, 4.0)])
def test_wishart_outliers_of_sampled_matrices(lam, alpha):
    rng, d = np.random.default_rng(1), 400

    def sampled():
        x = rng.standard_normal((round(alpha * d), d))
        x[:, 0] += sqrt(lam) * rng.standard_normal(len(x))
        return x.T @ x / len(x)

    mean, error = largest_of(sampled() for _ in range(12))
    found = spiked_wishart(lam, alpha)
    assert mean[0] == pytest.approx(found.outlier, abs=4 * error[0] + 20.0 / d)
    assert mean[1] == pytest.approx(found.overlap, abs=4 * error[1] + 4.0 / d)


def test_wishart_threshold_is_the_edge():
    found = spiked_wishart([0.2, 0.5, 0.50001], 4.0)
    assert found.edge == pytest.approx(2.25) == found.outlier[0]
    np.testing.assert_allclose(found.overlap[:2], 0.0)
    assert 0.0 < found.overlap[2] < 1e-3
    assert found.outlier[2] == pytest.approx(found.edge, rel=1e-6)


def test_wishart_refuses_a_negative_signal():
    with pytest.raises(ps.InputError, match="`signal` must be zero or positive: it is the variance"):
        spiked_wishart(-1.0, 2.0)


# --- labels


@pytest.mark.parametrize("f", [he_2, np.abs, np.cos, np.tanh, without_he_2])
@pytest.mark.parametrize("noise", [0.1, 1.0, 4.0])
def test_labels_sum_to_one_and_keep_the_score(f, noise):
    labels = Labels.additive(f, noise=noise)
    assert labels.defect < 1e-9
    s, weight = scores()
    assert labels.mean(labels.y) == pytest.approx(float(weight @ f(s)), abs=1e-9)
    assert labels.mean(labels.y**2) == pytest.approx(float(weight @ f(s) ** 2) + noise, rel=1e-9)


def test_linear_labels_know_their_score():
    """y = s + sqrt(noise) xi: s given y is normal, E[s^2|y] = (y/(1+noise))^2 + noise/(1+noise)."""
    labels = Labels.additive(lambda s: s, noise=0.5)
    inner = np.abs(labels.y) < 6.0
    np.testing.assert_allclose(labels.second[inner], ((labels.y / 1.5) ** 2 + 1 / 3)[inner], rtol=1e-9)


def test_a_density_is_the_noise_that_it_is_of():
    def density(y, s):
        return np.exp(-0.5 * (y - np.abs(s)) ** 2) / sqrt(2.0 * np.pi)

    by_density = Labels.with_density(density, np.linspace(-9.0, 17.0, 40))
    by_noise = Labels.additive(np.abs, noise=1.0)
    assert best_threshold(by_density) == pytest.approx(best_threshold(by_noise), rel=1e-8)


def test_sign_labels_are_discrete():
    """y = 1 for |s| > 1: two values, each with its own E[s^2|y], by hand."""
    labels = Labels.discrete([1.0, 0.0], lambda s: np.stack([np.abs(s) > 1.0, np.abs(s) <= 1.0]).astype(float))
    inside = 0.6826894921370859
    density = np.exp(-0.5) / sqrt(2.0 * np.pi)
    second = (inside - 2.0 * density) / inside
    np.testing.assert_allclose(labels.weight, [1 - inside, inside], rtol=1e-9)
    np.testing.assert_allclose(labels.second, [(1 - inside * second) / (1 - inside), second], rtol=1e-9)


@pytest.mark.parametrize("c", [0.25, 0.6745, 1.0, 2.1])
def test_jumps_are_cut_wherever_they_are(c):
    """y = 1 for |s| > c, with two values and with little noise: 1/alpha = (2 c phi(c))^2/(P (1 - P))."""
    chance = 2.0 * scipy.special.ndtr(-c)
    exact = chance * (1.0 - chance) / (2.0 * c * np.exp(-0.5 * c * c) / sqrt(2.0 * np.pi)) ** 2
    two = Labels.discrete([0.0, 1.0], lambda s: np.stack([np.abs(s) <= c, np.abs(s) > c]).astype(float))
    assert best_threshold(two) == pytest.approx(exact, rel=1e-9)
    assert best_threshold(Labels.additive(lambda s: np.abs(s) > c, noise=1e-3)) == pytest.approx(exact, rel=1e-6)


def test_a_function_that_works_in_place_changes_nothing():
    def squared(s):
        s *= s
        return s

    first = best_threshold(Labels.additive(squared, noise=1.0))
    assert first == best_threshold(Labels.additive(lambda s: s * s, noise=1.0))


def test_what_nodes_do_not_resolve_is_refused():
    with pytest.raises(ps.InputError, match=r"`labels` must have a density that their nodes resolve"):
        Labels.additive(lambda s: s**6, noise=1e-2)
    with pytest.raises(ps.InputError, match="`f` must give real numbers"):
        Labels.additive(lambda s: 1j * s, noise=1.0)
    with pytest.raises(ps.InputError, match="`density` must be a number >= 0"):
        Labels.with_density(lambda y, s: -1.0 + 0.0 * y * s, [0.0, 1.0])


def test_weights_may_be_very_negative():
    """T cut from below at -1e3 or -1e9 has the threshold of the best, where only rare labels are that small."""
    labels = Labels.additive(lambda s: np.log(np.abs(s) + 1e-9), noise=0.05)
    best = best_preprocessing(labels)
    cut = spectral_threshold(np.maximum(best, -1e3), labels)
    assert spectral_threshold(np.maximum(best, -1e9), labels) == pytest.approx(cut, rel=1e-3)


def test_labels_complain():
    with pytest.raises(ps.InputError, match="`noise` must be a finite number >= 0"):
        Labels.additive(np.abs, noise=-1.0)
    with pytest.raises(ps.InputError, match=r"`f` must be finite at every score.*Got f='-inf'"):
        Labels.additive(lambda s: np.log(np.abs(s) - 3.0), noise=1.0)
    with pytest.raises(ps.InputError, match="`probability` must be rows that sum to one"):
        Labels.discrete([0.0, 1.0], lambda s: np.stack([0.0 * s, 0.5 + 0.0 * s]))
    with pytest.raises(ps.InputError, match="`edges` must be increasing numbers"):
        Labels.with_density(lambda y, s: y * s, [1.0, 0.0])
    with pytest.raises(ps.InputError, match=r"sum to 0\.5 in place of one"):
        Labels.with_density(lambda y, s: 0.5 + 0.0 * y * s, [0.0, 1.0])


# --- spectral methods


@pytest.mark.parametrize(
    ("f", "noise", "T", "alpha"),
    [
        (lambda s: s * s, 0.0, lambda y: np.minimum(y, 4.0), 6.0),
        (np.abs, 1.0, np.tanh, 30.0),
        (he_2, 2.0, lambda y: y / np.sqrt(1.0 + y * y), 10.0),
    ],
)
def test_spectral_method_of_sampled_labels(f, noise, T, alpha):
    rng, d = np.random.default_rng(5), 300
    found = spectral_method(T, Labels.additive(f, noise=noise), alpha)
    assert found.overlap > 0.2

    def sampled():
        x = rng.standard_normal((round(alpha * d), d))
        y = f(x[:, 0]) + sqrt(noise) * rng.standard_normal(len(x))
        return (x * T(y)[:, None]).T @ x / len(x)

    mean, error = largest_of(sampled() for _ in range(8))
    # Both are off by about 1/d times numbers of order one, which 10/d bounds at this size.
    assert mean[0] == pytest.approx(found.outlier, abs=4 * error[0] + 10.0 / d)
    assert mean[1] == pytest.approx(found.overlap, abs=4 * error[1] + 10.0 / d)


def test_edge_is_that_of_marchenko_and_pastur_for_equal_weights():
    """T = 1: D is the covariance of Gaussian samples, whose edge is (1 + alpha^(-1/2))^2, whatever the labels."""
    labels = Labels.additive(np.abs, noise=1.0)
    found = spectral_method(np.ones_like, labels, 4.0)
    assert found.edge == pytest.approx(2.25, rel=1e-9)
    assert (found.overlap, found.threshold) == (0.0, inf)


@pytest.mark.parametrize("f", [he_2, np.abs])
def test_threshold_is_where_the_outlier_begins(f):
    labels = Labels.additive(f, noise=1.0)
    threshold = spectral_threshold(np.tanh, labels)
    below, above = (spectral_method(np.tanh, labels, factor * threshold) for factor in (0.999, 1.001))
    assert below.overlap == 0.0
    assert below.outlier == below.edge
    assert 0.0 < above.overlap < 0.01
    assert above.outlier > above.edge
    assert above.threshold == threshold


@pytest.mark.parametrize("f", [he_2, np.abs, np.cos, without_he_2])
@pytest.mark.parametrize("noise", [0.5, 4.0])
def test_best_threshold_is_that_of_the_best_preprocessing(f, noise):
    labels = Labels.additive(f, noise=noise)
    assert spectral_threshold(best_preprocessing(labels), labels) == pytest.approx(best_threshold(labels), rel=1e-6)


@pytest.mark.parametrize("f", [he_2, np.abs])
def test_no_preprocessing_beats_the_best(f):
    labels = Labels.additive(f, noise=1.0)
    least = best_threshold(labels)
    others: list[Any] = [np.tanh, lambda y: y / np.sqrt(1.0 + y * y), lambda y: np.minimum(y, 2.0), lambda y: y > 1.0]
    assert all(spectral_threshold(T, labels) > least for T in others)


def test_labels_that_tell_nothing_have_no_threshold():
    labels = Labels.additive(lambda s: 0.0 * s, noise=1.0)
    assert best_threshold(labels) == inf
    assert spectral_threshold(np.tanh, labels) == inf
    assert spectral_method(np.tanh, labels, 100.0).overlap == 0.0


# Exact threshold of the best preprocessing over that of weak signals, to the digits at which it was seen by others.
SEEN = [
    (np.abs, 1, 0.1, 0.997),
    (np.abs, 1, 1e-3, 1.000),
    (np.cos, 1, 0.1, 0.992),
    (np.cos, 1, 1e-3, 1.000),
    (he_2, 1, 0.1, 0.796),
    (he_2, 1, 1e-3, 0.997),
    (without_he_2, 2, 0.1, 0.958),
    (without_he_2, 2, 1e-3, 0.9995),
]


@pytest.mark.parametrize(("f", "exponent", "lam", "ratio"), SEEN)
def test_best_thresholds_of_weak_signals(f, exponent, lam, ratio):
    """The exact threshold over b!/(lam^b E[f^b (s^2-1)]^2), b the exponent of f."""
    s, weight = scores()
    moment = float(weight @ (f(s) ** exponent * (s * s - 1.0)))
    formula = {1: 1.0, 2: 2.0}[exponent] / (lam**exponent * moment**2)
    labels = Labels.additive(lambda s: sqrt(lam) * f(s), noise=1.0)
    assert best_threshold(labels) / formula == pytest.approx(ratio, abs=6e-4)


@pytest.mark.parametrize("f", [he_2, np.abs])
def test_weak_signals_are_a_spiked_wigner(f):
    """T = y: the exact spectral method, which has its mean besides, has the overlap and threshold of weak signals."""
    lam, alpha = 1e-4, 1e6
    labels = Labels.additive(lambda s: sqrt(lam) * f(s), noise=1.0)
    weak, exact = weak_signal(np.tanh, labels, alpha), spectral_method(np.tanh, labels, alpha)
    assert weak.threshold == pytest.approx(spectral_threshold(np.tanh, labels), rel=0.03)
    assert weak.overlap == pytest.approx(1.0 - weak.threshold / alpha, rel=1e-12)
    assert exact.overlap == pytest.approx(weak.overlap, abs=0.01)
    shifted = weak_signal(lambda y: np.tanh(y) + 5.0, labels, alpha)  # it is centred
    assert shifted.overlap == pytest.approx(weak.overlap, rel=1e-9)
    assert shifted.edge == pytest.approx(weak.edge, rel=1e-9)


def test_without_its_second_coefficient_labels_show_nothing_and_their_square_does():
    labels = Labels.additive(lambda s: sqrt(0.1) * without_he_2(s), noise=1.0)
    assert weak_signal(lambda y: y, labels, 1e9).overlap == 0.0
    assert weak_signal(lambda y: y, labels, 1e9).threshold == inf
    square = weak_signal(lambda y: y * y - 1.0, labels, 1e4)
    assert square.overlap > 0.5
    assert square.threshold == pytest.approx(2.0 / (0.1 * 0.51755) ** 2, rel=0.2)


def test_spectral_methods_complain():
    labels = Labels.additive(np.abs, noise=1.0)
    with pytest.raises(ps.InputError, match=r"`T` must be positive for some label.*Give -T instead"):
        spectral_method(lambda y: -np.abs(y), labels, 2.0)
    with pytest.raises(ps.InputError, match="`T` must be a finite number at every label"):
        spectral_method(lambda y: np.full_like(y, np.nan), labels, 2.0)
    with pytest.raises(ps.InputError, match="`T` must differ between labels"):
        weak_signal(np.ones_like, labels, 2.0)
    with pytest.raises(ps.InputError, match="`alpha` must be a finite number > 0"):
        weak_signal(np.tanh, labels, 0.0)
    with pytest.raises(ps.InputError, match="`labels` must have noise, or a few values"):
        best_preprocessing(Labels.additive(np.abs, noise=0.0))


# --- a tail of coordinates that know nothing


def squashed_labels():
    s, weight = scores()
    y = np.tanh(he_2(s))
    y = y - weight @ y
    return y, Labels(y, weight, s * s, conditional=False)


@pytest.mark.slow
@pytest.mark.parametrize(("tail", "alpha"), [(0.5, 3.0), (2.0, 6.0)])
def test_a_tail_of_sampled_labels(tail, alpha):
    """Samples with very many further coordinates: their Gram matrix is that of the first ones and the tail on it."""
    y, labels = squashed_labels()
    found, d = spectral_outlier(y, labels, alpha, tail), 300
    n = round(alpha * d)
    rng = np.random.default_rng(1)
    rows = []
    for _ in range(6):
        F = rng.standard_normal((n, d))
        T = np.tanh(he_2(F[:, 0]))
        T -= T.mean()
        U, s, W = np.linalg.svd(F, full_matrices=False)
        more = np.sqrt(s**2 + tail * d) - sqrt(tail * d)
        root = sqrt(tail * d) * np.eye(n) + (U * more) @ U.T
        values, vectors = scipy.linalg.eigh(root @ (T[:, None] * root) / n, subset_by_index=(n - 2, n - 1))
        v = W.T @ ((s / np.sqrt(s**2 + tail * d)) * (U.T @ vectors[:, -1]))
        rows.append((values[-1], values[-2], v[0] ** 2 / (v @ v)))
    mean, error = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / sqrt(6)
    assert abs(mean[0] - found.outlier) < 4 * error[0] + 0.02
    assert abs(mean[2] - found.overlap) < 4 * error[2] + 0.01
    assert abs(mean[1] - found.edge) < 4 * error[1] + 0.03
    # A negative control: without the tail all three are elsewhere.
    plain = spectral_outlier(y, labels, alpha)
    assert abs(mean[0] - plain.outlier) > 5 * error[0]
    assert abs(mean[1] - plain.edge) > 5 * error[1]


@pytest.mark.parametrize(("tail", "alpha"), [(0.0, 4.0), (0.14159, 2.0), (1.0, 16.0), (4.0, 5.0)])
def test_the_equations_with_a_tail(tail, alpha):
    """Each equation as it is written, solved by another route: the largest x at which the product holds."""
    y, labels = squashed_labels()

    def mean(values):
        return labels.weight @ values

    def P(x):
        return mean(y * labels.second / (x - y))

    def P_0(x):
        return mean(y / (x - y))

    x = np.geomspace(1.0001 * y.max(), 1e3 * alpha, 40_000)
    rest = [(P(one) - P_0(one)) * (P(one) - tail / alpha) - P(one) / alpha for one in x[::40]]
    last = np.flatnonzero(np.diff(np.sign(rest)))[-1]
    star = scipy.optimize.brentq(
        lambda x: (P(x) - P_0(x)) * (P(x) - tail / alpha) - P(x) / alpha, x[40 * last], x[40 * (last + 1)], xtol=1e-13
    )
    g = (P(star) - tail / alpha) / P(star)
    a = 1 / alpha - g**2 * mean(y**2 / (star - y) ** 2)
    b = g**2 * mean(y**2 * labels.second / (star - y) ** 2)
    found = spectral_method(y, labels, alpha, tail)
    assert found.outlier == pytest.approx(star * P(star), rel=1e-9)
    assert found.overlap == pytest.approx(a / (a + b), rel=1e-8)

    # The edge is the least value of what the bulk maps x to.
    def g_of(x):
        return scipy.optimize.brentq(lambda g: (1 - g) * (1 / alpha + g * P_0(x)) - g * tail / alpha, 1e-6, 1.0)

    if tail:
        mapped = [one * (1 / alpha + g_of(one) * P_0(one)) / g_of(one) for one in x[::40]]
        assert found.edge == pytest.approx(min(mapped), rel=1e-4)
    for factor, out in ((1.0005, True), (0.9995, False)):
        assert (spectral_outlier(y, labels, factor * found.threshold, tail).overlap > 0) == out


def test_a_tail_is_a_number_from_zero_on():
    y, labels = squashed_labels()
    with pytest.raises(ps.InputError, match="`tail` must be a finite number >= 0"):
        spectral_outlier(y, labels, 2.0, -1.0)
