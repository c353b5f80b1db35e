"""Theory and experiment side by side."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps

PLAIN = ps.compositional(alpha=150.0, features=4, decay=0.5)
CLIPPED = ps.compositional(alpha=20.0, features=4, decay=0.5, clip=2.0)
OPTIONS = {"n_test": 20_000, "processes": 1}


@pytest.fixture(scope="module")
def plain():
    return [ps.simulate(PLAIN, d=d, seeds=8, **OPTIONS) for d in (14, 20)]


@pytest.fixture(scope="module")
def clipped():
    return [ps.simulate(CLIPPED, d=d, seeds=12, **OPTIONS) for d in (20, 28)]


def test_layers_are_on_the_curve(plain):
    comparison = ps.compare(ps.solve(PLAIN), *plain)
    assert [row.name for row in comparison.rows] == [*ps.solve(PLAIN).compared]
    assert comparison.agrees, str(comparison)
    assert all(one.converged.all() for one in plain)


def test_clipped_labels_are_exact_at_few_samples(clipped):
    """Twenty samples a coordinate: the exact equations of bounded labels hold, the semicircle does not."""
    comparison = ps.compare(ps.solve(CLIPPED), *clipped)
    assert comparison.agrees, str(comparison)
    overlaps = np.concatenate([one.overlaps for one in clipped])
    error = overlaps.std(axis=0, ddof=1) / sqrt(len(overlaps))
    assert np.all(np.abs(overlaps.mean(axis=0) - ps.solve(CLIPPED).overlaps) < 4 * error + 0.01)


def test_eigenvalues_are_where_they_are_predicted(clipped, plain):
    """Each within four standard errors and what a finite D moves it by, a part of 1 %; by size, the largest first."""
    for ensembles in (clipped, plain):
        solution = ps.solve(ensembles[0].problem)
        order = np.argsort(-np.abs(solution.eigenvalues), kind="stable")
        measured = np.abs(np.sort(-np.abs(ensembles[1].eigenvalues), axis=1))
        error = measured.std(axis=0, ddof=1) / sqrt(len(measured))
        predicted = np.abs(solution.eigenvalues[order])
        assert np.all(np.abs(measured.mean(axis=0) - predicted) < 4 * error + 0.01 * predicted)


@pytest.mark.parametrize("factor", [sqrt(2.0), sqrt(0.5)])
def test_a_wrong_signal_is_found_out(clipped, factor):
    """A factor sqrt2 in theta is a factor 2 in alpha: overlaps are many standard errors away."""
    wrong = ps.solve(CLIPPED.replace(alpha=CLIPPED.alpha * factor**2))
    larger = clipped[1]
    away = (larger.mean("mean_overlap") - wrong.mean_overlap) / larger.standard_error("mean_overlap")
    assert abs(away) > 10


def test_no_feature_is_seen_below_the_threshold():
    """Half of the samples of the first threshold: eigenvectors see little of the features, and C has no outlier."""
    problem = ps.compositional(alpha=1.0, features=4, decay=0.0, clip=2.0)
    below = problem.replace(alpha=0.5 * ps.thresholds(problem).first_feature)
    trainer = ps.LayerWise(method="dense")
    ensemble = ps.simulate(below, d=36, seeds=4, trainer=trainer, **OPTIONS)
    solution = ps.solve(below)
    assert solution.learned == 0
    assert ensemble.mean("mean_overlap") < 0.1  # 4/666 of chance, and what is left of the transition at this size
    assert np.abs(ensemble.spectrum).max() < 1.1 * max(map(abs, solution.edges))
    above = problem.replace(alpha=6.0 * ps.thresholds(problem).first_feature)
    assert ps.simulate(above, d=28, seeds=2, **OPTIONS).mean("mean_overlap") > 0.6


def test_bulk_has_the_predicted_law(clipped):
    """The whole spectrum of C: distribution functions differ by at most 2 %, features aside."""
    ensemble = ps.simulate(CLIPPED, d=28, seeds=2, trainer=ps.LayerWise(method="dense"), **OPTIONS)
    solution = ps.solve(CLIPPED)
    for spectrum in ensemble.spectrum:
        bulk = np.sort(spectrum[np.argsort(np.abs(spectrum))[:-4]])
        level = (np.arange(len(bulk)) + 0.5) / len(bulk)
        assert np.abs(solution.spectrum.cdf(bulk) - level).max() < 0.02


@pytest.mark.parametrize(
    "change",
    [
        {"link": ps.TanhLink(1.5)},
        {"link": ps.CubicLink(0.2), "clip": 3.0},
        {"signs": "positive"},
        {"decay": None, "mixing": "gaussian", "features": 4},
        {"degree": 1},
    ],
    ids=["tanh", "cubic", "positive", "gaussian", "degree one"],
)
def test_other_targets_are_on_the_curve(change):
    problem = PLAIN.replace(**{"clip": 2.0, "alpha": 40.0, **change})
    d = 200 if problem.degree == 1 else 20
    comparison = ps.compare(ps.solve(problem), ps.simulate(problem, d=d, seeds=8, **OPTIONS))
    assert all(abs(row.z) < 3.5 for row in comparison.rows), str(comparison)


def test_features_are_compared_one_by_one(clipped):
    comparison = ps.compare(ps.solve(CLIPPED), *clipped)
    table = comparison.features
    assert table.names == ("overlap",)
    assert table.predicted.shape == (1, 4)
    assert np.abs(table.z).max() < 5


def test_the_last_layer_can_be_curved():
    """A saturated link: the curved last layer has a lower error than the line, which the theory is about."""
    problem = PLAIN.replace(link=ps.TanhLink(3.0))
    ensemble = ps.simulate(problem, d=14, seeds=3, **OPTIONS)
    assert ensemble.mean("curved_error") < 0.8 * ensemble.mean("test_error")
    assert ensemble.mean("test_error") == pytest.approx(ps.solve(problem).test_error, abs=0.02)


@pytest.mark.slow
def test_the_published_experiment():
    """[WTDKL26]: D = 666, six features, n = 100,000: .979 .969 .962 .956 .940 .943 of one draw, here of four."""
    problem = ps.compositional(alpha=1e5 / 666, features=6, decay=0.5)
    ensemble = ps.simulate(problem, d=36, seeds=4, **OPTIONS)
    mean = ensemble.overlaps.mean(axis=0)
    error = ensemble.overlaps.std(axis=0, ddof=1) / 2.0
    assert np.all(np.abs(mean - ps.solve(problem).overlaps) < 4 * error + 1e-3)
    assert np.abs(mean - [0.979, 0.969, 0.962, 0.956, 0.940, 0.943]).max() < 0.01


@pytest.mark.slow
def test_true_coordinates_of_few_inputs_are_far_from_gaussian_ones():
    """At d = 36 the last features are nearly lost where Gaussian coordinates keep 0.94 of them; clipping saves most."""
    problem = ps.compositional(alpha=1e5 / 666, features=6, decay=0.5, inputs="hermite")
    plain = ps.simulate(problem, d=36, seeds=4, **OPTIONS)
    clipped = ps.simulate(problem.replace(clip=2.0), d=36, seeds=4, **OPTIONS)
    assert plain.overlaps.mean(axis=0)[0] == pytest.approx(0.92, abs=0.04)
    assert plain.overlaps.mean(axis=0)[-2:].mean() < 0.5
    assert clipped.overlaps.mean(axis=0)[-2:].mean() > plain.overlaps.mean(axis=0)[-2:].mean() + 0.2


@pytest.mark.slow
def test_true_coordinates_come_near_gaussian_ones():
    """Clipped labels, d = 40 and 90: the distance from the prediction falls about as 1/d."""
    problem = ps.compositional(alpha=30.0, features=2, decay=0.5, inputs="hermite", clip=2.0)
    predicted = ps.solve(problem).mean_overlap
    away = [
        predicted - ps.simulate(problem, d=d, seeds=seeds, **OPTIONS).mean("mean_overlap")
        for d, seeds in ((40, 8), (90, 4))
    ]
    assert 0.0 < away[1] < 0.65 * away[0]
    assert away[1] < 0.05
