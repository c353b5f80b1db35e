"""What is learned of each entry: the table of the theory, sample sizes, and trained vectors beside it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.diagonal.theory.coordinates import entry_numbers
from presage.models.diagonal.theory.scaling.sample_sizes import learned_at

DRAWS: list[Any] = ["fixed", "gaussian"]


def problem_of(
    gamma: float, d: int, n: float, decay: float, noise: float = 0.5, draw: Any = "fixed"
) -> ps.DiagonalProblem:
    return ps.diagonal_network(ps.PowerLaw(gamma, d), alpha=n / d, weight_decay=decay, noise=noise, draw=draw)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(
    ("gamma", "d", "n", "decay", "noise"),
    [(1.25, 1000, 300, 0.01, 0.5), (0.75, 500, 500, 0.1, 0.1), (2.0, 1000, 1e5, 3.0, 0.5), (1.25, 300, 900, 0.0, 0.5)],
)
def test_errors_of_the_entries_sum_to_the_error(draw, gamma, d, n, decay, noise):
    solution = ps.solve(problem_of(gamma, d, n, decay, noise, draw))
    table = solution.coordinates
    assert np.mean(table.error) == pytest.approx(solution.estimation_error, rel=1e-12)
    assert np.mean(table.nonzero) == pytest.approx(solution.nonzero, rel=1e-12)
    assert np.array_equal(table.i, np.arange(1, d + 1))
    assert np.array_equal(table.theta, solution.problem.target.atoms.positions[::-1])
    assert table.mass @ np.ones(d) == pytest.approx(1.0)
    assert np.array_equal(ps.scaling(solution.problem).coordinates.error, table.error)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize(("delta", "c"), [(0.6, 0.3), (0.3, 1.2), (2.0, 0.05)])
def test_rows_are_those_of_the_scalar_channel(draw, delta, c):
    rng, count = np.random.default_rng(1), 400_000
    for size in (-3.0, 0.0, 0.5, 1.4):
        theta = size * rng.standard_normal(count) if draw == "gaussian" else np.full(count, size)
        x = theta + delta * rng.standard_normal(count)
        soft = np.sign(x) * np.maximum(np.abs(x) - c, 0.0)
        found = entry_numbers(np.array([size]), delta, c, gaussian=draw == "gaussian")
        along = soft * theta / abs(size) if size else soft
        for predicted, drawn in (
            (found.nonzero, np.abs(x) > c),
            (found.fit, along),
            (found.error, (soft - theta) ** 2),
        ):
            assert drawn.mean() == pytest.approx(float(predicted[0]), abs=4.5 * drawn.std() / sqrt(count) + 3 / count)


def test_learned_entries_are_kept_and_stand_out():
    """Where weight decay rules they are those that are kept more often than not; where noise rules, those above it."""
    cut = ps.solve(problem_of(1.25, 1000, 3000, 10.0)).coordinates
    assert np.array_equal(cut.learned, cut.nonzero > 0.5)
    assert 3 < cut.learned.sum() < 100
    noisy = ps.solve(problem_of(1.25, 1000, 3000, 1e-3))
    assert np.array_equal(noisy.coordinates.learned, noisy.coordinates.theta > noisy.delta)
    assert noisy.coordinates.nonzero.min() > 0.99  # being there says nothing of being learned
    # For what is learned the fit is better than none, for what is not it is worse, but for the entries at the edge.
    table = noisy.coordinates
    clear = (table.theta > 1.2 * noisy.delta) | (table.theta < 0.8 * noisy.delta)
    assert np.array_equal(table.learned[clear], (table.error < table.theta**2)[clear])
    assert table.count == pytest.approx(table.learned.mean())


def test_atoms_with_weights_have_a_row_each():
    target = ps.PointMasses([-2.0, 0.0, 1.0], [0.1, 0.8, 0.1])
    solution = ps.solve(ps.diagonal_network(target, alpha=0.5, weight_decay=0.1, noise=0.1))
    table = solution.coordinates
    assert table.theta.tolist() == [-2.0, 1.0, 0.0]
    assert table.mass @ table.error == pytest.approx(solution.estimation_error, rel=1e-12)
    assert table.fit[2] == pytest.approx(0.0)
    with pytest.raises(ps.InputError, match="`target` must be made of atoms: a table has one row an entry"):
        _ = ps.solve(solution.problem.replace(target=ps.Semicircle(1.0))).coordinates
    clean = ps.solve(solution.problem.replace(noise=0.0, weight_decay=0.0, alpha=0.9)).coordinates
    assert clean.error.tolist() == [0.0, 0.0, 0.0]
    assert clean.nonzero.tolist() == [1.0, 1.0, 0.0]


# Sample sizes


def test_entries_are_learned_at_their_sample_sizes():
    """Just below and above every crossing the table says so."""
    problem = problem_of(1.25, 1000, 100, 0.01)
    ranks = [1, 2, 8, 9, 30]
    found = learned_at(problem, ranks)
    assert found == ps.scaling(problem).learned_at(ranks)
    for rank, sizes in zip(ranks, found, strict=True):
        assert len(sizes) % 2 == 1  # learned at last
        for k, n in enumerate(sizes):
            below, above = (ps.solve(problem.replace(alpha=n * f / 1000)).coordinates for f in (1 - 1e-7, 1 + 1e-7))
            assert bool(below.learned[rank - 1]) is bool(k % 2)
            assert bool(above.learned[rank - 1]) is not bool(k % 2)
    assert found[0][0] < found[1][0] < found[2][0]


def test_entries_are_lost_and_learned_again_around_the_peak():
    problem = problem_of(1.25, 1000, 100, 0.01)
    (eighth,) = learned_at(problem, [8])
    assert eighth == pytest.approx((283.87312, 950.88040, 1017.09107), rel=1e-6)
    counts = [ps.scaling(problem.replace(alpha=n / 1000)).learned for n in (200, 500, 1000, 2000)]
    assert counts[1] > counts[2]
    assert counts[3] > counts[1] > counts[0]


def test_sample_sizes_of_the_first_entries_by_default():
    assert len(learned_at(problem_of(1.25, 100, 10, 0.1))) == 20
    assert len(learned_at(problem_of(1.25, 7, 10, 0.1))) == 7
    heavy = problem_of(2.0, 100, 10, 1e6)
    assert learned_at(heavy, [1, 100])[1] == ()  # not up to alpha = 1e6
    with pytest.raises(ps.InputError, match="`indices` must be a whole number >= 1 and <= 100"):
        learned_at(problem_of(1.25, 100, 10, 0.1), [101])


# Trained vectors


@pytest.mark.parametrize("draw", DRAWS)
def test_trained_vectors_have_the_predicted_entries(draw):
    problem, seeds = problem_of(1.25, 200, 150, 0.3, 0.5, draw), 120
    table = ps.solve(problem).coordinates
    ensemble = ps.simulate(problem, d=200, seeds=seeds, n_test=10, processes=1)
    seen = ensemble.coordinates
    assert seen.fit.shape == (200,)
    assert np.mean(seen.error) == pytest.approx(ensemble.mean("estimation_error"), rel=1e-12)
    assert np.mean(seen.nonzero) == pytest.approx(ensemble.mean("nonzero"), rel=1e-12)
    if draw == "fixed":
        first = ensemble.coordinate_fit
        assert first is not None
        assert np.array_equal(seen.fit, first.mean(axis=0))
    # The ten largest each by itself; small ones are seldom there, and have a mean in tens.
    for name in ("fit", "error", "nonzero"):
        predicted, each = getattr(table, name), getattr(ensemble, f"coordinate_{name}")
        predicted = np.concatenate([predicted[:10], predicted[10:].reshape(-1, 10).mean(axis=1)])
        each = np.concatenate([each[:, :10], each[:, 10:].reshape(seeds, -1, 10).mean(axis=2)], axis=1)
        bar = each.std(axis=0, ddof=1) / sqrt(seeds)
        away = np.abs(each.mean(axis=0) - predicted) / (bar + 0.01 * np.abs(predicted))
        assert np.median(away) < 1.2, name
        assert away.max() < 3.7, name
    # A wrong cutoff is seen.
    if draw == "fixed":
        wrong = ps.solve(problem.replace(weight_decay=1.2)).coordinates
        assert (np.abs(wrong.fit - seen.fit)[:5] > 5 * seen.fit_bar[:5]).all()


def test_vectors_of_older_files_have_no_coordinates():
    from dataclasses import replace

    ensemble = ps.simulate(problem_of(1.25, 20, 15, 0.3), d=20, seeds=1, n_test=10, processes=1)
    assert np.isnan(ensemble.coordinates.fit_bar).all()
    older = replace(ensemble, coordinate_fit=None)
    with pytest.raises(AttributeError, match="did not measure each entry"):
        _ = older.coordinates


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gamma", "d", "alpha", "decay", "noise", "seeds"),
    [(0.75, 600, 0.3, 0.5, 0.5, 40), (1.5, 800, 0.25, 2.0, 0.1, 40), (1.25, 400, 3.0, 0.01, 0.5, 60)],
)
def test_coordinate_descent_is_on_the_curve(gamma, d, alpha, decay, noise, seeds):
    """scikit-learn on both draws, at the points whose errors the theory page has."""
    for draw in DRAWS:
        problem = problem_of(gamma, d, alpha * d, decay, noise, draw)
        solution = ps.solve(problem)
        ensemble = ps.simulate(problem, d=d, seeds=seeds, trainer=ps.Lasso(), n_test=10, processes=1)
        bar = ensemble.standard_error("estimation_error")
        assert ensemble.mean("estimation_error") == pytest.approx(
            solution.estimation_error, abs=3.5 * bar + 0.01 * solution.estimation_error
        )
        assert ensemble.mean("nonzero") == pytest.approx(solution.nonzero, abs=0.007)
