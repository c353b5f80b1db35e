"""Sequential recovery: when features are learned, forgotten and learned again, by one walk for all."""

from __future__ import annotations

from functools import cache, partial
from math import exp, log, sqrt

import numpy as np
import pytest
from scipy.optimize import brentq

import presage as ps
from presage.models.attention.theory.explicit_map import explicit_map, solve_point
from presage.models.attention.theory.recovery_path import BEYOND_THE_PEAK, crossings, log_threshold, walk
from presage.models.attention.theory.sequential_recovery import _Threshold
from presage.solving.penalized_equations import PenalizedEquations
from presage.spectra.symmetric.functionals import functionals

LAW = ps.PowerLaw(1.25, 1000)
S = LAW.atoms.positions[::-1].copy()


def network(weight_decay: float, law: ps.PowerLaw = LAW, **changes: float) -> ps.Problem:
    return ps.quadratic_network(law, alpha=0.1, weight_decay=weight_decay, noise=0.5).replace(**changes)


@cache
def found(weight_decay: float) -> ps.Recovery:
    return ps.recovery(network(weight_decay))


def n(recovery: ps.Recovery, feature: int) -> list[float]:
    return (1e6 * recovery.learned_at(feature)[0]).tolist()


# --- numbers


def test_check_values():
    """Point 10 and the sample sizes of section 3, to every digit shown; feature 10 is forgotten in between."""
    known = {1: [849.20], 2: [3380.32], 3: [6888.95]}
    for i, values in known.items():
        assert n(found(0.01), i) == pytest.approx(values, abs=0.005)
    assert n(found(0.01), 5) == pytest.approx([18001.7], abs=0.05)
    assert n(found(0.01), 10) == pytest.approx([105352.4, 200447.3, 289916.3], abs=0.05)
    assert found(0.01).learned_at(10)[1].tolist() == [True, False, True]


@pytest.mark.parametrize(("i", "value"), [(1, 3751.7), (2, 8794.8), (3, 13600.6)])
def test_check_values_where_the_cutoff_decides(i, value):
    """Printed without rounding: 8794.851 and 13600.652 on the path of each feature."""
    assert n(found(0.5), i) == pytest.approx([value], abs=0.06)


def test_the_staircase_is_that_of_the_solutions():
    n_eff = np.array([150, 200, 245, 252, 260, 300, 400])
    staircase = found(1e-4).count(n_eff / 1000)
    assert staircase.tolist() == [10, 9, 5, 3, 4, 9, 14]
    assert found(1e-4).forgotten == tuple(range(4, 11))
    assert "forgotten on the way and learned again: 4 to 10" in found(1e-4).head
    for alpha in (0.02, 0.3, 40.0):
        assert found(1e-4).count(alpha) == ps.solve(network(1e-4, alpha=alpha)).features.number_learned


@pytest.mark.slow
def test_attention_learns_its_features_one_by_one():
    """n_eff of the features 1, 2, 3, 5 at d = 400, by brackets."""
    problem = ps.attention(ps.PowerLaw(1.25, 400), alpha=0.1, weight_decay=0.01, noise=0.5)
    recovery = ps.recovery(problem, features=5)
    assert recovery.feature.tolist() == [1, 2, 3, 4, 5]
    assert recovery.n[[0, 1, 2, 4]] / 400 == pytest.approx([0.459, 1.823, 3.745, 9.861], abs=1e-3)


# --- identities


def on_path(weight_decay: float, i: int, near: float) -> float:
    """The sample size of a feature by its own path and a bracket, with nothing of the walk."""
    point = solve_point(LAW, 0.5, near, weight_decay)
    s = S[i - 1]

    def at(c: float) -> tuple[float, float]:
        return explicit_map(
            LAW, 0.5, s if c <= 2 * s * (1 - 1e-12) and point.c < 2 * point.delta else sqrt(s * (c - s)), c
        )

    c = brentq(lambda c: at(c)[1] - weight_decay, 0.99 * point.c, 1.01 * point.c, xtol=1e-15, rtol=1e-14)
    return at(c)[0]


@pytest.mark.parametrize(
    ("weight_decay", "i"), [(0.01, 1), (0.01, 10), (0.01, 40), (0.01, 100), (0.01, 600), (0.5, 2), (0.5, 50), (1e-4, 7)]
)
def test_every_crossing_is_on_its_path(weight_decay, i):
    """Features that were polished, and those that the cubics of the walk give: to what the result says of itself."""
    recovery = found(weight_decay)
    for alpha in recovery.learned_at(i)[0]:
        exact = on_path(weight_decay, i, alpha)
        assert alpha == pytest.approx(exact, rel=recovery.relative_error if i > 32 else 1e-9)


@pytest.mark.parametrize(("weight_decay", "i"), [(0.01, 10), (0.01, 11), (1e-4, 5)])
def test_no_crossing_is_missed(weight_decay, i):
    """Sign changes of the penalty along the whole path of a feature, against the crossings of the walk."""
    s = S[i - 1]
    cutoffs = np.concatenate([s * np.geomspace(1e-4, 2.0, 150), np.linspace(2.0, 1.001, 30) * s])
    noises = np.concatenate([np.full(150, s), np.sqrt(s * (cutoffs[150:] - s))])
    prices = np.array([explicit_map(LAW, 0.5, delta, c)[1] for delta, c in zip(noises, cutoffs, strict=True)])
    changes = np.count_nonzero(np.diff(np.sign(prices - weight_decay)))
    assert len(found(weight_decay).learned_at(i)[0]) == changes


def test_directions_alternate_and_begin_with_learning():
    for weight_decay in (0.01, 0.5, 1e-4):
        recovery = found(weight_decay)
        assert np.all(np.diff(recovery.alpha) >= 0.0)
        for i in range(1, 1001):
            learned = recovery.learned_at(i)[1]
            assert learned.tolist() == [k % 2 == 0 for k in range(len(learned))]


def test_the_tangent_agrees_with_differences():
    def equations(y: float) -> PenalizedEquations:
        return PenalizedEquations(partial(functionals, LAW), 0.25, exp(y), 0.25 * 0.01, unit=2.0)

    for alpha in (1e-3, 0.1, 0.25, 10.0):
        step = 1e-4
        low, here, high = (solve_point(LAW, 0.5, alpha * exp(k * step), 0.01) for k in (-1, 0, 1))
        measured = [log(high.delta / low.delta) / (2 * step), log(high.c / low.c) / (2 * step)]
        assert equations(log(alpha)).tangent(here.functionals) == pytest.approx(measured, rel=1e-5)


# --- limits


def test_linear_attention_needs_fewer_samples_by_its_scores():
    law = ps.PowerLaw(1.25, 60)
    one = ps.recovery(ps.quadratic_network(law, alpha=1.0, weight_decay=0.1, noise=0.5))
    two = ps.recovery(ps.linear_attention(law, alpha=1.0, weight_decay=0.1, noise=0.5, n_tokens=2))
    assert two.alpha == pytest.approx(one.alpha / 3, rel=1e-12)
    assert two.followed == pytest.approx([end / 3 for end in one.followed], rel=1e-12)


def test_brackets_find_what_the_walk_finds():
    """The way of softmax attention, on a problem that has the other way too."""
    law = ps.PowerLaw(1.25, 60)
    problem = ps.quadratic_network(law, alpha=1.0, weight_decay=0.01, noise=0.5)
    walked, _ = crossings(law, 0.5, 0.01, law.atoms.positions[::-1][:4].copy())
    curve = _Threshold(problem)
    bracketed = curve.crossings(law.atoms.positions[::-1][:4].copy())
    assert [one.feature for one in bracketed] == [one.feature for one in walked]
    assert [one.learned for one in bracketed] == [one.learned for one in walked]
    assert [one.alpha for one in bracketed] == pytest.approx([one.alpha for one in walked], rel=3e-4)


@pytest.mark.slow
def test_a_narrow_student_learns_no_more_features_than_it_is_wide():
    law, kappa = ps.PowerLaw(1.25, 60), 3 / 60
    problem = ps.quadratic_network(law, alpha=1.0, weight_decay=0.1, noise=0.1, kappa=kappa)
    recovery = ps.recovery(problem, features=3)
    assert recovery.count(5.0) == ps.solve(problem.replace(alpha=5.0)).feature_table(3).number_learned
    assert set(recovery.feature) <= {1, 2, 3}


def test_without_noise_every_feature_is_learned_at_last():
    problem = ps.quadratic_network(ps.PowerLaw(1.25, 60), alpha=1.0, weight_decay=0.1)
    recovery = ps.recovery(problem)
    assert recovery.count(recovery.followed[1]) == 60


def test_the_table_of_features_has_their_sample_sizes():
    table = ps.solve(network(0.01)).feature_table(12, sample_sizes=True)
    assert table.learned_at is not None
    for i in range(1, 13):
        assert table.learned_at[i - 1] == pytest.approx(n(found(0.01), i), rel=1e-6)
        assert (sum(at < 1e5 for at in table.learned_at[i - 1]) % 2 == 1) == table.learned[i - 1]
    assert "105352, 200447, 289916" in str(table)
    assert table.to_dataframe().loc[10, "learned_at"] == table.learned_at[9]
    assert "105352, 200447, 289916" in table._repr_html_()
    assert "every n at which it is learned" in table.meanings["learned_at"]


def test_a_table_of_features_that_are_never_learned_says_nothing_of_samples():
    found = ps.solve(
        ps.quadratic_network(ps.PointMasses([-1.0, 0.0, 2.0, 1.0]), alpha=1.0, weight_decay=0.1, noise=0.1)
    )
    table = found.feature_table(sample_sizes=True)
    assert table.s.tolist() == [2.0, 1.0, 0.0, -1.0]
    assert [len(at) for at in table.learned_at or ()] == [1, 1, 0, 0]


# --- words


def test_what_has_no_features_is_refused():
    with pytest.raises(ps.InputError, match="`target` must be made of single eigenvalues, some of them positive"):
        ps.recovery(ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1))
    with pytest.raises(ps.InputError, match="`penalty` must be a NuclearPSD"):
        ps.recovery(ps.unfactorized_attention(LAW, alpha=1.0, ridge=0.1))
    with pytest.raises(ps.InputError, match="`weight_decay` must be above 0 here"):
        ps.recovery(network(0.0))
    with pytest.raises(ps.InputError, match="`features` must be a whole number >= 1"):
        ps.recovery(network(0.1), features=0)
    with pytest.raises(ps.InputError, match="`feature` must be a whole number >= 1 and <= 1000"):
        found(0.01).learned_at(1001)
    with pytest.raises(ps.InputError, match="of a model that answers recovery"):
        ps.recovery(ps.bilinear_regression(ps.GaussianProduct(0.5, 1.5), alpha=1.0, weight_decay=0.1))


def test_a_law_with_weights_has_no_number_of_samples():
    recovery = ps.recovery(
        ps.quadratic_network(ps.PointMasses([0, 1.0, 3.0], [0.8, 0.15, 0.05]), alpha=1.0, weight_decay=0.1)
    )
    assert recovery.feature.tolist() == [1, 2]
    assert "n" not in recovery.to_dataframe().columns
    with pytest.raises(ps.InputError, match="d eigenvalues of equal weight"):
        _ = recovery.n


@pytest.mark.parametrize(("gamma", "weight_decay", "noise"), [(0.75, 1e-3, 0.5), (1.25, 1e-4, 0.01), (2.0, 1.0, 3.0)])
def test_beyond_the_peak_noise_and_cutoff_only_fall(gamma, weight_decay, noise):
    """So that a walk that is beyond it, and has every feature that was asked for, has missed none."""
    law = ps.PowerLaw(gamma, 100)
    path = walk(law, noise, weight_decay, float(law.atoms.positions[-1]), float(law.atoms.positions[0]))
    late = path.at > log(0.5 * BEYOND_THE_PEAK)
    assert np.all(path.slope[late] < 0.0)
    assert np.all(np.diff(log_threshold(path.place[late])) < 0.0)
