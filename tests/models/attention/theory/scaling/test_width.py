"""Width of a student whose target is a power law: best width, saturation, and what tuning it can do."""

from __future__ import annotations

from functools import cache, partial
from math import inf, sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.rank_limited import best_cutoff, cutoff_of_penalty, solve_rank_limited
from presage.models.attention.theory.scaling.constants import C_j, C_w
from presage.models.attention.theory.scaling.tuned import power_law_network
from presage.models.attention.theory.scaling.width import features_that_pay, least, width_laws, width_limited_error
from presage.spectra.symmetric.functionals import functionals


def network(gamma: float, d: int, n: float, weight_decay: float, noise: float) -> ps.Problem:
    return ps.quadratic_network(ps.PowerLaw(gamma, d), alpha=n / d**2, weight_decay=weight_decay, noise=noise)


PRINTED = network(1.25, 400, 160_000, 0.1, 0.1)


@cache
def best(problem: ps.Problem) -> ps.WidthScaling:
    return ps.best_width(problem)


def narrow(problem: ps.Problem, p: int) -> ps.Problem:
    """As much penalty on S, whatever the width: weight_decay = lambda~/sqrt(kappa)."""
    kappa = p / problem.target.d  # type: ignore[attr-defined]
    return problem.replace(kappa=kappa, weight_decay=problem.penalty.weight_decay / sqrt(kappa))  # type: ignore[attr-defined]


def test_check_value_15():
    s = ps.solve(narrow(PRINTED, 26))
    assert s.estimation_error == pytest.approx(0.00788236758, abs=6e-12)
    assert (s.delta, s.cutoff) == pytest.approx((0.170121086, 0.0269666129), rel=5e-9)
    wide = ps.solve(PRINTED)
    assert wide.estimation_error == pytest.approx(0.01438956849, abs=6e-12)
    laws = width_laws(PRINTED, wide)
    assert laws.saturation == pytest.approx(213.03126, abs=6e-6)
    assert laws.formula.width == 26


def test_nothing_changes_beyond_the_saturation():
    wide = ps.solve(PRINTED)
    for p in (214, 300):
        assert ps.solve(narrow(PRINTED, p)).estimation_error == pytest.approx(wide.estimation_error, rel=1e-9)
    assert ps.solve(narrow(PRINTED, 200)).estimation_error != pytest.approx(wide.estimation_error, rel=1e-4)


@pytest.mark.parametrize(
    ("problem", "width", "formula"),
    [
        (PRINTED, 26, 26),
        (network(1.25, 1000, 4e6, 0.01, 0.5), 35, 36),
        (network(2.0, 1000, 4e6, 0.01, 0.5), 9, 9),
        (network(1.25, 1000, 1e5, 0.05, 0.5), 7, 7),
    ],
    ids=["printed", "g = 1.25", "g = 2", "with a peak"],
)
def test_best_widths_that_were_seen(problem, width, formula):
    found = best(problem)
    assert found.best_width == width
    assert found.laws.formula.width == formula
    assert found.laws.formula.error == pytest.approx(found.estimation_error, rel=0.035)
    at_it = ps.solve(found.best_problem)
    assert at_it.estimation_error == pytest.approx(found.estimation_error, rel=1e-8)
    for p in (width - 1, width + 1):
        assert ps.solve(narrow(problem, p)).estimation_error > found.estimation_error
    assert found.bayes_error < found.both_error <= min(found.estimation_error, found.tuned_error)
    assert found.estimation_error < 0.7 * found.wide_error
    assert any("[GTXEKZ26]" in line for line in found.caveats)
    # Control: a count of all features that are learned, not of those that pay, is too many.
    learned = features_that_pay(power_law_network(problem), at_it.delta / sqrt(3.0), 0.0)
    assert learned > 1.15 * width


def test_the_formula_holds_where_a_wide_student_is_at_its_peak():
    """There the noise level of a wide student says nothing about that of a narrow one: its count is too small."""
    problem = network(1.5, 150, 0.3 * 150**2, 0.01, 0.5)
    wide, found = ps.solve(problem), best(problem)
    assert found.best_width == found.laws.formula.width == 4
    assert wide.estimation_error > 15 * found.estimation_error
    assert features_that_pay(power_law_network(problem), wide.delta, wide.cutoff / wide.delta) == 2  # control


def test_between_best_width_and_saturation_the_error_may_pass_a_peak():
    problem = network(1.25, 1000, 1e5, 0.05, 0.5)
    errors = {p: ps.solve(narrow(problem, p)).estimation_error for p in (8, 60)}
    assert (errors[8], errors[60]) == pytest.approx((0.047, 0.50), abs=1.5e-3)
    found = best(problem)
    assert found.wide_error == pytest.approx(0.194, abs=5e-4)
    assert found.saturation == pytest.approx(244, abs=0.5)
    assert max(error for _, error in found.curve) > 1.5 * found.wide_error  # the scan has seen the peak


def test_eigenvalues_that_fall_slowly_want_every_unit():
    """For g = .75 the bulk carries signal: the error falls up to the saturation, and the formula is wrong."""
    found = best(network(0.75, 200, 160_000, 0.01, 0.5))
    assert found.best_width == np.ceil(found.saturation)
    assert found.estimation_error == found.wide_error
    assert found.laws.formula.width < 0.5 * found.best_width
    assert any("the formula of the best width" in line and "gamma above 1" in line for line in found.caveats)
    assert any("no width does better than a wide student" in line for line in found.caveats)
    assert any("the best weight decay does better than the best width" in line for line in found.caveats)
    errors = [error for p, error in found.curve if p > 10]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("p", [5, 12, 40])
def test_no_other_weight_decay_does_better_at_a_width(p):
    """The cutoff that is best at every noise level gives the weight decay that is best at a width."""
    problem = network(1.25, 200, 40_000, 0.1, 0.5)
    point = solve_rank_limited(problem.target, 0.5, 1.0, p / 200, best_cutoff, start=0.5)
    f = point.functionals
    strength = 4.0 * f.c * (1.0 - f.I)
    errors = [
        ps.solve(narrow(problem.replace(weight_decay=factor * strength), p)).estimation_error
        for factor in (1.0, 0.9, 1.1, 1.4)
    ]
    assert errors[0] == pytest.approx(f.risk, rel=1e-9)
    assert all(other > errors[0] * (1.0 + 1e-6) for other in errors[1:])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gamma", "ratios"), [(2.0, (1.752, 1.146, 1.082)), (1.25, (1.417, 1.272, 1.174))], ids=["g = 2", "g = 1.25"]
)
def test_tuned_width_beats_tuned_weight_decay(gamma, ratios):
    """Over the best of all methods, n/d = 1e5, d = 1e4; of width alone as the weight decay vanishes."""
    found = ps.best_width(network(gamma, 10_000, 1e9, 1e-4, 0.5))
    assert tuple(found.ratios.values()) == pytest.approx(ratios, abs=6e-4)
    limits = {2.0: (2.0, 1.140, 1.079), 1.25: (5 / 3, 1.160, 1.071)}[gamma]
    assert tuple(found.ratio_limits.values()) == pytest.approx(limits, abs=6e-4)
    assert found.laws.best == pytest.approx(found.estimation_error, rel=0.02)
    assert found.laws.both == pytest.approx(found.both_error, rel=0.02)
    assert found.laws.best / found.laws.both == pytest.approx(C_w(gamma) / C_j(gamma), rel=0.01)


def test_tuned_width_beats_tuned_weight_decay_where_few_features_are_learned():
    found = best(network(2.0, 1000, 4e6, 0.01, 0.5))
    ratios = found.ratios
    assert 1.0 < ratios["both"] < ratios["width"] < ratios["weight_decay"]
    assert not any("does better than the best width" in line for line in found.caveats)
    crowded = best(PRINTED)  # 30 of 400 features: the two change places
    assert crowded.ratios["weight_decay"] < crowded.ratios["width"]
    assert any("does better than the best width" in line for line in crowded.caveats)


def test_width_limited_error_is_a_power():
    problem = network(1.25, 2000, 1e6, 0.1, 0.5)
    squares = np.arange(1, 2001) ** -2.5
    for p in (0, 1, 30):
        assert width_limited_error(problem, p) == pytest.approx(squares[p:].sum() / squares.sum(), rel=1e-12)
    assert width_limited_error(problem, 2000) == 0.0
    leading = 30.5**-1.5 / (1.5 * squares.sum())
    assert width_limited_error(problem, 30) == pytest.approx(leading, rel=0.01)
    # With data without end the error at a width is this.
    rich = network(1.25, 200, 4e9, 0.1, 0.01)
    assert ps.solve(narrow(rich, 5)).estimation_error == pytest.approx(width_limited_error(rich, 5), rel=1e-3)


@pytest.mark.slow
def test_trained_networks_have_the_best_width_that_is_predicted():
    """Three widths at d = 100: narrower and wider than the best one do worse by what is predicted."""
    problem = network(1.25, 100, 10_000, 0.05, 0.3)
    found = best(problem)
    widths = (max(found.best_width // 3, 1), found.best_width, 60)
    predicted = [ps.solve(narrow(problem, p)).estimation_error for p in widths]
    trained = [
        ps.simulate(narrow(problem, p), d=100, seeds=2, trainer=ps.LBFGS(tol=1e-4), processes=1, n_test=100)
        for p in widths
    ]
    errors = [float(np.mean(networks.estimation_error)) for networks in trained]
    assert errors == pytest.approx(predicted, rel=0.1)
    assert min(predicted[0], predicted[2]) > 1.4 * predicted[1]  # control: the three can be told apart


def test_the_least_of_an_integer_function_is_found():
    """Two basins; the better one is between two widths of the first scan."""
    values = {p: (p - 37) ** 2 / 100.0 + (inf if p in (50,) else 0.0) for p in range(1, 101)}
    asked = []

    def error(p):
        asked.append(p)
        return values[p]

    assert least(error, (1, 3, 10, 32, 100)) == 37
    assert len(asked) < 20


def test_a_cutoff_without_penalty_is_that_of_interpolation():
    """Where a narrow student would fit every label, vanishing weight decay leaves a positive cutoff."""
    law = ps.PowerLaw(1.25, 100)
    f = functionals(law, 1.0, 0.5)
    for alpha in (0.05, 2.0):
        assert cutoff_of_penalty(f, alpha, 0.0) == pytest.approx(cutoff_of_penalty(f, alpha, 1e-9), abs=1e-7)
    assert cutoff_of_penalty(f, 2.0, 0.0) == 0.0
    assert cutoff_of_penalty(f, 0.05, 0.0) > 0.0
    assert partial(cutoff_of_penalty, f, 0.05)(0.3) > cutoff_of_penalty(f, 0.05, 0.0)


def test_shown_saved_and_refused(tmp_path):
    found = best(PRINTED)
    assert "best_width        26" in str(found)
    assert "estimation_error=0.00788" in repr(found)
    assert found.as_dict()["observables"]["best_width"] == 26
    found.save(tmp_path / "width.json")
    assert ps.load(tmp_path / "width.json") == found
    with pytest.raises(ValueError, match="`weight_decay` must be above 0 here"):
        ps.best_width(PRINTED.replace(weight_decay=0.0))
    with pytest.raises(ps.InputError, match="`problem` must be a Problem"):
        ps.best_width(ps.solve(PRINTED))
    with pytest.raises(ValueError, match="`target` must be a PowerLaw"):
        ps.best_width(PRINTED.replace(target=ps.MarchenkoPastur(0.5)))
