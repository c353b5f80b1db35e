"""A learned gain: rows with gains, where the gain is, its limits, and what the best of all methods makes of it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.untied.theory import own_scores
from presage.models.untied.theory.channel import Overlaps, Rule
from presage.models.untied.theory.pair_row import pair_averages
from presage.models.untied.theory.state_evolution import Evolution
from presage.models.untied.theory.wide_row import Nodes, contrasts, scattered, wide_averages
from tests.models.untied.problems import LOW, cross, itself

GAINS = [(1.6, 1.2), (0.8, 1.2)]  # v and v_0
M, Q, LEFT, SIGMA, BETA, BETA_0 = 0.8, 0.9, 0.5, 1.5, 1.2, 0.9


def softmax(r):
    return np.exp(r - r.max()) / np.exp(r - r.max()).sum()


def loss(r, r_0, v, v_0):
    return np.sum((v * softmax(BETA * r) - v_0 * softmax(BETA_0 * r_0)) ** 2)


def point(u, r_0, v, v_0):
    """The proximal point, by a minimiser that knows nothing of rows."""

    def cost(h):
        return np.sum((h - u) ** 2) / 2.0 + SIGMA * loss(h, r_0, v, v_0)

    starts = (u, r_0 * BETA_0 / BETA, 0.5 * (u + r_0))
    found = [scipy.optimize.minimize(cost, start, method="BFGS", tol=1e-9) for start in starts]
    return min(found, key=lambda one: one.fun).x


def response(u, r_0, gains, *, of_label):
    """``tr dlam/dr`` or ``tr dlam/dr_0`` by differences, over the directions without a common shift."""
    h, total = 1e-3, 0.0
    for e in contrasts(len(u)).T:
        ahead, behind = ((u, r_0 + step * e) if of_label else (u + step * e, r_0) for step in (h, -h))
        pulls = [(point(*where, *gains) - where[0]) / SIGMA for where in (ahead, behind)]
        total += e @ (pulls[0] - pulls[1]) / (2.0 * h)
    return total


@pytest.mark.parametrize("gains", GAINS)
@pytest.mark.parametrize("keys", [2, 3, 4])
def test_rows_with_gains_by_brute_force(keys, gains):
    basis, rng = contrasts(keys), np.random.default_rng(keys)
    for _ in range(2):
        a, b = (basis @ rng.standard_normal((2, keys - 1)).T).T
        u, r_0 = np.sqrt(Q) * a, M / np.sqrt(Q) * a + np.sqrt(LEFT) * b
        p = point(u, r_0, *gains)
        row = wide_averages(M, Q, LEFT, SIGMA, BETA, BETA_0, Nodes(a[None], b[None], np.ones(1)), *gains)
        assert (row.test, row.train) == pytest.approx((loss(u, r_0, *gains), loss(p, r_0, *gains)), rel=1e-5)
        assert row.pull == pytest.approx(np.sum((p - u) ** 2) / SIGMA**2, rel=1e-4)
        assert row.response == pytest.approx(response(u, r_0, gains, of_label=False), rel=2e-3, abs=1e-4)
        assert row.response_0 == pytest.approx(response(u, r_0, gains, of_label=True), rel=2e-3, abs=1e-4)
        s, s0 = softmax(BETA * p), softmax(BETA_0 * r_0)
        assert (row.along, row.square) == pytest.approx((s @ s0, s @ s), rel=1e-4)


@pytest.mark.parametrize(("v", "v_0"), GAINS)
def test_the_plane_of_two_keys_is_a_wide_row_of_two(v, v_0):
    plane = np.array(pair_averages(M, Q, LEFT, SIGMA, BETA, BETA_0, 96, v, v_0))
    several = [wide_averages(M, Q, LEFT, SIGMA, BETA, BETA_0, scattered(2, 8192, seed), v, v_0) for seed in range(4)]
    assert np.allclose(np.mean(several, axis=0), plane, rtol=1.5e-3)
    row = pair_averages(M, Q, LEFT, 0.25 * SIGMA, BETA, BETA_0, 96, v, v_0)  # where no sample jumps
    assert (row.stein_0, row.stein) == pytest.approx((row.response_0, row.response), rel=1e-7)


def loss_at_gain(problem, v):
    """Training loss over d^2 of the fixed point with a gain that is given, not learned."""

    class Given(Evolution):
        def gain_at(self, logs):
            return v

    evolution = Given(problem)
    evolution.learns_gain = False
    rules = (Rule(96, 18),)
    half = Overlaps.told(problem.Q_0, 0.5 * problem.Q_0, 0.6 * problem.Q_0, 0.3)
    state, _ = evolution.newton(evolution.logs_of(evolution.data(half, rules, v)), rules, tol=1e-10)
    assert state.residual < 1e-10
    return problem.alpha * state.conjugates.train + state.shrunk.cost


@pytest.mark.parametrize(
    "changes",
    [
        {"weight_decay": 0.2},
        {"weight_decay": 0.2, "penalty": "frobenius"},
        {"weight_decay": 0.1, "mask": "causal", "n_tokens": 3},
        {"weight_decay": 0.1, "beta": 1.3, "beta_0": 0.8},
        pytest.param({"weight_decay": 0.1, "n_keys": 3}, marks=pytest.mark.slow),
    ],
)
def test_the_loss_is_least_at_the_gain(changes):
    problem = cross(target_gain=1.5, **changes)
    found, h = ps.solve(problem), 0.02
    below, here, above = (loss_at_gain(problem, found.gain + step) for step in (-h, 0.0, h))
    assert here == pytest.approx(found.train_loss, rel=1e-6)
    bend = below + above - 2.0 * here
    assert bend > 0.0
    assert 0.5 * h * abs(above - below) / bend < 0.01 * h + found.error_bars["gain"]  # how far off the lowest point is


def test_a_gain_makes_up_for_shrunk_scores_and_for_blown_up_ones():
    assert ps.solve(cross(target_gain=1.5, weight_decay=0.2)).gain > 1.55
    assert ps.solve(cross(target_gain=1.5, weight_decay=1e-5)).gain < 1.49


@pytest.mark.parametrize("changes", [{}, {"penalty": "frobenius"}, {"mask": "causal", "n_tokens": 3}])
def test_only_the_ratio_of_the_gains_matters(changes):
    one = ps.solve(cross(target_gain=1.0, **changes))
    many = ps.solve(cross(target_gain=3.0, weight_decay=9.0 * 0.02, **changes))
    assert many.gain == pytest.approx(3.0 * one.gain, rel=1e-7)
    assert (many.train_loss, many.test_error) == pytest.approx((9.0 * one.train_loss, 9.0 * one.test_error), rel=1e-6)
    assert (many.rank, many.estimation_error) == pytest.approx((one.rank, one.estimation_error), rel=1e-6)


def test_a_head_of_zeros_has_the_gain_of_the_target():
    found, plain = ps.solve(cross(target_gain=1.5, weight_decay=5.0)), ps.solve(cross(weight_decay=5.0))
    assert found.rank == 0.0
    assert found.gain == pytest.approx(1.5, rel=1e-12)
    assert found.test_error == pytest.approx(1.5**2 * plain.test_error, rel=1e-9)


def test_the_limit_of_no_weight_decay():
    fitted = cross(target=LOW, alpha=0.22, noise=0.1, weight_decay=0.0)
    with_gain, plain = ps.solve(fitted.replace(target_gain=1.5)), ps.solve(fitted)
    assert (with_gain.gain, with_gain.train_loss) == (1.5, 0.0)
    assert with_gain.test_error == pytest.approx(1.5**2 * plain.test_error, rel=1e-12)
    assert with_gain.estimation_error == plain.estimation_error
    small = ps.solve(fitted.replace(target_gain=1.5, weight_decay=1e-5))
    assert small.gain == pytest.approx(1.5, rel=1e-4)
    assert small.estimation_error == pytest.approx(plain.estimation_error, rel=1e-2)
    more = cross(target_gain=1.5, weight_decay=0.0)  # measurements than entries: no label but the gain is fitted
    limit, small = ps.solve(more), ps.solve(more.replace(weight_decay=1e-5))
    assert limit.gain < 1.49
    assert (small.gain, small.test_error) == pytest.approx((limit.gain, limit.test_error), rel=1e-3)


def test_a_row_of_one_key_holds_the_gain():
    # Without a gain it shows nothing: three tokens with a causal mask are one query of two keys.
    for gain in (None, 1.5):
        causal = ps.solve(cross(mask="causal", n_tokens=3, weight_decay=0.1, target_gain=gain))
        alone = ps.solve(cross(n_tokens=1, n_keys=2, weight_decay=0.1, target_gain=gain))
        if gain is None:
            assert causal.train_loss == pytest.approx(alone.train_loss, rel=1e-12)
        else:
            assert 0.0 < causal.gain - 1.5 < 0.6 * (alone.gain - 1.5)


def test_a_gain_has_an_error_bar_and_is_compared():
    found = ps.solve(cross(target_gain=1.5))
    assert found.compared[-1] == "gain"
    assert 0.0 < found.error_bars["gain"] < 1e-4
    assert "gain" not in ps.solve(cross()).compared


def test_the_gain_of_the_target_is_no_secret():
    plain, gained = ps.bayes_optimal(cross()), ps.bayes_optimal(cross(target_gain=1.5))
    assert (gained.mmse, gained.delta) == (plain.mmse, plain.delta)
    assert gained.test_error == pytest.approx(1.5**2 * plain.test_error, rel=1e-12)
    assert gained.test_error < ps.solve(cross(target_gain=1.5)).test_error
    assert ps.thresholds(cross(target_gain=1.5)).strong_recovery == ps.thresholds(cross()).strong_recovery


def test_two_rows_have_the_gain_of_least_loss():
    problem = itself(target_gain=1.5, beta=1.3, beta_0=0.8)
    u0, p = np.random.default_rng(0).standard_normal((2, 50, 2))
    best = own_scores.best_gain(problem, u0, p)
    losses = [np.mean(own_scores.softmax_rows(problem, best + step)(u0, p).value) for step in (-1e-3, 0.0, 1e-3)]
    assert losses[0] - losses[1] == pytest.approx(losses[2] - losses[1], rel=1e-6)
    assert losses[0] > losses[1]


@pytest.mark.slow
def test_the_loss_of_tokens_that_look_at_themselves_is_least_at_the_gain(monkeypatch):
    problem = itself(target_gain=1.5, weight_decay=0.1, penalty="frobenius")
    found, losses = ps.solve(problem), []
    for step in (-0.02, 0.0, 0.02):
        monkeypatch.setattr(own_scores, "best_gain", lambda *_, v=found.gain + step: v)
        losses.append(ps.solve(problem).train_loss)
    bend = losses[0] + losses[2] - 2.0 * losses[1]
    assert bend > 0.0
    assert 0.01 * abs(losses[2] - losses[0]) / bend < 3e-4
    assert losses[1] == pytest.approx(found.train_loss, rel=1e-6)
