"""Thresholds and the best of all methods: bilinear regression, counted in what rows show."""

from __future__ import annotations

from dataclasses import replace

import pytest

import presage as ps
from presage.models.untied import bayes
from tests.models.untied.problems import HALF, LOW, cross, itself


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, 2),
        ({"n_tokens": 3, "n_keys": 4}, 9),
        ({"n_tokens": 4, "mask": "off-diagonal"}, 8),
        ({"n_tokens": 5, "mask": "causal"}, 6),
        ({"output": "linear"}, 4),
        ({"n_tokens": 4, "mask": "causal", "output": "linear"}, 6),
    ],
)
def test_thresholds_count_what_rows_show(changes, shown):
    found = ps.thresholds(cross(target=LOW, noise=0.0, **changes))
    regression = ps.thresholds(ps.bilinear_regression(LOW, alpha=1.0))
    for name in ("strong_recovery", "weak_recovery", "minimal_nuclear_norm"):
        assert getattr(found, name) == pytest.approx(getattr(regression, name) / shown)


def test_the_limit_of_no_weight_decay_finds_the_target_there():
    problem = cross(target=LOW, noise=0.0, weight_decay=0.0)
    at = ps.thresholds(problem).minimal_nuclear_norm
    assert at == pytest.approx(0.57169 / 2.0, abs=1e-5)
    assert ps.solve(problem.replace(alpha=1.001 * at)).estimation_error == 0.0
    assert 0.0 < ps.solve(problem.replace(alpha=0.999 * at)).estimation_error < 1e-3


def test_bayes_is_that_of_bilinear_regression():
    found = ps.bayes_optimal(cross(n_tokens=4, mask="causal", alpha=0.1))
    regression = ps.bayes_optimal(ps.bilinear_regression(HALF, alpha=0.3, noise=0.25))
    assert (found.mmse, found.delta) == pytest.approx((regression.mmse, regression.delta), rel=1e-12)
    assert 1.0 / found.q_hat == pytest.approx(found.delta**2)
    assert found.denoiser.mmse(found.delta) == pytest.approx(found.mmse, rel=1e-9)


@pytest.mark.parametrize("changes", [{}, pytest.param({"n_keys": 3}, marks=pytest.mark.slow), {"output": "linear"}])
def test_the_best_prediction_is_better_than_a_trained_one(changes):
    problem = cross(**changes)
    best, trained = ps.bayes_optimal(problem), ps.solve(problem)
    assert best.mmse < trained.estimation_error
    assert best.test_error < trained.test_error - best.error_bars["test_error"]
    everything = ps.bayes_optimal(problem.replace(alpha=1e5))
    noise = ps.bayes_optimal(problem.replace(alpha=1e-8))
    assert everything.test_error < best.test_error < noise.test_error


def test_the_best_prediction_is_as_uncertain_as_the_matrix(monkeypatch):
    # With an error of the mmse that is made large, the test errors at both ends of its bar are within theirs.
    problem, plain = cross(), ps.bayes_optimal(cross())
    bar = 0.01

    def rough(regression):
        found = ps.bayes_optimal(regression)
        return replace(found, bars=found.bars | {"mmse": bar})

    monkeypatch.setattr(bayes, "bilinear_bayes", rough)
    found = ps.bayes_optimal(problem)
    assert found.test_error == plain.test_error
    for off in (-bar, bar):
        moved = abs(bayes.best_prediction(problem, plain.mmse + off)[0] - plain.test_error)
        assert found.error_bars["test_error"] == pytest.approx(moved, rel=0.1)
    assert found.error_bars["test_error"] > 1e3 * plain.error_bars["test_error"]


def test_a_token_that_looks_at_itself_has_no_thresholds():
    for verb in (ps.thresholds, ps.bayes_optimal):
        with pytest.raises(ps.InputError, match='`mask` must not be "self"'):
            verb(itself())


def test_caveats_say_what_is_for_clean_labels_and_for_weight_decay():
    found = ps.thresholds(cross(penalty="frobenius"))
    assert [line.split(":")[0] for line in found.caveats] == [
        "strong_recovery and minimal_nuclear_norm are for clean labels",
        "minimal_nuclear_norm is for weight decay",
        "weak recovery is for low rank",
    ]
