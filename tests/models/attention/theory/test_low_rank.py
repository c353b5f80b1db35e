"""The limit of low rank: closed forms against the equations at small k, and the three-fifths law of the rank."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.low_rank import low_rank_noise, weak_recovery

SMALL = (1e-3, 1e-4, 1e-5)


def least_weight(k: float, abar: float, noise: float) -> ps.RidgelessSolution:
    law = ps.MarchenkoPastur(k)
    return ps.ridgeless(ps.quadratic_network(law, alpha=abar * k, weight_decay=0.0, noise=noise))


@pytest.mark.parametrize(("abar", "noise"), [(0.4, 0.0), (2.0, 0.0), (0.5, 0.5), (1.5, 0.5), (4.0, 0.5)])
def test_low_rank_error_is_the_limit_of_the_equations(abar, noise):
    limit = ps.low_rank_error(abar, noise)
    t = low_rank_noise(abar, noise)
    assert 2 * abar * t**2 == pytest.approx(noise / 2 + limit, rel=1e-12)
    gaps = [abs(least_weight(k, abar, noise).estimation_error - limit) for k in SMALL]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.03


def test_weak_recovery_is_where_the_error_leaves_one():
    for noise in (0.0, 0.5, 2.0):
        abar = weak_recovery(ps.MarchenkoPastur(1e-8), noise) / 1e-8
        assert abar == pytest.approx(0.5 + noise / 4, rel=1e-6)
        assert ps.low_rank_error(0.999 * abar, noise) == 1.0
        assert ps.low_rank_error(1.001 * abar, noise) < 1.0
    one, thrice = (ps.PointMasses([0.0, size], [0.9, 0.1]) for size in (1.0, 3.0))
    assert weak_recovery(thrice, 9 * 0.5) == pytest.approx(weak_recovery(one, 0.5), rel=1e-12)
    assert weak_recovery(one, 0.5) == pytest.approx(0.1 * (0.5 + 0.5 / (4 * 0.1)), rel=1e-12)


def test_clean_low_rank_recovery_is_at_three():
    assert ps.low_rank_error(3.0) == 0.0
    assert 0.0 < ps.low_rank_error(2.99) < 1e-4


@pytest.mark.parametrize("abar", [0.3, 0.6, 0.8, 0.95])
def test_low_rank_bayes_error_is_the_limit_of_the_equations(abar):
    limit = ps.low_rank_bayes_error(abar)
    gaps = [
        abs(
            ps.bayes_optimal(ps.quadratic_network(ps.MarchenkoPastur(k), alpha=abar * k, weight_decay=1.0)).mmse - limit
        )
        for k in SMALL
    ]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.02
    assert ps.low_rank_bayes_error(abar) <= ps.low_rank_error(abar)


def test_low_rank_bayes_error_falls_from_one_to_zero():
    assert ps.low_rank_bayes_error(0.5) == 1.0 > ps.low_rank_bayes_error(0.501) > 0.999
    assert ps.low_rank_bayes_error(1.0) == ps.low_rank_bayes_error(1.05) == 0.0 < ps.low_rank_bayes_error(0.999) < 0.005


@pytest.mark.parametrize(("abar", "noise"), [(0.4, 0.0), (1.5, 0.5)])
def test_rank_grows_as_the_three_fifths_power(abar, noise):
    ranks = np.array([least_weight(k, abar, noise).rank for k in SMALL])
    powers = np.diff(np.log(ranks)) / np.diff(np.log(SMALL))
    np.testing.assert_allclose(powers, 0.6, atol=0.01)
    t = low_rank_noise(abar, noise)
    own = np.array(SMALL) if t < 1.0 else np.zeros(3)  # the eigenvalues of the target, once they are found
    predicted = own + [ps.low_rank_rank(k, abar, noise) for k in SMALL]
    gaps = np.abs(ranks / predicted - 1)
    assert gaps[2] < gaps[0]
    assert gaps[2] < 0.01


def test_a_wrong_power_is_seen():
    """Two thirds, the power of an edge with a linear density, is off by far at k = 1e-5."""
    rank = least_weight(1e-5, 0.4, 0.0).rank
    wrong = ps.low_rank_rank(1e-5, 0.4) ** (10 / 9)
    assert abs(rank / wrong - 1) > 0.5


def test_bad_input():
    with pytest.raises(ValueError, match=r"`abar` must be .* > 0.*components over k d"):
        ps.low_rank_error(0.0)
    with pytest.raises(ValueError, match="`k` must be"):
        ps.low_rank_rank(-0.1, 1.0)


def test_clean_labels_beyond_three_are_recovered():
    """The root of ``2 abar = 6 - 8 t + 3 t^2`` reaches zero at three, and would be negative beyond."""
    assert low_rank_noise(2.999) == pytest.approx(2.5e-4, rel=1e-3)
    assert [low_rank_noise(abar) for abar in (3.0, 3.1, 10.0)] == [0.0, 0.0, 0.0]
