"""Outliers and overlaps: limits, identities, published numbers, negative controls."""

from __future__ import annotations

import pickle
from math import sqrt

import numpy as np
import pytest
from scipy.integrate import quad

import presage as ps
from presage.models.compositional.problem import coordinates
from presage.models.compositional.theory.moments import bounded_law, large_labels, law_of, moments, used_labels
from presage.models.compositional.theory.outliers import (
    bounded_outliers,
    bulk_map,
    bulk_slope,
    overlap_of_weak_labels,
    room_of_sample_sizes,
    row_map,
    row_slope,
    sample_sizes,
)
from presage.spectra.labels import Labels
from presage.spectra.spiked import spectral_threshold

SIX = ps.compositional(alpha=1e5 / 666, features=6, decay=0.5)


def test_the_published_overlaps():
    """[WTDKL26]: D = 666, six features, g = 1/2, n = 100,000, to the digits that are printed."""
    assert ps.solve(SIX).overlaps == pytest.approx([0.979, 0.970, 0.962, 0.954, 0.946, 0.938], abs=1.1e-3)


@pytest.mark.parametrize("decay", [0.0, 0.4, 1.0])
def test_overlap_has_both_published_limits(decay):
    """``1 - n_i/n`` for weak features, and ``1 - D (1 + 4 lam^2)/(2 n lam^2)`` well above the threshold."""
    lam = ps.compositional(alpha=1.0, features=5, decay=decay).strengths
    for alpha in (1e4, 1e5, 1e6):
        found = ps.solve(ps.compositional(alpha=alpha, features=5, decay=decay)).overlaps
        assert 1 - found == pytest.approx((1 + 4 * lam**2) / (2 * alpha * lam**2), rel=60 / alpha / lam.min() ** 2)
    weak = ps.compositional(alpha=1.0, features=20_000, decay=0.0)
    threshold = ps.thresholds(weak).first_feature
    for factor in (1.01, 1.5, 5.0):
        overlap = ps.solve(weak.replace(alpha=factor * threshold)).first_overlap
        assert overlap == pytest.approx(1 - 1 / factor, abs=3e-4)


def test_overlap_falls_to_zero_at_the_threshold():
    x = np.array([0.9, 0.999, 1.0, 1.1, np.inf])
    found = overlap_of_weak_labels(x, np.full(5, 2.0))
    assert np.all(np.diff(found) <= 0)
    assert found[2:].tolist() == [0.0, 0.0, 0.0]
    assert found[1] == pytest.approx(0.001 / 1.999)


def test_nothing_stands_out_below_its_threshold():
    problem = ps.compositional(alpha=1.0, features=4, decay=1.0)
    each = ps.thresholds(problem).each
    assert each == pytest.approx(1 / (2 * problem.strengths**2))
    for number in range(4):
        above, below = (ps.solve(problem.replace(alpha=factor * each[number])) for factor in (1.001, 0.999))
        assert (above.learned, below.learned) == (number + 1, number)
        assert below.overlaps[number] == 0.0
        assert abs(below.eigenvalues[number]) == pytest.approx(below.edges[1])
    nothing = ps.solve(problem.replace(alpha=0.9 * each[0]))
    assert (nothing.test_error, nothing.outliers) == (1.0, ())


def test_a_wrong_factor_in_the_signal_is_found_out():
    """theta_i = sqrt2 lam_i, beside a direct mean over draws; lam_i and 2 lam_i are many standard errors away."""
    problem = ps.compositional(alpha=1.0, features=3, decay=0.5)
    h = np.random.default_rng(0).standard_normal((200_000, 3))
    y = (h**2 - 1) @ problem.strengths / sqrt(2)
    draws = y[:, None] * (h**2 - 1)
    error = draws.std(axis=0) / sqrt(len(h))
    for factor, right in ((1.0, True), (sqrt(0.5), False), (sqrt(2.0), False)):
        away = np.abs(draws.mean(axis=0) - factor * moments(problem).signal) / error
        assert bool(np.all(away < 4)) == right, factor
        assert right or np.all(away > 20)


def test_bulk_is_a_semicircle():
    solution = ps.solve(SIX)
    assert isinstance(solution.spectrum, ps.Semicircle)
    assert solution.spectrum.variance == pytest.approx(1 / SIX.alpha)
    assert solution.edges == pytest.approx((-2 / sqrt(SIX.alpha), 2 / sqrt(SIX.alpha)))
    assert all(abs(at) > solution.edges[1] for at in solution.outliers)
    assert len(solution.outliers) == 6
    assert sum(at < 0 for at in solution.outliers) == 3


# Bounded labels


def test_slopes_are_derivatives():
    problem = ps.compositional(alpha=8.0, features=3, decay=0.5, clip=2.0)
    law = law_of(problem)
    used, g, step = used_labels(problem, law)[1], 1.3, 1e-5
    ends = [float(bulk_map(np.array(g + s), used, law.mass, 8.0)) for s in (-step, step)]
    assert float(bulk_slope(np.array(g), used, law.mass, 8.0)) == pytest.approx(
        (ends[1] - ends[0]) / (2 * step), rel=1e-7
    )
    for weighted in law.weighted:
        ends = [row_map(g + s, used, weighted, 8.0) for s in (-step, step)]
        assert row_slope(g, used, weighted, 8.0) == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-7)


def test_bounded_labels_tend_to_weak_ones():
    """With many samples the exact equations give the semicircle and its outliers, up to a part of order D/n."""
    for alpha, close in ((1e3, 6e-3), (1e5, 6e-5)):
        exact = ps.solve(ps.compositional(alpha=alpha, features=4, decay=0.5, clip=2.0))
        found = moments(exact.problem)
        x = sample_sizes(found.signal, found.variance) / alpha
        weak = overlap_of_weak_labels(x, found.row / found.variance)
        assert exact.overlaps == pytest.approx(weak, abs=close)
        assert exact.edges[1] == pytest.approx(2 * sqrt(found.variance / alpha), rel=3 / sqrt(alpha))


@pytest.mark.parametrize(
    "problem",
    [
        ps.compositional(alpha=1.0, features=6, decay=0.5, clip=3.0),
        ps.compositional(alpha=1.0, features=3, decay=1.0, clip=1.0, signs="positive"),
        ps.dense_compositional(alpha=1.0, features=5, clip=2.0, link=ps.TanhLink(2.0)),
    ],
    ids=["alternating", "positive", "dense"],
)
def test_nothing_clipped_stands_out_below_its_threshold(problem):
    """`thresholds`, `recovery` and `solve` say the same: an overlap of zero just below, a positive one just above."""
    each = ps.thresholds(problem).each
    assert ps.recovery(problem).alpha == pytest.approx(np.sort(each[np.isfinite(each)]))
    for number in np.flatnonzero(np.isfinite(each)):
        below, above = (ps.solve(problem.replace(alpha=factor * each[number])) for factor in (0.999, 1.001))
        assert below.overlaps[number] == 0.0
        assert 0.0 < above.overlaps[number] < 0.01
        assert above.thresholds == pytest.approx(each)
        assert any("of their threshold" in line for line in above.caveats)
    assert np.isinf(each).sum() == np.sum(problem.strengths == 0.0)


def test_thresholds_of_clipped_labels_are_those_of_spectral_methods():
    """The same law of the labels, T for features that add and -T for those that are taken away."""
    problem = ps.compositional(alpha=1.0, features=6, decay=0.5, clip=3.0)
    each = ps.thresholds(problem).each
    used, mass, weighted = bounded_law(problem)
    for strength, weight, found in zip(problem.strengths, weighted, each, strict=True):
        labels = Labels(used, mass, weight / mass)
        assert found == pytest.approx(spectral_threshold(np.sign(strength) * used, labels), rel=1e-9)
    assert each == pytest.approx([1.14, 1.71, 4.34, 4.17, 7.42, 6.57], abs=0.01)
    assert ps.thresholds(problem).error_bars["all_features"] < 0.01


@pytest.mark.parametrize("clip", [1.0, 2.0, 3.0])
def test_thresholds_of_weak_features_are_as_good_as_they_say(clip):
    """The leading order is off by less than its bar from the exact threshold of clipped labels, and the bar falls."""
    problem = ps.compositional(alpha=1.0, features=8, decay=0.5, clip=clip)
    found = moments(problem)
    weak = sample_sizes(found.signal, found.variance)
    room = room_of_sample_sizes(found.signal, found.variance, found.third_row)
    assert np.all(np.abs(weak / ps.thresholds(problem).each - 1) < room)
    plain = problem.replace(clip=None)
    own, told = moments(plain), ps.thresholds(plain)
    room = np.maximum(room_of_sample_sizes(own.signal, own.variance, own.third_row), 1.0)
    assert any("8 of 8 thresholds are where labels without a bound make outliers" in line for line in told.caveats)
    assert told.each_bar == pytest.approx(room * told.each)
    assert told.error_bars["first_feature"] == told.each_bar[0]
    assert ps.recovery(plain).relative_error == pytest.approx(room.max())
    many = ps.recovery(ps.compositional(alpha=1.0, features=5000, decay=0.0))
    assert many.relative_error < 0.1
    assert not any("without a bound" in line for line in many.caveats)


def test_two_valued_labels_have_the_law_of_two_samples():
    """Labels +-1: C is a difference of two Wishart matrices; its edge by a direct minimum of the rational function."""
    used, mass, alpha = np.array([-1.0, 1.0]), np.array([0.5, 0.5]), 5.0
    g = np.linspace(0.01, 4.9, 200_001)
    rational = 1 / g + g / alpha / (1 - (g / alpha) ** 2)
    _, overlap, edges = bounded_outliers(np.array([0.0]), used, mass, mass[None], alpha)
    assert edges[1] == pytest.approx(rational.min(), rel=1e-9)
    assert edges[0] == pytest.approx(-edges[1])
    assert overlap[0] == 0.0


@pytest.mark.parametrize("alpha", [3.0, 20.0])
def test_bulk_of_bounded_labels_is_a_law(alpha):
    """Mass one, mean zero, variance E T^2/alpha, third moment E T^3/alpha^2."""
    solution = ps.solve(ps.compositional(alpha=alpha, features=3, decay=1.0, clip=2.0, signs="positive"))
    law, found = solution.spectrum, moments(solution.problem)
    x = np.linspace(solution.edges[0], solution.edges[1], 20_001)
    density = law.density(x)
    assert np.trapezoid(density, x) == pytest.approx(1.0, abs=2e-3)
    assert np.trapezoid(density * x, x) == pytest.approx(0.0, abs=2e-3)
    assert np.trapezoid(density * x**2, x) == pytest.approx(found.variance / alpha, rel=5e-3)
    assert np.trapezoid(density * x**3, x) == pytest.approx(found.third / alpha**2, rel=3e-2)
    assert law.cdf(solution.edges[1]) == pytest.approx(1.0)
    drawn = law.sample(1000, np.random.default_rng(0))
    assert np.mean(drawn**2) == pytest.approx(found.variance / alpha, rel=0.02)


# Labels


@pytest.mark.parametrize("link", [ps.TanhLink(1.5), ps.CubicLink(0.3)])
def test_signals_of_many_features_have_the_slope_of_the_link(link):
    """``theta_i = sqrt2 nu_1 lam_i`` as features become many and weak: [WTDKL26]."""
    problem = ps.compositional(alpha=10.0, features=200, decay=0.0, link=link)
    found = moments(problem)

    def slope(z: float) -> float:
        return float(link(np.array(z))) * z * np.exp(-z * z / 2) / sqrt(2 * np.pi)

    nu = quad(slope, -12, 12)[0]
    assert link.mean_slope() == pytest.approx(nu, rel=1e-9)
    assert found.signal / problem.strengths == pytest.approx(np.full(200, sqrt(2) * nu), rel=0.05)


def large_label(problem: ps.CompositionalProblem) -> float:
    return float(large_labels(problem, np.array([problem.alpha]))[0])


def test_large_labels_are_rare_where_there_are_many_samples():
    few, many = (ps.compositional(alpha=alpha, features=4, decay=0.5) for alpha in (10.0, 300.0))
    assert large_label(few) > 1e-3
    assert large_label(many) < 1e-6
    assert any("makes an outlier of its own" in line for line in ps.solve(few).caveats)
    assert not any("makes an outlier of its own" in line for line in ps.solve(many).caveats)
    assert not any("outlier of its own" in line for line in ps.solve(few.replace(clip=2.0)).caveats)
    h = np.random.default_rng(0).standard_normal((500_000, 4))
    beyond = np.mean(np.abs((h**2 - 1) @ few.strengths) > sqrt(20))
    assert large_label(few) == pytest.approx(beyond, rel=0.08)  # 4 standard errors


def test_large_labels_are_those_of_the_link():
    few = ps.compositional(alpha=100.0, features=20, decay=0.0)
    for link, large in ((ps.TanhLink(1.0), False), (ps.IdentityLink(), False), (ps.CubicLink(2.0), True)):
        said = ps.solve(few.replace(link=link)).caveats
        assert any("makes an outlier of its own" in line for line in said) == large, link
    assert large_label(few.replace(alpha=3.0, link=ps.TanhLink(1.0))) == 0.0


# The problem and its verbs


def test_strengths_have_unit_norm_and_fall():
    for problem in (SIX, SIX.replace(signs="positive"), ps.dense_compositional(alpha=1.0, features=7)):
        assert np.sum(problem.strengths**2) == pytest.approx(1.0)
        assert np.all(np.diff(np.abs(problem.strengths)) <= 1e-12)
    assert np.all(SIX.replace(signs="positive").strengths > 0)
    assert ps.dense_compositional(alpha=1.0, features=1).strengths.tolist() == [1.0]


def test_samples_count_by_the_coordinates():
    assert (coordinates(36, 2), coordinates(400, 2), coordinates(5, 1), coordinates(4, 3)) == (666, 80_200, 5, 20)
    assert SIX.samples(36) == 100_000
    assert SIX.with_samples(666, d=36).alpha == 1.0
    assert SIX.replace(degree=3).samples_at_one(10) == 220


def test_recovery_is_in_the_order_of_the_thresholds():
    found, each = ps.recovery(SIX), ps.thresholds(SIX).each
    assert found.feature.tolist() == [1, 2, 3, 4, 5, 6]
    assert found.alpha == pytest.approx(each)
    assert found.count([0.5 * each[0], 1.1 * each[2], 2 * each[5]]).tolist() == [0, 3, 6]
    odd = ps.recovery(ps.dense_compositional(alpha=1.0, features=5))
    assert len(odd.alpha) == 4
    assert any("never learned" in line for line in odd.caveats)


def test_a_problem_is_itself_after_pickling_and_replacing():
    problem = SIX.replace(link=ps.TanhLink(2.0), clip=3.0)
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert problem.replace(gain=1.0).link == ps.TanhLink(1.0)
    assert problem != problem.replace(gain=1.0)


class Squared(ps.OuterLink):
    def __call__(self, h):
        return h**2 - 1.0


class Shifted(ps.OuterLink):
    def __call__(self, h):
        return h + 0.5


class Broken(ps.OuterLink):
    def __call__(self, h):
        return np.full(h.shape, np.nan)


class Exponential(ps.OuterLink):
    def __call__(self, h):
        return np.exp(h) - np.exp(0.5)


class InPlace(ps.OuterLink):
    def __call__(self, h):
        h *= 2.0
        return h


class Bent(ps.OuterLink):
    def __call__(self, h):
        return np.maximum(h, 0.0) - 1.0 / sqrt(2.0 * np.pi)


class BentElsewhere(ps.OuterLink):
    """E max(h - 1, 0) = phi(1) - Q(1)."""

    def __call__(self, h):
        return np.maximum(h - 1.0, 0.0) - (np.exp(-0.5) / sqrt(2.0 * np.pi) - 0.15865525393145705)


def make(**changes):
    return ps.compositional(**{"alpha": 10.0, "features": 3, "decay": 0.5, **changes})


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda: make(decay=-0.1), "`decay` must be a finite number >= 0"),
        (lambda: make(decay=None), "`decay` must be given: the strengths of a diagonal B"),
        (lambda: make().replace(mixing="gaussian"), "`decay` must be left out: a dense Gaussian B"),
        (
            lambda: make().replace(mixing="gaussian", decay=None, signs="positive"),
            "`signs` must be left out: the eigenvalues",
        ),
        (lambda: make(features=0), "`features` must be a whole number >= 1"),
        (lambda: make(features=2.5), "`features` must be a whole number >= 1"),
        (lambda: make(degree=0), "`degree` must be a whole number >= 1"),
        (lambda: make(alpha=0.0), "`alpha` must be a finite number >= 1e-06"),
        (lambda: make(clip=0.0), "`clip` must be a finite number >= 0.1"),
        (lambda: make(inputs="x"), '`inputs` must be "surrogate" or "hermite"'),
        (lambda: make(link=np.tanh), "`link` must be a OuterLink"),
        (lambda: make(link=Squared()), "`link` must have a slope that is not zero on average: E link' = 0"),
        (lambda: make(link=Shifted()), r"`link` must have mean zero over a standard normal.*Subtract 0.5 from it"),
        (lambda: make(link=Broken()), "`link` must give finite numbers"),
        (lambda: ps.TanhLink(0.0), "`gain` must be a finite number > 0"),
        (lambda: ps.scaling(make()), "`decay` must be positive, and not 0.5"),
        (lambda: ps.scaling(make(decay=1.0, clip=2.0)), "`clip` must be left out here: a law is about"),
        (lambda: ps.scaling(make(decay=1.0, link=ps.TanhLink(1.0))), "`link` must be the identity here"),
        (
            lambda: ps.scaling(make().replace(mixing="gaussian", decay=None)),
            "`decay` must be given here: a law is about|`problem` must be of a model that answers scaling",
        ),
        (lambda: ps.solve(make(link=Exponential())), "`link` must have labels of finite moments: it grows so fast"),
        (lambda: ps.thresholds(make(link=Exponential(), clip=3.0)), "`link` must have labels of finite moments"),
        (lambda: ps.scaling(make(decay=1.0), factor=1.0), "`factor` must be a finite number > 1"),
        (lambda: ps.solve(make(), tol=1e-6), "`tol` must be left out here: solve of this model takes no options"),
        (lambda: ps.bayes_optimal(make()), "`problem` must be of a model that answers bayes_optimal"),
    ],
)
def test_bad_input_is_said_in_words(act, text):
    with pytest.raises(ps.InputError, match=text):
        act()


def test_a_link_of_ones_own_is_used():
    class Cube(ps.OuterLink):
        def __call__(self, h):
            return h + 0.3 * (h**3 - 3.0 * h) / sqrt(6.0)

    own, known = (ps.solve(make(alpha=200.0, link=link)) for link in (Cube(), ps.CubicLink(0.3)))
    assert own.overlaps == pytest.approx(known.overlaps, rel=1e-12)


def test_a_link_that_works_in_place_changes_nothing_else():
    """Labels twice as large have the overlaps of plain ones, and those of other links stay what they were."""
    before = ps.solve(make(link=ps.TanhLink(1.0))).overlaps
    slope = ps.TanhLink(1.0).mean_slope()
    first, second = (ps.solve(make(alpha=200.0, link=InPlace())).overlaps for _ in range(2))
    assert np.array_equal(first, second)
    assert first == pytest.approx(ps.solve(make(alpha=200.0)).overlaps, abs=1e-6)
    assert InPlace().mean_slope() == pytest.approx(2.0)
    assert np.array_equal(ps.solve(make(link=ps.TanhLink(1.0))).overlaps, before)
    assert ps.TanhLink(1.0).mean_slope() == slope
    with pytest.raises(ValueError, match="read-only"):
        law_of(make()).mass[0] = 1.0


@pytest.mark.parametrize("link", [Bent(), BentElsewhere()])
def test_a_link_may_have_a_bend(link):
    assert make(link=link).link is link
    slope = {Bent: 0.5, BentElsewhere: 0.15865525393145705}[type(link)]
    assert link.mean_slope() == pytest.approx(slope, abs=1e-6)


def test_an_error_is_never_negative():
    assert all(ps.solve(make(alpha=1e9, features=count, decay=0.0)).test_error >= 0.0 for count in range(1, 8))


def test_true_coordinates_come_with_a_caveat():
    said = ps.solve(make(inputs="hermite", alpha=100.0)).caveats
    assert any("use d of at least 120" in line for line in said)
    near = ps.solve(make(alpha=1.01 * ps.thresholds(make()).each[1])).caveats
    assert any("of their threshold" in line for line in near)


def test_error_bars_hold_the_next_order():
    """Halving D/n halves what the bars say of it; every observable has one."""
    few, many = ps.solve(make(alpha=100.0)), ps.solve(make(alpha=10_000.0))
    for name in few.compared:
        assert few.error_bars[name] > 10 * many.error_bars[name] > 0
