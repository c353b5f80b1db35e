"""Matrices without symmetry: Bayes, nuclear norm and thresholds against each other, and against trained matrices."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import presage as ps
from presage.models.bilinear.experiment.measurements import TokenMeasurements, draw_labels, draw_measurements
from presage.models.bilinear.experiment.training import train_proximal
from presage.models.bilinear.theory.explicit_map import bilinear_map
from presage.models.bilinear.thresholds import minimal_nuclear_norm, strong_recovery, weak_recovery
from presage.spectra.rectangular.convolution import RectangularConvolution
from presage.training import ordered_sums

OBSERVABLES = ("estimation_error", "test_error", "train_error", "train_loss", "rank")
HALF = ps.GaussianProduct(0.5)
ATOMS = ps.SingularValueMasses([0.0, 1.0, 2.0], [0.5, 0.3, 0.2], 2.0)


def misses(ensemble: ps.BilinearEnsemble, solution: ps.BilinearSolution) -> list[str]:
    """Observables further from the prediction than four standard errors and 1/d (T^2/d where T^2 scores are summed)."""
    scores = {"test_error": ensemble.problem.components}
    return [
        name
        for name in OBSERVABLES
        if abs(ensemble.mean(name) - getattr(solution, name))
        > 4 * ensemble.standard_error(name) + scores.get(name, 1) / ensemble.d
    ]


# Bayes


@pytest.mark.parametrize(("alpha", "mmse"), [(0.1, 0.89646), (0.3, 0.64055), (0.5, 0.35146)])
def test_bayes_check_values(alpha, mmse):
    bayes = ps.bayes_optimal(ps.bilinear_regression(HALF, alpha=alpha))
    assert bayes.mmse == pytest.approx(mmse, abs=5.1e-6)
    assert bayes.estimation_error == bayes.test_error == bayes.mmse
    assert bayes.q_hat == pytest.approx(alpha / bayes.mmse, rel=1e-9)
    assert bayes.caveats == ()


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("law", [HALF, ATOMS])
def test_bayes_solves_its_equation(law, noise):
    for alpha in (0.1, 0.4, 0.99 * strong_recovery(law)):
        bayes = ps.bayes_optimal(ps.bilinear_regression(law, alpha=alpha, noise=noise))
        assert alpha * bayes.delta**2 == pytest.approx(noise + bayes.mmse, rel=1e-9)
        assert bayes.mmse == pytest.approx(ps.SingularValueDenoiser(law).mmse(bayes.delta), rel=1e-12)
        assert bayes.test_error == pytest.approx(noise + bayes.mmse, rel=1e-12)


@pytest.mark.parametrize("size", [0.1, 10.0])
def test_bayes_error_scales_with_the_target(size):
    scaled = ps.SingularValueMasses([0.0, size, 2.0 * size], [0.5, 0.3, 0.2], 2.0)
    for alpha in (0.05, 0.6):
        one = ps.bayes_optimal(ps.bilinear_regression(ATOMS, alpha=alpha, noise=0.5)).mmse
        other = ps.bayes_optimal(ps.bilinear_regression(scaled, alpha=alpha, noise=0.5 * size**2)).mmse
        assert other == pytest.approx(size**2 * one, rel=1e-9)


@pytest.mark.parametrize("delta", [0.3, 1.2])
@pytest.mark.parametrize("law", [HALF, ps.GaussianProduct(0.5, 1.05), ps.GaussianProduct(0.5, 3.0), ATOMS])
def test_the_posterior_mean_is_orthogonal_to_its_error(law, delta):
    """So that the target's norm is that of the estimate and that of the error."""
    denoiser, noisy = ps.SingularValueDenoiser(law), RectangularConvolution(law, delta)
    nodes = noisy.nodes()
    x = np.minimum(nodes.x, noisy.support[-1, 1])
    explained = float(nodes.mass @ denoiser(x, delta) ** 2) / sqrt(law.aspect)
    assert denoiser.mmse(delta) == pytest.approx(law.second_moment - explained, rel=1e-9)


@pytest.mark.parametrize(
    "law", [HALF, ps.GaussianProduct(0.3, 2.0), ps.GaussianProduct(1.5), ps.SingularValueMasses([1.0]), ATOMS]
)
def test_strong_recovery_is_where_the_bayes_error_vanishes(law):
    threshold = strong_recovery(law)
    delta = 1e-4
    assert ps.SingularValueDenoiser(law).mmse(delta) / delta**2 == pytest.approx(threshold, abs=2e-6)
    below, above = (ps.bayes_optimal(ps.bilinear_regression(law, alpha=f * threshold)).mmse for f in (0.95, 1.001))
    assert below > above == 0.0


def test_strong_recovery_of_a_gaussian_product():
    assert strong_recovery(ps.GaussianProduct(0.3, 2.0)) == pytest.approx(0.3 * (1 + 2 - 0.3) / 2)
    assert strong_recovery(ps.GaussianProduct(1.5, 2.0)) == 1.0


def test_bayes_without_signal_in_the_noise_learns_nothing():
    bayes = ps.bayes_optimal(ps.bilinear_regression(HALF, alpha=1e-4, noise=1.0))
    assert bayes.mmse == pytest.approx(1.0, abs=1e-3)


def low_rank_mmse(b: float, ratio: float, noise: float) -> float:
    """MMSE over Q_0 of vanishing rank at `ratio` times weak recovery: a single spike of square one, y = delta^2."""

    def mmse(y: float) -> float:
        return 1 - (1 - y * y) ** 2 / ((1 + y / sqrt(b)) * (1 + y * sqrt(b))) if y < 1 else 1.0

    return mmse(brentq(lambda y: ratio * (1 + noise) * y - noise - mmse(y), 1e-9, 2 / ratio))


@pytest.mark.parametrize("b", [1.0, 4.0])
def test_weak_recovery_of_a_small_rank(b):
    r, noise = 1e-3, 0.5
    law = ps.SingularValueMasses([0.0, (sqrt(b) / r) ** 0.5], [1 - r, r], b)
    threshold = weak_recovery(law, noise)
    assert threshold == pytest.approx((1 + noise) * r / sqrt(b))
    assert weak_recovery(ps.GaussianProduct(r, b), noise) == pytest.approx(threshold)
    thrice = ps.SingularValueMasses(3 * (sqrt(b) / r) ** 0.5 * np.array([0.0, 1.0]), [1 - r, r], b)
    assert weak_recovery(thrice, 9 * noise) == pytest.approx(threshold)
    assert low_rank_mmse(b, 0.99, noise) == 1.0 > low_rank_mmse(b, 1.01, noise)
    for ratio in (0.8, 1.2, 1.5, 2.0):
        bayes = ps.bayes_optimal(ps.bilinear_regression(law, alpha=ratio * threshold, noise=noise))
        assert bayes.mmse == pytest.approx(low_rank_mmse(b, ratio, noise), abs=5e-3)


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_learning_begins_at_once_where_the_rank_is_not_low(noise):
    problem = ps.bilinear_regression(ps.GaussianProduct(0.5, 2.0), alpha=0.01, noise=noise)
    found = ps.thresholds(problem)
    assert found.weak_recovery == 0.0 < found.strong_recovery
    assert "with the first samples" in found.caveats[-1]
    gain = 1.0 - ps.bayes_optimal(problem).mmse  # at least that of shrinking each entry by itself
    assert gain > 0.9 * 0.01 / (1.0 + noise)
    assert ps.thresholds(problem.replace(rank=0.05)).weak_recovery == weak_recovery(
        ps.GaussianProduct(0.05, 2.0), noise
    )


@pytest.mark.parametrize("law", [ps.GaussianProduct(0.5, 2.0), ATOMS])
def test_information_grows_by_the_capacity_of_a_measurement(law):
    problem, step = ps.bilinear_regression(law, alpha=0.6, noise=0.3), 1e-3
    up, down = (ps.bayes_optimal(problem.replace(alpha=0.6 + s)).mutual_information for s in (step, -step))
    mmse = ps.bayes_optimal(problem).mmse
    assert (up - down) / (2 * step) == pytest.approx(0.5 * np.log1p(mmse / 0.3), rel=1e-5)
    assert ps.bayes_optimal(problem.replace(alpha=1e-6)).mutual_information == pytest.approx(0.0, abs=2e-6)
    assert ps.bayes_optimal(problem.replace(noise=0.0)).mutual_information == np.inf


@pytest.mark.parametrize("law", [HALF, ps.GaussianProduct(0.5, 2.0)])
def test_denoiser_reaches_the_least_error(law):
    rng, p, delta = np.random.default_rng(0), 200, 0.6
    N = round(p * law.aspect)
    M_0 = law.sample(p, N, rng)
    left, x, right = np.linalg.svd(M_0 + delta * rng.standard_normal((p, N)) / (p * N) ** 0.25, full_matrices=False)

    def error(values):
        return np.sum(((left * values) @ right - M_0) ** 2) / sqrt(p * N)

    denoiser = ps.SingularValueDenoiser(law)
    kept, mmse = denoiser(x, delta), denoiser.mmse(delta)
    assert error(kept) == pytest.approx(mmse, rel=0.03)
    best = np.einsum("ij,ik,jk->k", M_0, left, right.T)  # the best values for these frames, which know the target
    assert error(best) < error(kept) < error(best) * 1.02
    assert error(kept) < min(error(np.maximum(x - c, 0.0)) for c in np.linspace(0.0, 2.0, 21))


# Nuclear norm


@pytest.mark.parametrize(("rank", "b", "alpha"), [(0.2, 1.0, 0.571690), (0.5, 1.0, 0.905417), (0.2, 2.0, 0.475278)])
def test_minimal_nuclear_norm_check_values(rank, b, alpha):
    assert minimal_nuclear_norm(rank, b) == pytest.approx(alpha, abs=6e-7)


@pytest.mark.parametrize("b", [1.0, 2.0])
def test_minimal_nuclear_norm_of_no_rank_and_of_full_rank(b):
    assert minimal_nuclear_norm(0.0, b) == 0.0 < minimal_nuclear_norm(1e-6, b) < 1e-4
    assert minimal_nuclear_norm(1.0, b) == 1.0 > minimal_nuclear_norm(1.0 - 1e-3, b) > 0.999


@pytest.mark.parametrize("law", [ps.GaussianProduct(0.5, 2.0), ATOMS, ps.GaussianProduct(0.2)])
def test_interpolator_finds_the_target_at_the_threshold(law):
    """On the map at ``lambda = 0`` and no noise, alpha tends to the closed form as delta does to zero, for any law."""

    def on_curve(delta):
        c = brentq(lambda c: bilinear_map(law, 0.0, delta, c)[1] / c, 0.05 * delta, 5 * delta)
        return bilinear_map(law, 0.0, delta, c)[0]

    threshold = minimal_nuclear_norm(law.nonzero, law.aspect)
    assert on_curve(1e-4) == pytest.approx(threshold, abs=2e-4)
    problem = ps.bilinear_regression(law, alpha=1.02 * threshold, weight_decay=0.0)
    assert ps.solve(problem).estimation_error == 0.0
    assert ps.solve(problem.replace(weight_decay=1e-5)).estimation_error < 1e-6
    assert ps.solve(problem.replace(alpha=0.9 * threshold)).estimation_error > 1e-3


@pytest.mark.parametrize("law", [HALF, ps.GaussianProduct(0.2, 2.0), ATOMS])
@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_explicit_map_inverts_solve(law, noise):
    for alpha in (0.1, 0.5, 1.5):
        for decay in (1e-3, 0.1, 1.0):
            problem = ps.bilinear_regression(law, alpha=alpha, noise=noise, weight_decay=decay)
            s = ps.solve(problem)
            assert bilinear_map(law, noise, s.delta, s.cutoff) == pytest.approx((alpha, decay), rel=1e-8)
            assert alpha * s.delta**2 == pytest.approx(noise + s.estimation_error, rel=1e-8)
            assert ps.bayes_optimal(problem).mmse <= s.estimation_error + 1e-12


def test_loss_grows_with_weight_decay_by_the_nuclear_norm():
    """The minimum of the loss is stationary: its derivative in lambda is the penalty over lambda."""
    problem, step = ps.bilinear_regression(ATOMS, alpha=0.6, noise=0.2, weight_decay=0.2), 1e-5
    up, down = (ps.solve(problem.replace(weight_decay=0.2 + s)).train_loss for s in (step, -step))
    s = ps.solve(problem)
    nuclear = s.spectrum.moment(1)
    assert (up - down) / (2 * step) == pytest.approx(2 * nuclear / sqrt(2.0), rel=1e-7)
    assert s.train_loss == pytest.approx(0.6 * s.train_error + 0.2 * 2 * nuclear / sqrt(2.0), rel=1e-10)


def test_limits_of_the_weight_decay():
    problem = ps.bilinear_regression(HALF, alpha=0.5, noise=0.5, weight_decay=0.0)
    limit, small = ps.solve(problem), ps.solve(problem.replace(weight_decay=1e-6))
    assert small.estimation_error == pytest.approx(limit.estimation_error, rel=1e-4)
    assert limit.train_error == limit.train_loss == 0.0
    least_squares = ps.solve(problem.replace(alpha=2.0))
    assert least_squares.estimation_error == pytest.approx(0.5)  # Delta/(alpha - 1)
    nearly = ps.solve(problem.replace(alpha=2.0, weight_decay=1e-6))
    assert nearly.estimation_error == pytest.approx(0.5, rel=1e-4)
    assert nearly.train_loss == pytest.approx(least_squares.train_loss, rel=1e-4)
    nothing = ps.solve(problem.replace(weight_decay=100.0))
    assert (nothing.rank, nothing.estimation_error, nothing.train_error) == pytest.approx((0.0, 1.0, 1.5))


def test_spectrum_of_the_fit():
    s = ps.solve(ps.bilinear_regression(ps.GaussianProduct(0.3, 2.0), alpha=0.6, noise=0.1, weight_decay=0.2))
    grid = [np.linspace(left, right, 4001) for left, right in s.spectrum.support]
    assert sum(np.trapezoid(s.spectrum.density(x), x) for x in grid) == pytest.approx(s.rank, abs=2e-3)
    assert s.spectrum.zero == pytest.approx(1 - s.rank)
    assert set(OBSERVABLES) <= set(s.error_bars)
    assert all(0 <= bar < 1e-6 for bar in s.error_bars.values())


def test_tokens_multiply_the_data():
    """T^2 scores of two sequences, or T(T-1) of one, count as so many measurements; what is learned is the same."""
    regression = ps.solve(ps.bilinear_regression(HALF, alpha=1.2, noise=0.2, weight_decay=0.3))
    cross = ps.solve(ps.untied_linear_attention(HALF, alpha=0.3, noise=0.2, weight_decay=0.3))
    distinct = ps.solve(
        ps.untied_linear_attention(HALF, alpha=0.2, noise=0.2, weight_decay=0.3, n_tokens=3, pairs="distinct")
    )
    for attention, scores in ((cross, 4), (distinct, 6)):
        assert attention.estimation_error == pytest.approx(regression.estimation_error, rel=1e-10)
        assert attention.train_loss == pytest.approx(regression.train_loss, rel=1e-10)
        assert attention.test_error == pytest.approx(scores * regression.test_error, rel=1e-10)
        assert attention.train_error == pytest.approx(scores * regression.train_error, rel=1e-10)
        assert any("heuristic" in line for line in attention.caveats)
    thresholds = ps.thresholds(cross.problem)
    assert thresholds.strong_recovery == pytest.approx(0.75 / 4)
    assert thresholds.minimal_nuclear_norm == pytest.approx(0.905417 / 4, abs=1e-6)


# Experiment


@pytest.mark.parametrize("pairs", [None, "cross", "distinct", "all"])
def test_measurements_are_what_they_say(pairs):
    rng, d = np.random.default_rng(0), 5
    law = ps.GaussianProduct(0.6, 2.0 if pairs is None else 1.0)
    problem = ps.bilinear_regression(law, alpha=1.0)
    if pairs is not None:
        problem = ps.untied_linear_attention(law, alpha=1.0, weight_decay=None, n_tokens=3, pairs=pairs)
    measurements = draw_measurements(problem, d, 400, rng)
    M, g = (
        rng.standard_normal(measurements.shape),
        rng.standard_normal(measurements.forward(np.zeros(measurements.shape)).shape),
    )
    assert np.sum(measurements.forward(M) * g) == pytest.approx(np.sum(M * measurements.transpose(g)))
    if isinstance(measurements, TokenMeasurements):
        q, k = measurements.queries[7, 0], measurements.keys[7, 1]
        assert measurements.forward(M)[7, 1] == pytest.approx(q @ M @ k / sqrt(d))
        diagonal = measurements.forward(M)[7, 0]
        mean = np.trace(M) if pairs == "all" else 0.0
        expected = (measurements.queries[7, 0] @ M @ measurements.keys[7, 0] - mean) / sqrt(d)
        assert diagonal == pytest.approx(0.0 if pairs == "distinct" else expected)
    size = np.sum(M**2) / sqrt(M.size)
    assert np.sum(measurements.forward(M) ** 2) / 400 == pytest.approx(problem.components * size, rel=0.6)
    assert np.array_equal(draw_labels(measurements, M, 0.0, rng), measurements.forward(M))


@pytest.mark.parametrize(
    "problem",
    [
        ps.bilinear_regression(ps.GaussianProduct(0.3, 2.0), alpha=0.4, noise=0.1, weight_decay=0.1),
        ps.untied_linear_attention(ps.GaussianProduct(0.3), alpha=0.1, noise=0.1, weight_decay=0.1),
    ],
)
def test_both_trainers_reach_the_same_minimum(problem):
    matrix = ps.simulate(problem, d=20, seeds=2, n_test=100)
    factors = ps.simulate(problem, d=20, seeds=2, n_test=100, trainer=ps.LBFGS(tol=1e-6))
    assert factors.train_loss == pytest.approx(matrix.train_loss, rel=1e-8)
    assert factors.estimation_error == pytest.approx(matrix.estimation_error, rel=1e-2)
    assert np.array_equal(factors.rank, matrix.rank)
    assert matrix.converged.all()
    assert (matrix.gap <= 1e-6).all()
    assert (factors.gap <= 1e-4).all()
    assert matrix.caveats == ()
    again = ps.simulate(problem, d=20, seeds=[1], n_test=100)
    assert again.test_error[0] == matrix.test_error[1]


def test_an_early_stop_is_said():
    problem = ps.bilinear_regression(HALF, alpha=0.4, noise=0.1, weight_decay=0.01)
    ensemble = ps.simulate(problem, d=10, seeds=1, trainer=ps.ProximalGradient(steps=3), n_test=10)
    assert "seed 0: the training stopped with a duality gap of" in ensemble.caveats[0]


def test_the_duality_gap_bounds_the_loss():
    rng = np.random.default_rng(3)
    problem = ps.bilinear_regression(HALF, alpha=0.6, noise=0.2)
    measurements = draw_measurements(problem, 12, 86, rng)
    labels = draw_labels(measurements, problem.target.sample(12, 12, rng), 0.2, rng)
    rough, fine = (train_proximal(measurements, labels, 0.2, rng, tol=tol) for tol in (1e-2, 1e-10))
    assert 0 < rough.loss - fine.loss <= rough.gap * rough.loss


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        ps.bilinear_regression(HALF, alpha=0.5, noise=0.3, weight_decay=0.3),
        ps.bilinear_regression(ps.GaussianProduct(0.3, 2.0), alpha=0.6, noise=0.1, weight_decay=0.1),
        ps.bilinear_regression(ATOMS, alpha=0.5, noise=0.1, weight_decay=0.1),
    ],
)
def test_trained_regression_is_on_the_curve(problem):
    ensemble = ps.simulate(problem, d=30, seeds=4, trainer=ps.ProximalGradient(tol=1e-5))
    assert misses(ensemble, ps.solve(problem)) == []
    assert misses(ensemble, ps.solve(problem.replace(alpha=0.75 * problem.alpha))) != []
    assert misses(ensemble, ps.solve(problem.replace(weight_decay=0.5 * problem.weight_decay))) != []


@pytest.mark.parametrize("pairs", ["cross", "distinct"])
def test_trained_attention_is_on_the_curve(pairs):
    problem = ps.untied_linear_attention(
        ps.GaussianProduct(0.3), alpha=0.25, noise=0.1, weight_decay=0.1, n_tokens=2, pairs=pairs
    )
    ensemble = ps.simulate(problem, d=60, seeds=4, trainer=ps.ProximalGradient(tol=1e-5))
    assert misses(ensemble, ps.solve(problem)) == []
    assert misses(ensemble, ps.solve(problem.replace(alpha=0.75 * problem.alpha))) != []
    spectrum = ps.solve(problem).spectrum
    assert np.mean(ensemble.singular_values) == pytest.approx(spectrum.moment(1), rel=0.05)
    for level in (1e-6, 0.3, 1.0, 2.0):  # what is zero is zero to rounding
        below = np.mean(ensemble.singular_values <= level, axis=1)
        tolerance = 4 * float(np.std(below, ddof=1)) / sqrt(len(below)) + 1 / ensemble.d
        assert np.mean(below) == pytest.approx(spectrum.cdf(level), abs=tolerance)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", ["cross", "distinct"])
def test_trained_attention_tends_to_the_curve(pairs):
    """``a + b/d`` through several sizes: a is the prediction."""
    problem = ps.untied_linear_attention(
        ps.GaussianProduct(0.3), alpha=0.25, noise=0.1, weight_decay=0.1, n_tokens=2, pairs=pairs
    )
    ensembles = [
        ps.simulate(problem, d=d, seeds=seeds, trainer=ps.ProximalGradient(tol=1e-5))
        for d, seeds in ((30, 24), (50, 12), (90, 6))
    ]
    inverse = np.array([1 / e.d for e in ensembles])
    for name in OBSERVABLES:
        weights = np.array([1 / max(e.standard_error(name), 1e-4) for e in ensembles])
        (b, a), covariance = np.polyfit(inverse, [e.mean(name) for e in ensembles], 1, w=weights, cov="unscaled")
        assert abs(b) < 2 * problem.components
        assert a == pytest.approx(getattr(ps.solve(problem), name), abs=4 * sqrt(covariance[1, 1]))


@pytest.mark.slow
def test_scores_of_a_token_with_itself_count_for_one_part():
    """All T^2 pairs of one sequence see S + S' more often than S - S': T^2 alpha for both would be wrong."""
    problem = ps.untied_linear_attention(
        ps.GaussianProduct(0.3), alpha=0.25, noise=0.1, weight_decay=0.1, n_tokens=2, pairs="all"
    )
    solution, isotropic = ps.solve(problem), ps.solve(problem.replace(pairs="cross"))
    assert any("drawings" in line for line in solution.caveats)
    ensemble = ps.simulate(problem, d=60, seeds=4, trainer=ps.ProximalGradient(tol=1e-5))
    assert misses(ensemble, solution) == []
    assert "rank" in misses(ensemble, isotropic)
    assert solution.spectrum.moment(1) > 0.0
    assert solution.spectrum.rank == pytest.approx(solution.rank)


def test_least_squares_of_all_pairs():
    """Without weight decay each part is least squares, with an excess of (Delta/2)/(T (T +- 1) alpha - 1)."""
    problem = ps.untied_linear_attention(HALF, alpha=1.5, noise=0.2, weight_decay=0.0, n_tokens=2, pairs="all")
    found = ps.solve(problem)
    assert found.estimation_error == pytest.approx(0.1 / (6 * 1.5 - 1.0) + 0.1 / (2 * 1.5 - 1.0), rel=1e-6)
    near = ps.solve(problem.replace(alpha=0.505, noise=0.25))  # the antisymmetric part has hardly more than it needs
    assert near.estimation_error == pytest.approx(0.125 / 2.03 + 0.125 / 0.01, rel=1e-9)
    small = ps.solve(problem.replace(weight_decay=1e-4))  # by the state evolution of two parts
    for name in ("test_error", "train_error", "train_loss", "estimation_error"):
        assert getattr(found, name) == pytest.approx(getattr(small, name), rel=0.03), name
    with pytest.raises(ps.InputError, match="with fewer than d\\^2 scores of distinct tokens"):
        ps.solve(problem.replace(alpha=0.4))
    with pytest.raises(ps.InputError, match="one token shows the symmetric part"):
        ps.solve(problem.replace(n_tokens=1))


@pytest.mark.parametrize(
    ("problem", "d"),
    [
        (ps.bilinear_regression(HALF, alpha=0.5, noise=0.1), 44),
        (ps.bilinear_regression(ps.GaussianProduct(0.5, 2.0), alpha=0.5, noise=0.1), 32),
        (ps.untied_linear_attention(HALF, alpha=0.15, noise=0.1, weight_decay=None), 90),
    ],
)
def test_message_passing_is_on_the_bayes_curve(problem, d):
    trainer = ps.BayesAMP(ps.SingularValueDenoiser(problem.target), noise=problem.noise, steps=25, damping=0.5)
    errors = ps.simulate(problem, d=d, seeds=6, trainer=trainer, n_test=100).estimation_error
    mmse = ps.bayes_optimal(problem).mmse
    tolerance = 4 * np.std(errors, ddof=1) / sqrt(6) + 1 / d
    assert np.mean(errors) == pytest.approx(mmse, abs=tolerance)
    wrong = ps.bayes_optimal(problem.replace(alpha=0.7 * problem.alpha)).mmse
    assert abs(np.mean(errors) - wrong) > tolerance


# Input

WRONG: Any = "none"


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ps.bilinear_regression(WRONG, alpha=1.0), "`target` must be a RectangularLaw"),
        (lambda: ps.bilinear_regression(HALF, alpha=0.0), "`alpha` must be a finite number >= 1e-09"),
        (lambda: ps.bilinear_regression(HALF, alpha=1.0, noise=-1.0), "`noise` must be a finite number >= 0"),
        (lambda: ps.bilinear_regression(HALF, alpha=1.0, weight_decay=-1.0), "`weight_decay` must be"),
        (
            lambda: ps.bilinear_regression(ps.SingularValueMasses([0.0]), alpha=1.0),
            "`target` must have a positive second",
        ),
        (
            lambda: ps.untied_linear_attention(ps.GaussianProduct(0.5, 2.0), alpha=1.0, weight_decay=0.1),
            "`target` must have aspect 1",
        ),
        (
            lambda: ps.untied_linear_attention(HALF, alpha=1.0, weight_decay=0.1, n_tokens=1, pairs="distinct"),
            "`n_tokens` must be a whole number >= 2",
        ),
        (lambda: ps.BilinearProblem(HALF, 1.0, pairs=WRONG), '`pairs` must be "cross", "distinct" or "all"'),
        (
            lambda: ps.bilinear_regression(HALF, alpha=1.0).replace(kappa=1.0),
            "This problem has target, alpha, noise, weight_decay, n_tokens, pairs, rank, aspect",
        ),
        (lambda: ps.solve(ps.bilinear_regression(HALF, alpha=1.0)), "`weight_decay` must be a number"),
        (lambda: ps.solve(WRONG), "`problem` must be a LearningProblem"),
        (lambda: ps.bayes_optimal(WRONG), "`problem` must be a LearningProblem"),
        (
            lambda: ps.simulate(ps.bilinear_regression(HALF, alpha=1.0, weight_decay=0.0), d=10),
            "`weight_decay` must be positive",
        ),
        (
            lambda: ps.simulate(ps.bilinear_regression(HALF, alpha=1e-3, weight_decay=0.1), d=10),
            "`alpha` must be above 0.005 at d = 10",
        ),
        (
            lambda: ps.simulate(ps.bilinear_regression(HALF, alpha=1.0, weight_decay=0.1), d=10, trainer=WRONG),
            "`trainer` must be a ProximalGradient or a LBFGS or a BayesAMP",
        ),
        (
            lambda: ps.simulate(ps.bilinear_regression(HALF, alpha=1.0, weight_decay=0.1), d=10, seeds=[1, 1]),
            "`seeds` must be different numbers",
        ),
        (
            lambda: ps.simulate(ps.bilinear_regression(HALF, alpha=1.0, weight_decay=0.1), d=2000),
            "`d` must be such that one network needs less than",
        ),
    ],
)
def test_bad_input_is_said_in_words(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_compare_sets_them_side_by_side():
    problem = ps.bilinear_regression(HALF, alpha=0.8, weight_decay=0.2, noise=0.1)
    comparison = ps.compare(ps.solve(problem), *(ps.simulate(problem, d=d, seeds=6, n_test=500) for d in (20, 40)))
    assert all(abs(row.z) < 4 for row in comparison.rows), str(comparison)
    assert {row.name for row in comparison.rows} >= {"test_error", "estimation_error", "rank", "train_loss"}


def test_results_print_their_numbers():
    problem = ps.untied_linear_attention(HALF, alpha=0.2, weight_decay=0.1, noise=0.1)
    assert "caveat: the measurements q_a k_b'" in str(ps.solve(problem))
    assert "2 matrices of d = 10" in str(ps.simulate(problem, d=10, seeds=2, n_test=10))


def test_replace_reaches_the_target():
    problem = ps.bilinear_regression(HALF, alpha=1.0).replace(rank=0.2, aspect=2.0, noise=0.1)
    assert problem == ps.bilinear_regression(ps.GaussianProduct(0.2, 2.0), alpha=1.0, noise=0.1)


def test_least_squares_at_its_peak_is_an_error_that_says_so():
    with pytest.raises(ps.SolveError, match="At alpha = 1 the error of least squares is infinite"):
        ps.solve(ps.bilinear_regression(HALF, alpha=1.0, noise=0.1, weight_decay=0.0))


def test_nearly_perfect_recovery_is_an_answer_with_its_error():
    """Clean labels: noise level and cutoff go with the weight decay, the error with its square, until digits end."""
    target = ps.SingularValueMasses([0.0, 0.23, 0.8], [0.5, 0.32, 0.18])
    problem = ps.bilinear_regression(target, alpha=3.3, weight_decay=1e-4)
    limit = ps.solve(problem).estimation_error / 1e-4**2
    for decay in (3e-5, 1e-5, 3e-6):
        s = ps.solve(problem.replace(weight_decay=decay))
        assert s.rank == pytest.approx(0.5, rel=1e-8)
        assert s.estimation_error / decay**2 == pytest.approx(limit, rel=2e-4)
        assert s.error_bars["estimation_error"] < 2e-4 * s.estimation_error
    with pytest.raises(ps.SolveError, match=r"residual of .*\. Use a larger weight_decay, or weight_decay=0\.0"):
        ps.solve(problem.replace(weight_decay=1e-8))


@pytest.mark.parametrize("trainer", [ps.ProximalGradient(tol=1e-4), ps.LBFGS(tol=1e-2)], ids=lambda t: type(t).__name__)
@pytest.mark.parametrize("tokens", [False, True])
def test_threads_do_not_change_a_bit(tokens, trainer, monkeypatch):
    """A single fit has all cores: parts of the samples are added in their order, whoever sums them."""
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    problem = ps.bilinear_regression(ps.GaussianProduct(0.5, aspect=1.5), alpha=0.5, noise=0.1, weight_decay=0.1)
    if tokens:
        problem = ps.untied_linear_attention(ps.GaussianProduct(0.5), alpha=0.5, noise=0.1, weight_decay=0.1)
    found = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("presage.protocol.ensemble.available_cores", lambda cores=cores: cores)
        found.append(ps.simulate(problem, d=12, seeds=1, trainer=trainer, n_test=300, progress=False))
    for name in ("train_loss", "test_error", "estimation_error", "singular_values", "gap"):
        for other in found[1:]:
            np.testing.assert_array_equal(getattr(other, name), getattr(found[0], name))


def test_a_single_fit_has_all_cores(monkeypatch):
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    asked: list[int] = []
    pool = ordered_sums._pool

    def watched(threads):
        asked.append(threads)
        return pool(threads)

    monkeypatch.setattr(ordered_sums, "_pool", watched)
    monkeypatch.setattr("presage.protocol.ensemble.available_cores", lambda: 2)
    problem = ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=0.5, noise=0.1, weight_decay=0.1)
    ps.simulate(problem, d=10, seeds=1, trainer=ps.ProximalGradient(tol=1e-2), n_test=50, progress=False)
    assert set(asked) == {2}


def test_a_residual_plays_no_part_for_all_pairs():
    problem = ps.untied_linear_attention(ps.GaussianProduct(0.5), alpha=0.4, weight_decay=0.1, pairs="all", n_tokens=2)
    with pytest.raises(ps.InputError, match='`tol` must be left out for pairs="all"'):
        ps.solve(problem, tol=1e-5)


def test_error_bars_of_all_pairs_follow_the_accuracy():
    problem = ps.untied_linear_attention(
        ps.GaussianProduct(0.5), alpha=0.4, weight_decay=0.1, noise=0.25, pairs="all", n_tokens=2
    )
    for accuracy in (0.01, 0.04):
        found = ps.solve(problem, accuracy=accuracy)
        assert 0.2 * accuracy < max(b / getattr(found, name) for name, b in found.error_bars.items()) < 1.05 * accuracy


def test_all_pairs_that_do_not_settle_say_what_to_do(monkeypatch):
    from presage.solving import parts_state_evolution

    problem = ps.untied_linear_attention(ps.GaussianProduct(0.5), alpha=0.4, weight_decay=0.1, pairs="all", n_tokens=2)
    monkeypatch.setattr(parts_state_evolution, "MOST_STEPS", 1)
    with pytest.raises(ps.SolveError, match="residual") as failure:
        ps.solve(problem, accuracy=0.1)
    assert "larger" in str(failure.value)
    assert "weight_decay=0.0" not in str(failure.value)
