"""Eigenvalues of networks trained elsewhere: those that follow the law pass, those that do not are told apart."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import presage as ps
from presage.protocol import trained_elsewhere
from presage.protocol.usual_ranges import AT, ENDS, FEWEST, LEVEL, MOST, draws_for, mean_range

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
    [(QUADRATIC, 60, "eigenvalues"), (BILINEAR, 30, "singular_values"), (DIAGONAL, 200, "entries")],
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
    assert "not what networks of" in wrong.verdict


def test_networks_of_another_problem_are_told_apart():
    other = ps.simulate(QUADRATIC.replace(alpha=0.1), d=60, seeds=1, n_test=10, processes=1)
    found = ps.compare(prediction(), other.eigenvalues[0])
    assert not found.agrees
    assert "A larger d tells." in str(found)


@pytest.mark.parametrize(
    ("problem", "draws", "count", "trials"),
    [
        *((problem, 100, *how) for problem in (QUADRATIC, RIDGE) for how in ((1, 30), (20, 20), (100, 15))),
        *((problem, draws, count, 40) for problem in (RIDGE, GAUSSIAN) for draws in (FEWEST, 10) for count in (1, 20)),
    ],
)
def test_networks_that_follow_the_law_are_refused_at_the_level(problem, draws, count, trials, monkeypatch):
    """Other draws in every trial: the level is one of networks and draws together. A thousandth of all tests fail."""
    law, rng, refused = prediction(problem).learned_law, np.random.default_rng(count), 0
    for trial in range(trials):
        monkeypatch.setattr(trained_elsewhere, "SEED", trial)
        found = ps.compare(prediction(problem), *(law.sample(30, rng) for _ in range(count)), draws=draws)
        refused += not found.agrees
    assert refused <= binom.isf(1e-3, trials, LEVEL)


@pytest.mark.parametrize("count", [1, 20, 100])
@pytest.mark.parametrize("problem", [QUADRATIC, RIDGE])
def test_networks_that_do_not_follow_the_law_are_refused(problem, count):
    """The power: a factor, another number of samples and a single outlier, at every number of networks."""
    rows = np.array([drawn(problem, 60, seed) for seed in range(count)])
    assert not ps.compare(prediction(problem), *(FACTOR * rows), draws=100).agrees
    other = [drawn(problem.replace(alpha=0.25), 60, seed) for seed in range(count)]
    assert not ps.compare(prediction(problem), *other, draws=100).agrees
    rows[0, -1] = 2.0 * rows.max()
    planted = ps.compare(prediction(problem), *rows, draws=100)
    assert planted["outside"].value == pytest.approx(1.0 / count)
    assert not planted["outside"].usual
    assert planted.outliers.tolist() == [rows[0, -1]]


@pytest.mark.parametrize(("draws", "d"), [(FEWEST, 400), (10, 200)])
def test_a_factor_is_seen_with_few_draws_too(draws, d):
    """So few are drawn of networks far larger still, which are nearer to the law."""
    rows = np.array([drawn(RIDGE, d, 1)])
    assert ps.compare(prediction(RIDGE), *rows, draws=draws).agrees
    found = ps.compare(prediction(RIDGE), *(FACTOR * rows), draws=draws)
    assert not found["wasserstein"].usual
    assert f"the ranges rest on {draws} drawn networks" in str(found)


@pytest.mark.parametrize("count", [1, 5, 400])
@pytest.mark.parametrize("sampled", ["standard_normal", "standard_exponential"])
def test_a_range_is_missed_as_often_as_it_says(sampled, count):
    """Of the mean of new numbers, normal or skewed, beside a hundred that were drawn: one in a thousand an end."""
    rng = np.random.default_rng(count)
    trials = 2000
    new = np.array([getattr(rng, sampled)(count).mean() for _ in range(trials)])
    ends = np.array([mean_range(getattr(rng, sampled)(100), count)[1:] for _ in range(trials)])
    for missed in (new < ends[:, 0], new > ends[:, 1]):
        assert np.sum(missed) <= binom.isf(1e-3, trials, LEVEL / ENDS)
    narrow = ends[:, 1] - ends[:, 0] < 12.0 * np.sqrt(1.0 / count + 0.01)
    assert narrow.mean() > 0.9


def test_a_rank_that_never_differed_may_differ_by_a_step():
    assert mean_range(np.full(10, 0.5), 1) == (0.5, 0.5, 0.5)
    low, high = mean_range(np.full(10, 0.5), 1, grain=0.1)[1:]
    assert low < 0.4
    assert high > 0.6


def test_a_shift_is_its_distance_and_a_single_outlier_is_counted():
    law, d, few = prediction(RIDGE).learned_law, 200, 20
    at_quantiles = law.quantile((np.arange(d) + 0.5) / d)
    near = ps.compare(prediction(RIDGE), at_quantiles, draws=few)
    assert near.agrees
    assert near["wasserstein"].value < 0.02
    assert near["kolmogorov_smirnov"].value < 1.0 / d
    shifted = ps.compare(prediction(RIDGE), at_quantiles + 1.0, draws=few)
    assert shifted["wasserstein"].value == pytest.approx(1.0, rel=2e-2)
    far = ps.compare(prediction(RIDGE), np.append(at_quantiles[:-1], 3.0 * at_quantiles[-1]), draws=few)
    assert far["outside"].value == 1.0
    unusual = {row.name for row in far.rows if not row.usual}
    assert {"top", "outside"} <= unusual
    assert not {"rank", "kolmogorov_smirnov", "bottom"} & unusual


def test_a_value_very_far_away_leaves_the_other_distances_as_they_are():
    values = np.sort(drawn(RIDGE, 60))
    far = np.append(values[:-1], 1e6)
    before, after = (ps.compare(prediction(RIDGE), one, draws=20) for one in (values, far))
    assert after["kolmogorov_smirnov"].value == pytest.approx(before["kolmogorov_smirnov"].value, abs=1.0 / 60)


def test_fewer_networks_are_drawn_where_each_takes_long():
    assert draws_for(30) == MOST
    assert draws_for(AT) == 10
    assert draws_for(4096) == FEWEST
    assert ps.compare(prediction(DIAGONAL), drawn(DIAGONAL, 500)).drawn == draws_for(500) == 40


@pytest.mark.parametrize("terminal", [True, False])
def test_the_draws_have_a_bar_on_a_terminal(terminal, monkeypatch):
    seen = []

    def bar(steps, count, **how):
        seen.append((count, how["words"], how["show"]))
        return steps

    monkeypatch.setattr(trained_elsewhere, "with_progress", bar)
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    ps.compare(prediction(), drawn(), draws=5)
    ps.compare(prediction(), drawn(), draws=5, progress=not terminal)
    assert seen == [(5, "drawing", terminal), (5, "drawing", not terminal)]


def test_half_precision_is_told_and_makes_no_zeros_of_all():
    values = drawn(DIAGONAL, 1100)
    found = ps.compare(prediction(DIAGONAL), values.astype(np.float16))
    assert found["rank"].value == np.mean(values != 0.0)
    assert found.zero <= 1.001e-6 * np.abs(values).max()
    assert "entries came in half precision" in str(found)
    assert "half precision" not in str(ps.compare(prediction(DIAGONAL), values.astype(np.float32)))


@pytest.fixture(scope="module")
def found() -> Any:
    values = np.sort(drawn())
    return ps.compare(prediction(), drawn(seed=2), np.append(values[:-1], 3.0 * values[-1]), draws=50)


class TestAsAResult:
    """It can be kept, tabulated and shown as every other result."""

    def test_it_comes_back_from_a_file_as_it_is(self, found, tmp_path):
        found.save(tmp_path / "found.json")
        again = ps.load(tmp_path / "found.json")
        assert isinstance(again, ps.TrainedElsewhere)
        assert str(again) == str(found)
        assert again.rows == found.rows
        assert again.values.tobytes() == found.values.tobytes()
        assert again.solution.rank == found.solution.rank

    def test_numbers_and_a_table(self, found):
        said = json.loads(json.dumps(found.as_dict()))
        assert said["agrees"] is False
        assert said["outliers"] == found.outliers.tolist()
        assert {row["name"]: row["usual"] for row in said["rows"]}["outside"] is False
        assert said["problem"]["alpha"] == 1.0
        table = found.to_dataframe()
        assert table.loc["top", "value"] == found["top"].value
        assert list(table.index) == [row.name for row in found.rows]

    def test_a_short_text(self, found):
        assert repr(found).startswith("<TrainedElsewhere of 2 networks of 60 eigenvalues, trained elsewhere: unusual")
        assert len(repr(found)) < 200
        assert "all as predicted" in repr(ps.compare(prediction(), drawn(), draws=50))

    def test_a_page_of_a_notebook(self, found):
        page = found._repr_html_()
        assert "data:image/png;base64," in page
        assert "not as expected" in page
        assert "no picture" not in page
        assert "penalty and normalisation" in page


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
    units = {
        QUADRATIC: "S = W W'/sqrt(m d)",
        RIDGE: "S itself, without factors,",
        DIAGONAL: "theta = u v",
        BILINEAR: "M = W_1 W_2'/sqrt(d L)",
    }
    for problem, words in units.items():
        said = str(ps.compare(prediction(problem), drawn(problem, 20), draws=5))
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
    with pytest.raises(ps.InputError, match="`draws` must be left out here"):
        ps.compare(prediction(), e, draws=10)
    with pytest.raises(ps.InputError, match="`draws` must be a whole number >= 4"):
        ps.compare(prediction(), e.eigenvalues[0], draws=3)
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
