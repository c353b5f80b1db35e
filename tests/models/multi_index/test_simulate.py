"""Spectral estimators at finite size: the matrix, its directions, the readout, and all of it against the theory."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.multi_index.experiment import readout
from presage.models.multi_index.experiment.outside import directions, upper_edge
from presage.models.multi_index.experiment.samples import (
    clean_labels,
    draw_features,
    draw_labels,
    weighted_covariance,
)
from presage.models.multi_index.experiment.simulate import weights
from presage.protocol.ensemble import streams

BALANCED = ps.CosineLink(exp(1.5) / 4.0)  # noise sensitivity exponent 2
FEW = ps.multi_index(ps.HermiteLink(2), alpha=60.0, features=3, decay=1.0, noise=0.5)


def matrix(problem: ps.MultiIndexProblem, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix of one seed, its weights and its features."""
    for_target, for_data, _, _ = streams(seed, d)
    W = draw_features(problem.features, d, for_target)
    scores, labels = draw_labels(problem, problem.samples(d), for_data)
    T = weights(problem, labels)
    return weighted_covariance(T, scores, W, for_data), T, W


# Parts


def test_features_are_orthonormal_and_samples_have_their_scores():
    """The streamed sum against one of samples that are held: few enough that both are exact."""
    d, n, rng = 30, 400, np.random.default_rng(0)
    W = draw_features(4, d, rng)
    assert np.abs(W.T @ W - np.eye(4)).max() < 1e-12
    scores, T = rng.standard_normal((n, 4)), rng.standard_normal(n)
    C = weighted_covariance(T, scores, W, np.random.default_rng(1))
    along = (scores * T[:, None]).T @ scores / n - T.mean() * np.eye(4)
    assert np.abs(W.T @ C @ W - along).max() < 1e-5  # exact along the features, in single precision
    assert np.array_equal(C, C.T)
    assert np.array_equal(C, weighted_covariance(T, scores, W, np.random.default_rng(1), threads=2))


def test_streamed_samples_are_standard_gaussian():
    """With weights one, C + 1 is a covariance of N(0, 1): its entries are off by n^-1/2."""
    d, n, rng = 20, 40_000, np.random.default_rng(0)
    W = draw_features(3, d, rng)
    C = weighted_covariance(np.ones(n), rng.standard_normal((n, 3)), W, rng)
    assert np.abs(C).max() < 5.0 * (2.0 / n) ** 0.5


@pytest.mark.parametrize("alpha", [3.0, 30.0])
def test_edges_of_weights_that_know_nothing(alpha):
    """Eigenvalues of independent weights end at the edges on both sides, up to some d^(-2/3)."""
    d, rng = 300, np.random.default_rng(0)
    n = round(alpha * d)
    T = rng.exponential(size=n) - 1.0
    T = T / np.sqrt(1.0 + T**2)
    values = np.linalg.eigvalsh(weighted_covariance(T, rng.standard_normal((n, 1)), np.eye(d)[:, :1], rng))
    size = 2.0 * np.sqrt(np.mean(T**2) / alpha)
    assert values[-1] == pytest.approx(upper_edge(T, d), abs=size * d ** (-2 / 3) * 2)
    assert -values[0] == pytest.approx(upper_edge(-T, d), abs=size * d ** (-2 / 3) * 2)
    assert upper_edge(T, d) != pytest.approx(upper_edge(-T, d), rel=0.005)  # weights that are skew make the bulk so


def test_few_directions_are_found_where_there_are_none():
    """Chance puts an eigenvalue outside in 5 of 100 matrices on either side."""
    count = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        T = np.tanh(rng.standard_normal(1500))
        C = weighted_covariance(T - T.mean(), rng.standard_normal((1500, 1)), np.eye(50)[:, :1], rng)
        count += len(directions(C, T - T.mean(), above_only=False).values)
    assert count <= 14  # 6 expected: 14 or more have a chance of 3 in 1000


def test_directions_are_eigenvectors():
    C, T, _ = matrix(FEW, 80, 0)
    found = directions(C, T, above_only=False)
    assert C @ found.vectors == pytest.approx(found.vectors * found.values, abs=1e-10)
    assert np.abs(found.values).tolist() == sorted(np.abs(found.values), reverse=True)
    every = np.linalg.eigvalsh(C)
    assert found.furthest == pytest.approx(np.abs(every).max(), rel=1e-10)
    together = directions(C, T, above_only=False, equal=5)
    assert together.furthest == pytest.approx(np.sort(np.abs(every))[-5:].mean(), rel=1e-10)


@pytest.mark.parametrize("kind", ["separate", "joint"])
def test_polynomials_of_the_readout_are_orthonormal(kind):
    problem = FEW.replace(readout=kind, readout_degree=3)
    s = np.random.default_rng(0).standard_normal((400_000, 2))
    A = readout.columns(s, problem)
    assert A.shape[1] == readout.column_count(2, problem) == {"separate": 7, "joint": 10}[kind]
    assert A.T @ A / len(s) == pytest.approx(np.eye(A.shape[1]), abs=0.1)


def test_coordinates_have_the_inner_products_of_the_directions():
    rng = np.random.default_rng(0)
    W, V = draw_features(3, 40, rng), draw_features(2, 40, rng)
    z, s = (np.concatenate(block) for block in zip(*readout.Coordinates(W, V).draw(200_000, 5, rng), strict=True))
    assert z.T @ s / len(z) == pytest.approx(W.T @ V, abs=0.012)
    assert z.T @ z / len(z) == pytest.approx(np.eye(3), abs=0.02)
    assert s.T @ s / len(z) == pytest.approx(np.eye(2), abs=0.02)


def test_a_readout_of_the_features_themselves_leaves_nothing():
    """Of He_2, within its degree: nothing but the noise of the fit, some (columns/n) noise."""
    problem = FEW
    W = draw_features(3, 30, np.random.default_rng(0))
    seen, width = readout.Coordinates(W, W), readout.column_count(3, problem)
    # W twice makes the second three coordinates the first: the root has rank three, as it should.
    fitted = readout.fit(problem, seen, width, 100_000, 1e-9, np.random.default_rng(1))
    left = readout.risk(problem, seen, fitted, 50_000, np.random.default_rng(2))
    assert left < 5.0 * width * problem.noise / 100_000


def test_ensembles_do_not_depend_on_processes_and_threads():
    one, two = (ps.simulate(FEW, d=40, seeds=2, processes=count, n_test=2000) for count in (1, 2))
    for name in ("excess_risk", "unlearned", "top_eigenvalue", "recovered", "overlaps"):
        assert np.array_equal(getattr(one, name), getattr(two, name))


# Against the theory


@pytest.mark.parametrize(
    ("problem", "sizes", "seeds"),
    [
        (FEW, (100, 200), 12),
        (FEW.replace(preprocessing="identity", alpha=300.0), (60, 120), 8),
        (ps.multi_index(ps.AbsoluteLink(), alpha=100.0, features=3, decay=1.0, noise=0.5), (100, 200), 12),
        (ps.single_index(ps.CosineLink(), alpha=40.0), (100, 200), 16),
        (ps.single_index(ps.HermiteLink(2), alpha=20.0, preprocessing="best"), (200, 400), 16),
        (ps.single_index(BALANCED, alpha=400.0, signal=1.0, preprocessing="hermite"), (60, 120), 10),
        (ps.committee(ps.HermiteLink(2), alpha=60.0, features=2), (100, 200), 12),
    ],
)
def test_estimators_are_on_the_curve(problem, sizes, seeds):
    found = ps.compare(ps.solve(problem), *(ps.simulate(problem, d=d, seeds=seeds, n_test=40_000) for d in sizes))
    assert found.agrees, str(found)


def test_a_wrong_number_of_samples_is_found_out():
    """A negative control of the comparison: the prediction of half the samples does not agree."""
    ensembles = [ps.simulate(FEW, d=d, seeds=12, n_test=40_000) for d in (100, 200)]
    wrong = ps.solve(FEW.replace(alpha=FEW.alpha / 2.0))
    other = ps.MultiIndexSolution(**{**vars(wrong), "problem": FEW})
    assert not ps.compare(other, *ensembles)["unlearned"].agrees


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (
            ps.multi_index(ps.HermiteLink(2), alpha=640.0, features=12, decay=1.0, preprocessing="identity"),
            (0.997, 0.99, 0.98, 0.98, 0.96, 0.95, 0.93, 0.90, 0.88, 0.86, 0.85, 0.80),
        ),
        (
            ps.multi_index(ps.AbsoluteLink(), alpha=160.0, features=8, decay=1.0, preprocessing="identity"),
            (0.98, 0.95, 0.91, 0.82, 0.75, 0.61, 0.44, 0.41),
        ),
    ],
)
def test_seen_overlaps_are_seen_again(problem, told):
    """d = 300 as told: overlaps of single matrices scatter by up to .05 at the end, those of .4 and less by more."""
    found = ps.simulate(problem, d=300, seeds=3, n_test=2000, n_readout=2000)
    features = ps.compare(ps.solve(problem), found).features
    clear = features.predicted[0] > 0.55
    assert clear.sum() >= 6
    assert features.mean[0][clear] == pytest.approx(np.array(told)[clear], abs=0.05)
    assert features.mean[0][clear] == pytest.approx(features.predicted[0][clear], abs=0.04)


@pytest.mark.slow
def test_seen_overlaps_of_the_best_preprocessing():
    """d = 600: .06, .25 and .48 at 1.3, 2 and 4 times the threshold; a mean of 8 is known to some .04."""
    problem = ps.single_index(ps.HermiteLink(2), alpha=1.0, signal=0.5, preprocessing="best")
    threshold = ps.thresholds(problem).first
    for ratio, told in ((1.3, 0.06), (2.0, 0.25), (4.0, 0.48)):
        overlaps = []
        for seed in range(8):
            C, _, W = matrix(problem.replace(alpha=ratio * threshold), 600, seed)
            top = scipy.linalg.eigh(C, subset_by_index=(599, 599))[1][:, 0]
            overlaps.append(float((top @ W[:, 0]) ** 2))
        assert np.mean(overlaps) == pytest.approx(told, abs=0.1)
        predicted = ps.solve(problem.replace(alpha=ratio * threshold)).overlaps[0]
        assert np.mean(overlaps) == pytest.approx(predicted, abs=4.0 * float(np.std(overlaps)) / 8**0.5 + 0.03)


@pytest.mark.parametrize("alpha", [20.0, 500.0])
def test_exponent_two_is_seen_by_squares_and_not_by_labels(alpha):
    """T = y shows no outlier, however many samples; T = y^2 - 1 shows one above its threshold."""
    problem = ps.single_index(BALANCED, alpha=alpha, signal=1.0, preprocessing="identity")
    found = ps.simulate(problem, d=100, seeds=10, n_test=100)
    assert found.overlaps.mean() < 0.05  # an eigenvector that is outside by chance may see a little
    assert found.mean("recovered") <= 0.5
    squares = problem.replace(preprocessing="hermite")
    seen = ps.simulate(squares, d=100, seeds=4, n_test=100)
    assert (seen.mean("unlearned") < 0.5) == (alpha > 2.0 * ps.thresholds(squares).first)


def test_nothing_is_seen_below_the_threshold():
    problem = FEW.replace(alpha=0.5 * ps.thresholds(FEW).first)
    found = ps.simulate(problem, d=200, seeds=8, n_test=100, n_readout=1000)
    assert found.overlaps.max() < 0.2
    assert found.mean("recovered") <= 0.5


@pytest.mark.slow
def test_strong_signals_of_exponent_two_are_seen_by_their_spread():
    """He_4 with little noise: T = y has outliers along the feature at both ends; a bound does not hide them."""
    problem = ps.single_index(ps.HermiteLink(4), alpha=2000.0, signal=4.0, preprocessing="bounded")
    predicted = ps.solve(problem)
    found = ps.simulate(problem, d=200, seeds=4, n_test=100)
    assert found.overlaps[:, 0].mean() == pytest.approx(predicted.overlaps[0], abs=0.05)


@pytest.mark.slow
def test_hierarchy_of_exponent_two_falls_by_a_fourth_power():
    """Thresholds ``k^(2 b gamma)``: with b = 2 the second feature needs 16 times the samples, and overlaps follow."""
    problem = ps.multi_index(BALANCED, alpha=2000.0, features=3, decay=1.0, noise=0.2, preprocessing="hermite")
    features = ps.compare(ps.solve(problem), ps.simulate(problem, d=150, seeds=4, n_test=1000)).features
    assert features.mean[0] == pytest.approx(features.predicted[0], abs=0.05)


@pytest.mark.slow
def test_risk_falls_by_the_predicted_slope():
    """Estimators of d = 200 over a decade of alpha, 40 features of decay 1: each risk beside its prediction."""
    problem = ps.multi_index(ps.HermiteLink(2), alpha=1.0, features=40, decay=1.0, noise=0.5)
    alphas = np.array([30.0, 100.0, 300.0])
    found = [ps.simulate(problem.replace(alpha=alpha), d=200, seeds=4) for alpha in alphas]
    risks = np.array([one.mean("unlearned") for one in found])
    predicted = np.array([ps.solve(problem.replace(alpha=alpha)).unlearned for alpha in alphas])
    assert risks == pytest.approx(predicted, rel=0.08)
    slopes = [np.polyfit(np.log(alphas), np.log(values), 1)[0] for values in (risks, predicted)]
    assert slopes[0] == pytest.approx(slopes[1], abs=0.05)


# Words


@pytest.mark.parametrize(
    ("problem", "options", "sentence"),
    [
        (FEW, {"d": 3}, r"`d` must be larger than 3: 3 orthonormal directions"),
        (FEW.replace(alpha=0.05), {"d": 60}, r"`alpha` must be larger at d = 60: alpha d = 3 samples are not enough"),
        (
            FEW,
            {"d": 60, "n_readout": 20},
            r"`n_readout` must be a whole number >= 38: a readout of all features has 19",
        ),
        (FEW.replace(alpha=0.5), {"d": 60}, r"`n_readout` must be a whole number >= 38.*Got n_readout=30"),
        (FEW, {"d": 60, "trainer": ps.LBFGS()}, r"`trainer` must be a SpectralEstimator"),
        (FEW.replace(features=20, readout="joint"), {"d": 60}, r"`readout` must be \"separate\" here: 20 coordinates"),
        (FEW, {"d": 60, "n_test": 0}, r"`n_test` must be a whole number >= 1"),
    ],
)
def test_runs_that_cannot_be_made_get_a_sentence(problem, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        ps.simulate(problem, seeds=2, **options)


def test_labels_of_few_scores_are_sums():
    problem = ps.multi_index(np.cos, alpha=1.0, features=2, decay=1.0, signal=4.0)
    scores = np.array([[0.0, 1.0]])
    assert clean_labels(problem, scores)[0] == pytest.approx(2.0 * (1.0 + np.cos(1.0) / 2.0))
