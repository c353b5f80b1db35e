"""Prediction beside training: the fit in 1/d, the verdicts, and the distance of spectra."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats

from presage import (
    LBFGS,
    Comparison,
    MarchenkoPastur,
    Networks,
    Observable,
    ProximalGradient,
    Solution,
    compare,
    quadratic_network,
    simulate,
    solve,
    unfactorized_attention,
)
from presage.models.attention.experiment.tokens import Rademacher
from presage.protocol.comparison import _row
from presage.protocol.comparison_table import compared, headings
from presage.protocol.extrapolation import fit_limit, normal_score

OBSERVABLES = tuple(observable.name for observable in Networks.observables)
PROBLEM = quadratic_network(MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, noise=0.2)


def untyped(value: object) -> Any:
    """The value, as something that the type checker lets through."""
    return value


@cache
def solution() -> Solution:
    return solve(PROBLEM)


def spectra(d, count, rng, size=1.0):
    return size * np.array([np.sort(solution().spectrum.sample(d, rng)) for _ in range(count)])


def ensemble(d=100, count=8, seed=0, *, slope=0.0, shift=0.0, spread=1e-3, size=1.0, problem=PROBLEM) -> Networks:
    """Networks whose observables lie around the prediction: + slope/d, `shift` standard errors of the mean off."""
    rng = np.random.default_rng([seed, d])
    values: dict[str, Any] = {}
    for name in OBSERVABLES:
        noise = rng.standard_normal(count)
        noise = (noise - noise.mean()) / noise.std(ddof=1)  # mean and standard error are exact
        own = 0.02 if name == "rank" else spread  # ranks come in steps of 1/d
        mean = getattr(solution(), name) + slope / d + shift * own / sqrt(count)
        values[name] = mean + own * noise
    eigenvalues = spectra(d, count, rng, size)
    values["rank"] = values["rank"] if shift or slope else np.count_nonzero(eigenvalues > 0, axis=1) / d
    full = np.zeros(count)
    return Networks(
        problem=problem,
        d=d,
        seeds=tuple(range(1000 * seed, 1000 * seed + count)),
        trainer=LBFGS(),
        task="label",
        m=full,
        q=full,
        eigenvalues=eigenvalues,
        residual=full,
        gap=full,
        converged=np.ones(count, dtype=bool),
        evaluations=np.ones(count, dtype=np.int64),
        seconds=full,
        failures={},
        **values,
    )


# --- the fit


def around(means, spreads, counts):
    """Values of which mean and standard deviation are exactly these, for each dimension."""
    rng, values = np.random.default_rng(0), []
    for mean, spread, count in zip(means, spreads, counts, strict=True):
        noise = rng.standard_normal(count)
        values.append(mean + spread * (noise - noise.mean()) / noise.std(ddof=1))
    return values


def test_the_fit_recovers_a_line_in_one_over_d_exactly():
    d = np.array([50.0, 80.0, 120.0, 200.0])
    limit = fit_limit(d, around(0.7 - 3.0 / d, [0.01, 0.02, 0.005, 0.03], [3, 8, 2, 5]))
    assert limit.a == pytest.approx(0.7, abs=1e-12)
    assert limit.b == pytest.approx(-3.0, abs=1e-9)
    assert limit.a_error > 0


def test_a_limit_from_two_dimensions_is_the_line_through_both_means():
    limit = fit_limit(np.array([50.0, 100.0]), around([1.0, 1.1], [0.04, 0.06], [4, 9]))
    # a = (d2 y2 - d1 y1)/(d2 - d1) whatever the weights, and standard errors 0.02 and 0.02 add in squares.
    assert limit.a == pytest.approx((100 * 1.1 - 50 * 1.0) / 50, rel=1e-12)
    assert limit.b == pytest.approx((1.0 - 1.1) / (1 / 50 - 1 / 100), rel=1e-12)
    assert limit.a_error == pytest.approx(sqrt((100 * 0.02) ** 2 + (50 * 0.02) ** 2) / 50, rel=1e-12)
    parts = np.array([50 * 0.02, 100 * 0.02]) ** 2
    assert limit.freedom == pytest.approx(parts.sum() ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 8), rel=1e-12)


def test_a_limit_from_three_dimensions_weighs_a_network_by_the_square_of_its_dimension():
    """Least squares with weights n d^2; its error is carried over from the means by the same coefficients."""
    d, counts, spreads = np.array([50.0, 100.0, 170.0]), np.array([4, 6, 3]), np.array([0.02, 0.03, 0.01])
    means = np.array([0.9, 1.2, 1.0])
    limit = fit_limit(d, around(means, spreads, counts))
    w, x = counts * d**2, 1 / d
    S, S_x, S_xx = np.sum(w), np.sum(w * x), np.sum(w * x**2)
    coefficients = w * (S_xx - S_x * x) / (S * S_xx - S_x**2)
    assert limit.a == pytest.approx(coefficients @ means, rel=1e-10)
    assert limit.a_error == pytest.approx(np.linalg.norm(coefficients * spreads / np.sqrt(counts)), rel=1e-10)
    flat = np.polyfit(x, means, 1)[1]
    assert abs(limit.a - flat) > 0.01  # negative control: equal weights give another limit


def test_the_standard_error_of_the_limit_is_the_scatter_of_repeated_fits():
    rng, d, spreads = np.random.default_rng(1), np.array([40.0, 60.0, 90.0]), np.array([0.03, 0.02, 0.01])
    limits = [
        fit_limit(
            d, [0.5 + 2.0 / size + spread * rng.standard_normal(5) for size, spread in zip(d, spreads, strict=True)]
        )
        for _ in range(1000)
    ]
    a, errors = np.array([limit.a for limit in limits]), np.array([limit.a_error for limit in limits])
    assert abs(a.mean() - 0.5) < 5 * a.std() / sqrt(1000)
    # Variances are estimated without bias. Five standard errors of a deviation from 1000 draws: 11 %.
    assert a.std() == pytest.approx(sqrt(np.mean(errors**2)), rel=0.11)


def test_a_single_dimension_is_its_own_limit():
    limit = fit_limit(np.array([80.0]), around([0.3], [0.04], [4]))
    np.testing.assert_allclose(limit, [0.3, 0.02, 0.0, 3.0, 1.0], rtol=1e-12)


def test_an_observable_that_does_not_vary_has_an_exact_limit():
    d = np.array([50.0, 100.0])
    limit = fit_limit(d, [np.full(3, 0.5 + 2.0 / size) for size in d])
    np.testing.assert_allclose(limit[:3], [0.5, 0.0, 2.0], rtol=0, atol=1e-9)
    assert np.isfinite(limit).all()
    assert np.isfinite(fit_limit(d, [np.ones(3), np.array([0.9, 1.0, 1.1])])).all()


def test_the_normal_score_is_as_rare_as_students_t():
    for t, freedom in ((2.0, 7.0), (-3.5, 2.0), (0.4, 1.0), (5.0, 40.0)):
        z = normal_score(t, freedom)
        assert stats.norm.sf(abs(z)) == pytest.approx(stats.t.sf(abs(t), freedom), rel=1e-9)
        assert 0 < z / t < 1  # few seeds make any distance less remarkable
    assert normal_score(0.0, 3.0) == pytest.approx(0.0, abs=1e-15)
    assert normal_score(2.0, 1e9) == pytest.approx(2.0, rel=1e-6)
    assert normal_score(-1e12, 500.0) < -30


# --- verdicts


def test_networks_around_the_prediction_agree_with_it():
    compared = compare(solution(), ensemble(60), ensemble(120))
    assert isinstance(compared, Comparison)
    assert compared.agrees
    assert [row.name for row in compared.rows] == list(OBSERVABLES)
    for row in compared.rows:
        assert row.d == (60, 120)
        assert row.prediction == getattr(solution(), row.name)
        assert row.error_bar == solution().error_bars[row.name]
        assert row.agrees
        assert abs(row.z) < 3


def test_a_finite_size_effect_is_taken_off():
    compared = compare(solution(), ensemble(60, slope=6.0), ensemble(120, slope=6.0), ensemble(90, slope=6.0))
    assert compared.agrees
    for row in compared.rows:
        assert row.d == (60, 90, 120)
        assert row.a == pytest.approx(row.prediction, abs=1e-9)
        assert row.b == pytest.approx(6.0, abs=1e-6)
    alone = compare(solution(), ensemble(120, slope=6.0))
    assert not any(row.agrees for row in alone.rows)  # negative control: one d cannot tell


@pytest.mark.parametrize("sizes", [(100,), (60, 120)])
def test_networks_ten_standard_errors_off_do_not_agree(sizes):
    for shift in (10.0, -10.0):
        compared = compare(solution(), *(ensemble(d, shift=shift) for d in sizes))
        assert not compared.agrees
        for row in compared.rows:
            assert not row.agrees
            assert row.z * shift > 0
    mild = compare(solution(), *(ensemble(d, shift=1.0) for d in sizes))
    assert all(row.agrees for row in mild.rows)  # negative control


def test_z_is_the_distance_over_both_uncertainties():
    measured = ensemble(100, shift=2.0)
    row = compare(solution(), measured)["test_error"]
    assert row.mean[0] == pytest.approx(measured.mean("test_error"), rel=1e-14)
    assert row.standard_error[0] == pytest.approx(measured.standard_error("test_error"), rel=1e-12)
    assert row.a_error == pytest.approx(1e-3 / sqrt(8), rel=1e-9)
    assert row.z == pytest.approx(normal_score(2.0, 7.0), rel=1e-4)
    bars = dict.fromkeys(solution().bars, 2 * row.a_error)  # half width of 95 %: two standard errors
    unsure = replace(solution(), bars=bars)
    assert compare(unsure, measured)["test_error"].z == pytest.approx(normal_score(sqrt(2), 7.0), rel=1e-4)


@pytest.mark.parametrize(("sizes", "count"), [((100,), 2), ((100,), 8), ((60, 120), 3), ((60, 90, 120), 6)])
def test_z_of_honest_networks_scatters_like_a_gaussian(sizes, count):
    """Values drawn freely around a + b/d: 5 % beyond two, as few beyond three as the normal law has, for few seeds."""
    rng, draws = np.random.default_rng(2), 1500
    bases, z = [ensemble(d, count) for d in sizes], np.empty(draws)
    for i in range(draws):
        groups = {}
        for base in bases:
            slope = 0.3 / base.d if len(sizes) > 1 else 0.0
            values = solution().test_error + slope + rng.standard_normal(count) / base.d
            groups[base.d] = [replace(base, test_error=values)]
        z[i] = _row(Observable("test_error", "test error"), solution(), groups).z
    assert abs(z.mean()) < 5 / sqrt(draws)
    # The degrees of freedom of Welch and Satterthwaite are an approximation, on the safe side for few seeds: the
    # share beyond two is 0.0455 within five standard errors from above, and not a half of it from below.
    error = sqrt(0.0455 / draws)
    assert 0.5 * 0.0455 < np.mean(np.abs(z) > 2) < 0.0455 + 5 * error
    assert np.mean(np.abs(z) > 3) < 0.0027 + 5 * sqrt(0.0027 / draws)


def test_equal_ranks_of_a_few_networks_are_no_certainty():
    """A rank is a multiple of 1/d: two networks with the one nearest to the prediction agree with it."""
    nearest = round(solution().rank * 100) / 100
    assert 0 < abs(nearest - solution().rank) <= 0.005
    alike = replace(ensemble(100, count=2), rank=np.full(2, nearest))
    assert compare(solution(), alike)["rank"].agrees
    far = replace(ensemble(100, count=4), rank=np.full(4, nearest + 0.2))
    assert not compare(solution(), far)["rank"].agrees  # negative control


def test_ensembles_of_one_dimension_are_pooled():
    first, second = ensemble(100, count=4, seed=1, shift=3.0), ensemble(100, count=6, seed=2)
    row = compare(solution(), first, second)["train_loss"]
    pooled = np.concatenate([first.train_loss, second.train_loss])
    assert row.d == (100,)
    assert row.a == pytest.approx(pooled.mean(), rel=1e-14)
    assert row.a_error == pytest.approx(pooled.std(ddof=1) / sqrt(10), rel=1e-12)
    assert len(compare(solution(), first, second).spectra) == 1
    mixed = compare(solution(), ensemble(120), first, second)["train_loss"]
    assert mixed.d == (100, 120)
    assert mixed.mean[0] == pytest.approx(pooled.mean(), rel=1e-14)


def test_failed_seeds_are_left_out_and_said():
    whole = ensemble(100, count=8)
    holes = {name: getattr(whole, name).copy() for name in (*OBSERVABLES, "eigenvalues")}
    for values in holes.values():
        values[[2, 5]] = np.nan
    broken = replace(whole, failures={2: "it diverged", 5: "no memory"}, **holes)
    compared = compare(solution(), broken)
    kept = np.delete(whole.test_error, [2, 5])
    assert compared["test_error"].a == pytest.approx(kept.mean(), rel=1e-14)
    assert compared["test_error"].a_error == pytest.approx(kept.std(ddof=1) / sqrt(6), rel=1e-12)
    assert np.isfinite(compared.spectra[0].wasserstein)
    assert "d = 100: seed 2 failed: it diverged" in compared.caveats
    assert "caveat: d = 100: seed 5 failed: no memory" in str(compared)


def test_one_dimension_has_a_caveat_and_two_have_not():
    caveat = "a single d cannot tell a difference from a finite-size effect: add an ensemble of another d."
    assert caveat in compare(solution(), ensemble(100)).caveats
    assert caveat in compare(solution(), ensemble(100, seed=1), ensemble(100, seed=2)).caveats
    assert compare(solution(), ensemble(60), ensemble(120)).caveats == ()
    noted = replace(solution(), notes=("the theory has doubts.",))
    assert "the theory has doubts." in compare(noted, ensemble(60), ensemble(120)).caveats


def test_sentences_say_the_numbers_and_the_verdict():
    row = compare(solution(), ensemble(60), ensemble(120))["test_error"]
    for number in (f"{row.prediction:.6g}", f"{row.a:.6g}", f"{row.a_error:.1e}", f"z = {row.z:+.1f}", "60 and 120"):
        assert number in row.sentence
    assert row.sentence.startswith("test_error: predicted")
    assert "extrapolate to" in row.sentence
    assert row.sentence.endswith("they agree.")
    off = compare(solution(), ensemble(100, shift=10.0))
    assert "networks of d = 100 show" in off["rank"].sentence
    assert "they do not agree" in off["rank"].sentence
    text = str(off)
    for sentence in [row.sentence for row in off.rows] + [spectrum.sentence for spectrum in off.spectra]:
        assert sentence in text
    spectrum = off.spectra[0]
    for number in (
        f"{spectrum.wasserstein:.3g}",
        f"{spectrum.kolmogorov_smirnov:.3g}",
        f"{spectrum.zero:.4g}",
        "d = 100",
    ):
        assert number in spectrum.sentence
    with pytest.raises(KeyError, match="'loss' is not among test_error, train_loss"):
        off["loss"]


# --- spectra


def test_eigenvalues_of_the_predicted_law_are_near_it():
    """Eigenvalues of a matrix stick to their quantiles to 1/d or so; 8 x 200 independent draws would be off by 0.03."""
    (spectrum,) = compare(solution(), ensemble(200)).spectra
    assert spectrum.d == 200
    assert 0 < spectrum.wasserstein < 0.02
    assert 0 < spectrum.kolmogorov_smirnov < 0.03
    assert spectrum.zero_predicted == pytest.approx(1 - solution().rank, rel=1e-14)
    assert spectrum.zero == pytest.approx(spectrum.zero_predicted, abs=0.01)
    assert spectrum.zero_error < 0.01


def test_eigenvalues_of_a_scaled_law_are_far_from_it():
    """A factor 1.2 moves each eigenvalue by a fifth of itself: the mean distance is a fifth of their mean."""
    (spectrum,) = compare(solution(), ensemble(200, size=1.2)).spectra
    law = solution().spectrum
    assert spectrum.wasserstein == pytest.approx(0.2 * law.mean / solution().rank, rel=0.05)
    assert spectrum.kolmogorov_smirnov > 0.05


def test_the_distance_of_spectra_is_that_of_independent_formulas():
    """Mean distance of ordered numbers, and scipy's test, on the non-zero part alone."""
    measured = ensemble(50, count=3, size=1.1)
    (spectrum,) = compare(solution(), measured).spectra
    law, rank = untyped(solution().spectrum), solution().rank
    kept = measured.eigenvalues[measured.eigenvalues > 0]
    levels = (np.arange(2000) + 0.5) / 2000
    predicted = law.quantile(1 - rank + rank * levels)
    # The quantiles of a sample are interpolated between its points: 1/80 of a spread of order one.
    assert spectrum.wasserstein == pytest.approx(stats.wasserstein_distance(kept, predicted), abs=0.02)
    expected = stats.kstest(kept, lambda x: (law.cdf(x) - (1 - rank)) / rank).statistic
    assert spectrum.kolmogorov_smirnov == pytest.approx(expected, abs=1e-9)


def test_small_eigenvalues_beyond_the_rank_are_zeros():
    """Gradients leave 1e-8 where the minimum has zero: the rank says how many count."""
    measured = ensemble(100)
    smeared = replace(measured, eigenvalues=np.maximum(measured.eigenvalues, 1e-8))
    assert compare(solution(), smeared).spectra == compare(solution(), measured).spectra


def test_spectra_of_each_dimension_come_in_order():
    assert [spectrum.d for spectrum in compare(solution(), ensemble(120), ensemble(60)).spectra] == [60, 120]


# --- the two witnesses together


def test_trained_networks_and_prediction_meet():
    """Small networks: what is left after a + b/d is 1/d^2, below the standard errors of so few."""
    small = [simulate(PROBLEM, d=d, seeds=6, trainer=ProximalGradient(), n_test=2000, processes=1) for d in (20, 30)]
    compared = compare(solution(), *small)
    assert all(abs(row.z) < 5 for row in compared.rows), str(compared)
    # Negative control: the prediction for twice the data is far away from these networks.
    elsewhere = replace(solve(PROBLEM.replace(alpha=1.0)), problem=PROBLEM)
    assert not compare(elsewhere, *small).agrees


def test_a_ridge_has_no_zeros_and_is_compared_as_well():
    problem = unfactorized_attention(MarchenkoPastur(0.5), alpha=0.5, ridge=0.1, noise=0.2)
    prediction = solve(problem)
    compared = compare(prediction, *(simulate(problem, d=d, seeds=3, n_test=500, processes=1) for d in (10, 14)))
    assert compared["rank"].a == pytest.approx(1.0, abs=1e-12)
    assert compared["rank"].agrees
    for spectrum in compared.spectra:
        assert (spectrum.zero, spectrum.zero_error) == (0.0, 0.0)
        assert 0 < spectrum.wasserstein < 0.3


@pytest.mark.parametrize("sizes", [(10,), (10, 14)])
def test_networks_that_learn_nothing_are_compared_as_well(sizes):
    """So much weight decay that S is zero: rank 0 on both sides agrees, and there is no spectrum to compare."""
    problem = quadratic_network(MarchenkoPastur(0.5), alpha=0.5, weight_decay=1e3, noise=0.2)
    trained = [simulate(problem, d=d, seeds=3, trainer=ProximalGradient(), n_test=500, processes=1) for d in sizes]
    assert all((one.rank == 0).all() for one in trained)
    compared = compare(solve(problem), *trained)
    assert compared["rank"].agrees
    assert compared["estimation_error"].prediction == pytest.approx(1.5, rel=1e-6)
    for spectrum in compared.spectra:
        assert (spectrum.zero, spectrum.zero_predicted) == (1.0, 1.0)
        assert np.isnan(spectrum.wasserstein)
    assert "rank" in str(compared)


# --- bad input


def test_what_cannot_be_compared_is_refused_in_words():
    good = ensemble(100)
    with pytest.raises(ValueError, match=r"`ensembles` must be given: there is nothing to compare with"):
        compare(solution())
    with pytest.raises(
        ValueError, match=r"(?s)`solution` must be a Prediction: it is the prediction.*Pass solve\(problem\)"
    ):
        compare(untyped(good), good)
    with pytest.raises(ValueError, match=r"`solution` must be a Prediction"):
        compare(untyped(PROBLEM), good)
    with pytest.raises(ValueError, match=r"`ensembles` must be a Ensemble: they are trained networks"):
        compare(solution(), untyped(0.3))
    other = ensemble(100, problem=PROBLEM.replace(alpha=0.6))
    with pytest.raises(ValueError, match=r"`ensembles` must have the problem of the solution.*alpha=0\.6"):
        compare(solution(), good, other)
    with pytest.raises(ValueError, match=r"`ensembles` must have at least two networks each.*1 at d = 100"):
        compare(solution(), simulated_alone())
    failed = replace(good, failures=dict.fromkeys(range(7), "no"))
    with pytest.raises(ValueError, match=r"`ensembles` must have at least two networks each.*Use more seeds"):
        compare(solution(), failed)


def simulated_alone() -> Networks:
    one = ensemble(100, count=2)
    arrays = {name: getattr(one, name)[:1] for name in (*OBSERVABLES, "eigenvalues")}
    return replace(one, seeds=(0,), **arrays)


# --- what cannot be compared


def test_the_same_networks_twice_are_refused():
    once = ensemble(100)
    with pytest.raises(ValueError, match=r"`ensembles` must have different seeds.*Use other seeds"):
        compare(solution(), once, once)


def test_networks_of_different_kinds_are_refused():
    other = replace(ensemble(60, seed=3), tokens=Rademacher())
    with pytest.raises(ValueError, match=r"`ensembles` must be of one kind.*one kind at a time"):
        compare(solution(), ensemble(100), other)
    alone = compare(solution(), other)
    assert any("saw Rademacher tokens, and the prediction is for Gaussian ones" in line for line in alone.caveats)


def test_a_prediction_without_an_error_bar_agrees_with_nothing():
    unknown = replace(solution(), bars=dict.fromkeys(solution().bars, np.inf))
    row = compare(unknown, ensemble(100))["test_error"]
    assert np.isnan(row.z)
    assert not row.agrees
    assert "cannot be compared" in row.sentence


def test_sizes_that_do_not_lie_on_a_line_in_1_over_d_are_said():
    def bent(d, curve):
        straight = ensemble(d, slope=6.0)
        return replace(straight, test_error=straight.test_error + curve / d**2)

    def caveats(curve):
        return " ".join(compare(solution(), *(bent(d, curve) for d in (20, 40, 80))).caveats)

    assert "a + b/d does not describe the test_error of these sizes" in caveats(100.0)
    assert "does not describe" not in caveats(0.0)


def test_the_verdict_is_one_word_for_every_view():
    found = compare(solution(), ensemble(100), ensemble(200))
    near, far, lost = (found.rows[0]._replace(name=name, z=z) for name, z in (("a", 1.0), ("b", 9.0), ("c", np.nan)))
    assert [row.verdict for row in (near, far, lost)] == ["agree", "differ", "unknown"]
    assert repr(replace(found, rows=(near,))).endswith(": all agree>")
    assert repr(replace(found, rows=(near, far))).endswith(": b differ>")
    assert repr(replace(found, rows=(near, lost))).endswith(": c unknown>")
    assert repr(replace(found, rows=(near, far, lost))).endswith(": b differ; c unknown>")


def test_a_comparison_is_one_table_for_every_view():
    both = compare(solution(), ensemble(100), ensemble(200))
    assert [*headings(both)] == [*compared(both)[0]]
    assert [*headings(both).values()][2:5] == ["d = 100", "d = 200", "d → ∞"]
    alone = compare(solution(), ensemble(100))
    assert [*headings(alone).values()] == ["observable", "predicted", "trained", "z", "verdict"]
    row = compared(alone)[0]
    assert row["limit"] == (alone.rows[0].a, alone.rows[0].a_error)
    assert row["d_100"] == pytest.approx(row["limit"])
    page = alone._repr_html_()
    assert all(f">{title}<" in page for title in headings(alone).values())
    assert "d = 100</th>" not in page
