"""Eigenvalues of networks trained elsewhere: those that follow the law pass, those that do not are told apart."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import presage as ps

QUADRATIC = ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, noise=0.5)
RIDGE = ps.unfactorized_attention(ps.MarchenkoPastur(0.5), alpha=1.0, ridge=0.1, noise=0.5)
BILINEAR = ps.bilinear_regression(ps.GaussianProduct(0.5, 1.5), alpha=1.0, weight_decay=0.1, noise=0.5)
DIAGONAL = ps.diagonal_network(ps.PointMasses([0.0, 1.0], [0.8, 0.2]), alpha=1.0, weight_decay=0.1, noise=0.5)
GAUSSIAN = DIAGONAL.replace(draw="gaussian")
FACTOR = np.sqrt(2.0)


@cache
def prediction(problem: Any = QUADRATIC) -> Any:
    return ps.solve(problem)


@cache
def trained(problem: Any, d: int) -> Any:
    return ps.simulate(problem, d=d, seeds=2, n_test=10, processes=1)


def drawn(problem: Any = QUADRATIC, d: int = 60, seed: int = 1) -> Any:
    return prediction(problem).learned_law.sample(d, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("problem", "d", "name"),
    [(QUADRATIC, 60, "eigenvalues"), (BILINEAR, 40, "singular_values"), (DIAGONAL, 200, "entries")],
)
def test_trained_networks_pass_and_a_wrong_factor_does_not(problem, d, name):
    """The negative control: S = W W'/sqrt(m d) with a factor of sqrt(2) forgotten."""
    values = getattr(trained(problem, d), name)
    found = ps.compare(prediction(problem), *values)
    assert isinstance(found, ps.TrainedElsewhere)
    assert found.agrees, str(found)
    wrong = ps.compare(prediction(problem), *(FACTOR * values))
    assert not wrong["wasserstein"].usual
    assert wrong["rank"] == found["rank"]
    assert "are not what networks of" in wrong.verdict


def test_networks_of_another_problem_are_told_apart():
    other = ps.simulate(QUADRATIC.replace(alpha=0.1), d=60, seeds=1, n_test=10, processes=1)
    found = ps.compare(prediction(), other.eigenvalues[0])
    assert not found.agrees
    assert "A larger d tells." in str(found)


@pytest.mark.parametrize("problem", [QUADRATIC, GAUSSIAN])
def test_networks_that_follow_the_law_are_seldom_refused(problem):
    """Six ranges of 99 % each, from a hundred drawn networks: most of 40 others are inside of all."""
    verdicts = [ps.compare(prediction(problem), drawn(problem, 30, seed)).agrees for seed in range(40)]
    assert sum(verdicts) >= 34


def test_a_shift_is_its_distance_and_a_single_outlier_is_counted():
    law, d = prediction(RIDGE).learned_law, 200
    at_quantiles = law.quantile((np.arange(d) + 0.5) / d)
    near = ps.compare(prediction(RIDGE), at_quantiles)
    assert near.agrees
    assert near["wasserstein"].value < 0.02
    assert near["kolmogorov_smirnov"].value < 1.0 / d
    shifted = ps.compare(prediction(RIDGE), at_quantiles + 1.0)
    assert shifted["wasserstein"].value == pytest.approx(1.0, rel=2e-2)
    far = ps.compare(prediction(RIDGE), np.append(at_quantiles[:-1], 3.0 * at_quantiles[-1]))
    assert far["outside"].value == 1.0
    unusual = {row.name for row in far.rows if not row.usual}
    assert {"top", "outside"} <= unusual
    assert not {"rank", "kolmogorov_smirnov", "bottom"} & unusual


def test_what_is_rounding_beside_the_largest_counts_as_zero():
    values = drawn()
    zeros = np.flatnonzero(values == 0.0)
    rounded = values.copy()
    rounded[zeros] = 1e-15
    assert ps.compare(prediction(), rounded)["rank"] == ps.compare(prediction(), values)["rank"]
    single = rounded.astype(np.float32)
    single[zeros] = 1e-6
    assert ps.compare(prediction(), single)["rank"] == ps.compare(prediction(), values)["rank"]
    left = values.copy()
    left[zeros] = 1e-4
    found = ps.compare(prediction(), left)
    assert found["rank"].value == 1.0
    assert "training by gradients leaves small values" in str(found)
    assert ps.compare(prediction(), left, zero=1e-3)["rank"] == ps.compare(prediction(), values)["rank"]


def test_rows_of_an_array_are_networks_and_the_verdict_is_always_the_same():
    rows = np.array([drawn(seed=seed) for seed in range(3)])
    together, apart = ps.compare(prediction(), rows), ps.compare(prediction(), *rows[:, ::-1])
    assert together.rows == apart.rows
    assert together.values.shape == (3, 60)
    assert together["rank"].high - together["rank"].low < ps.compare(prediction(), rows[0])["rank"].high


def test_it_says_in_which_units_the_numbers_have_to_be():
    units = {QUADRATIC: "S = W W'/sqrt(m d)", DIAGONAL: "theta = u v", BILINEAR: "M = W_1 W_2'/sqrt(d L)"}
    for problem, words in units.items():
        said = str(ps.compare(prediction(problem), drawn(problem, 20)))
        assert f"penalty and normalisation must be those of the problem, {words}" in said


@pytest.mark.parametrize(
    ("networks", "said"),
    [
        ([np.eye(4)], r"must not be a square array: 4 x 4 numbers may be a matrix, or the eigenvalues of 4 networks"),
        ([np.ones(4), np.ones(5)], r"must be networks of one size: .* Got ensembles='sizes \[4, 5\]'"),
        ([np.array([1.0, np.nan])], r"must be eigenvalues, finite real numbers"),
        ([np.array([1.0 + 1j, 2.0])], r"must be eigenvalues, finite real numbers"),
        ([[["a", "b"]]], r"must be eigenvalues, finite real numbers"),
        ([np.array([])], r"must be eigenvalues, finite real numbers"),
        ([np.array([1.0])], r"must be networks of one size"),
        ([np.ones((2, 2, 3))], r"must be eigenvalues, finite real numbers"),
    ],
)
def test_what_is_not_the_eigenvalues_of_networks_is_refused(networks, said):
    with pytest.raises(ps.InputError, match=f"`ensembles` {said}"):
        ps.compare(prediction(), *networks)


def test_both_kinds_do_not_mix_and_zero_is_for_one_of_them():
    e = trained(QUADRATIC, 60)
    with pytest.raises(ps.InputError, match="`ensembles` must be a Ensemble"):
        ps.compare(prediction(), e, e.eigenvalues[0])
    with pytest.raises(ps.InputError, match="`zero` must be left out here"):
        ps.compare(prediction(), e, zero=1e-3)
    with pytest.raises(ps.InputError, match="`zero` must be a finite number >= 0"):
        ps.compare(prediction(), e.eigenvalues[0], zero=-1.0)


def test_a_prediction_without_a_law_says_so():
    with pytest.raises(ps.InputError, match="`solution` must have a spectrum: this prediction has no law"):
        ps.compare(ps.bayes_optimal(QUADRATIC), drawn())
    clean = BILINEAR.replace(noise=0.0, weight_decay=0.0, alpha=5.0)
    with pytest.raises(ps.InputError, match="`solution` must have a spectrum: the fit is the target itself"):
        ps.compare(ps.solve(clean), drawn(BILINEAR))


@pytest.mark.parametrize("problem", [QUADRATIC, BILINEAR, DIAGONAL, GAUSSIAN])
def test_what_is_drawn_has_the_law_it_is_drawn_from(problem):
    law, rng = prediction(problem).learned_law, np.random.default_rng(3)
    pooled = np.concatenate([law.sample(100, rng) for _ in range(20)])
    x = np.quantile(pooled, np.linspace(0.02, 0.98, 25))
    assert np.asarray(law.cdf(x)) == pytest.approx([np.mean(pooled <= at) for at in x], abs=0.04)
