"""Numbers that the theory of several heads is known to have, and an ansatz that is known to be wrong."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import presage as ps
from presage.models.multihead.theory.averaged_heads import Rule, means, where
from presage.models.multihead.theory.mean_loss import MeanOfHeads
from presage.models.multihead.theory.state_evolution import (
    channel_of,
    equal_start,
    settled_on,
    specialised_start,
)
from presage.models.multihead.theory.weights import OneHead, RidgeWeights, SampledHeads, Weights

LAW = ps.MarchenkoPastur(0.5)
TWO = ps.multihead_attention(LAW, combine="mean", alpha=2.0, weight_decay=0.01, noise=0.2)
RIDGE = TWO.replace(penalty="frobenius")


class Diagonal(Weights):
    """Heads that the samples are said to speak of one by one."""

    def __init__(self, weights: SampledHeads) -> None:
        self.weights, self.Q_0 = weights, weights.Q_0

    def overlaps(self, hats):
        found = self.weights.overlaps(type(hats)(*(np.diag(np.diag(part)) for part in hats)))
        self.paid = self.weights.paid
        self.weights.count_rank()
        self.rank = self.weights.rank
        return found._replace(Sigma=np.diag(np.diag(found.Sigma)))


def settle(problem, weights, *, nodes=2**12, seed=1, start=specialised_start, tol=1e-4, plain=0):
    channel = channel_of(problem, nodes, seed)
    return settled_on(problem, weights, channel, start(problem, weights.Q_0), tol=tol, plain=plain)


def test_heads_with_a_ridge():
    """Check value 5: loss .0445, test .0225, q_12 .464, MSE .188(1), m_12 .529."""
    values, bars = means([settle(RIDGE, RidgeWeights(RIDGE), seed=seed) for seed in range(1, 5)], Rule(2**12))
    assert values["train_loss"] == pytest.approx(0.0445, rel=0.005)
    assert values["test_error"] == pytest.approx(0.0225, rel=0.01)
    assert values["cross_overlap"] == pytest.approx(0.464, rel=0.01)
    assert values["cross_target_overlap"] == pytest.approx(0.529, rel=0.01)
    assert values["estimation_error"] == pytest.approx(0.188, rel=0.015)
    assert bars["estimation_error"] < 0.05 * values["estimation_error"]
    assert values["rank"] == 1.0


def test_heads_with_weight_decay():
    """Check value 6, of two small copies: test .0202, loss .0381, rank .635. Its error of .0714 is not the limit's.

    That is .068: see `test_the_answer_for_heads_with_weight_decay`.
    """
    points = [settle(TWO, SampledHeads(TWO, 80, seed), nodes=2**13, seed=seed) for seed in (1, 2)]
    values, _ = means(points, Rule(2**13, 80))
    assert values["test_error"] == pytest.approx(0.0202, rel=0.015)
    assert values["train_loss"] == pytest.approx(0.0381, rel=0.03)
    assert values["rank"] == pytest.approx(0.635, rel=0.03)
    assert values["estimation_error"] == pytest.approx(0.0685, rel=0.05)
    assert values["cross_overlap"] == pytest.approx(0.46, rel=0.04)
    hats = points[0].averages.hats
    ratios = [part[0, 1] / part[0, 0] for part in (hats.q_hat, hats.m_hat, hats.Sigma_hat, points[0].state.Sigma)]
    assert ratios == pytest.approx([0.87, 0.83, 0.80, -0.77], abs=0.05)


@pytest.mark.slow
def test_the_answer_for_heads_with_weight_decay():
    """Error bars of an answer hold what was found in another way, and are as small as was asked for.

    Ten copies of d = 100 whose targets are drawn as W W' and whose noises are not made orthogonal to them have an
    estimation error of .0685(4); of this code, 32 of d = 80 have .0682(3) and 12 of d = 140 .0680(2). Networks of
    d = 40, 80 and 90 have .0752(7), .0708 and .0710(5), which is .067(1) where d is infinite.
    """
    answer = ps.solve(TWO)
    assert max(bar / abs(getattr(answer, name)) for name, bar in answer.error_bars.items()) <= 0.0101
    assert abs(answer.estimation_error - 0.0685) < answer.error_bars["estimation_error"] + 2 * 0.0004
    assert answer.test_error == pytest.approx(0.0202, rel=0.015)
    assert answer.train_loss == pytest.approx(0.0381, rel=0.03)
    assert answer.rank == pytest.approx(0.635, abs=0.02)
    assert any("Monte Carlo" in line for line in answer.caveats)
    assert not any("specialised" in line for line in answer.caveats)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [RIDGE, TWO])
def test_error_bars_follow_the_accuracy(problem):
    fine, rough = (ps.solve(problem, accuracy=accuracy) for accuracy in (0.015, 0.06))
    for found, accuracy in ((fine, 0.015), (rough, 0.06)):
        assert max(bar / abs(getattr(found, name)) for name, bar in found.error_bars.items()) <= 1.01 * accuracy
    for name in fine.compared:
        off = abs(getattr(fine, name) - getattr(rough, name))
        assert off < fine.error_bars[name] + rough.error_bars[name], name


def test_two_fixed_points_are_compared_on_one_rule(monkeypatch):
    """Equal heads that end elsewhere are settled on the rule of the others before their losses are compared."""
    from presage.models.multihead.theory import averaged_heads

    rules = []

    def watched(problem, weights, channel, start, **options):
        found = settled_on(problem, weights, channel, start, **options)
        rules.append((len(channel.normals), found.values["train_loss"]))
        if options.get("plain"):  # as if it were elsewhere
            return dataclasses.replace(found, specialised=-1.0)
        if len(rules) == 3:
            values = {**found.values, "train_loss": 1.1 * found.values["train_loss"]}
            return dataclasses.replace(found, specialised=-1.0, values=values)
        return found

    monkeypatch.setattr(averaged_heads, "settled_on", watched)
    found, said = where(RIDGE)
    assert [nodes for nodes, _ in rules] == [2**11, 2**9, 2**11]
    assert "two fixed points" in said[0]
    assert found.values["train_loss"] == rules[0][1]


@pytest.mark.slow
def test_samples_that_jump_are_told_of():
    sharp = ps.solve(RIDGE.replace(beta=4.0, beta_0=4.0), accuracy=0.1, throw=False)
    assert any("jumps between two minima" in line for line in sharp.caveats)
    assert not any("jumps" in line for line in ps.solve(RIDGE, accuracy=0.1).caveats)


def test_diagonal_hats_are_wrong():
    """Heads taken one by one: MSE .040, q_12 .424, loss .0367, rank .678, which no network has."""
    values = settle(TWO, Diagonal(SampledHeads(TWO, 80, 1)), nodes=2**13).values
    assert values["estimation_error"] == pytest.approx(0.040, rel=0.1)
    assert values["estimation_error"] < 0.65 * 0.068
    assert values["rank"] == pytest.approx(0.678, abs=0.02)
    assert values["train_loss"] == pytest.approx(0.0367, rel=0.03)


def test_equal_heads_leave_for_the_target():
    """Plain steps from heads that are nearly the same end in the specialised fixed point, at this alpha."""
    ends = [
        settle(RIDGE, RidgeWeights(RIDGE), nodes=2**10, tol=1e-3, start=start, plain=plain)
        for start, plain in ((specialised_start, 0), (equal_start, 60))
    ]
    assert [end.specialised for end in ends] == pytest.approx([0.545, 0.545], abs=0.05)
    assert ends[1].values["train_loss"] == pytest.approx(ends[0].values["train_loss"], rel=0.02)


@pytest.mark.parametrize(("start", "plain"), [(specialised_start, 0), (equal_start, 20)])
def test_few_samples_do_not_tell_the_heads_apart(start, plain):
    """At alpha = .3 a head knows the heads of the target alike from both starts, yet the heads are not the same."""
    few = TWO.replace(alpha=0.3)
    end = settle(few, SampledHeads(few, 60, 1), nodes=2**11, start=start, plain=plain)
    assert abs(end.specialised) < 0.15  # 0.83 at alpha = 2
    assert end.state.q[0, 1] == pytest.approx(0.32, rel=0.1)
    assert end.state.q[0, 0] == pytest.approx(0.58, rel=0.1)
    assert end.values["test_error"] == pytest.approx(0.0702, rel=0.05)
    assert end.values["train_loss"] == pytest.approx(0.0104, rel=0.05)
    assert end.values["rank"] == pytest.approx(0.45, abs=0.03)


@pytest.mark.parametrize(
    ("decay", "gain", "loss", "rank"), [(0.2, 1.5701, 0.1467, 0.511), (0.02, 1.5044, 0.0507, 0.647)]
)
def test_a_learned_gain(decay, gain, loss, rank):
    """Check value 7: v 1.5701, rank .511 at a weight decay of .2."""
    problem = ps.multihead_attention(LAW, alpha=0.5, weight_decay=decay, noise=0.5, n_heads=1, target_gain=1.5)
    values = settle(problem, OneHead(problem), nodes=2**13).values
    assert values["gain"] == pytest.approx(gain, abs=7e-4)
    assert values["train_loss"] == pytest.approx(loss, rel=0.005)
    assert values["rank"] == pytest.approx(rank, abs=1e-3)


def test_the_loss_is_stationary_in_the_gain():
    """A learner that is held to a gain beside the learned one ends in a larger loss, by the square of the distance."""
    problem = ps.multihead_attention(LAW, alpha=0.5, weight_decay=0.2, noise=0.5, n_heads=1, target_gain=1.5)
    free = settle(problem, OneHead(problem), nodes=2**11, tol=1e-6).values
    losses = [held_loss(problem, free["gain"] + step) for step in (-0.1, 0.0, 0.1)]
    assert losses[1] == pytest.approx(free["train_loss"], rel=1e-5)
    assert losses[1] < min(losses[0], losses[2])
    assert abs(losses[2] - losses[0]) < 0.2 * (losses[0] + losses[2] - 2.0 * losses[1])


def held_loss(problem, gain):
    """Training loss with the gain of the learner held, of the loss itself and not of its stationarity."""
    weights = OneHead(problem)
    channel = channel_of(problem, 2**11, 1)
    loss = MeanOfHeads(gain=gain, target_gain=problem.v_0)
    rho_0, state = weights.Q_0 + 0.5 * problem.noise, specialised_start(problem, weights.Q_0).overlaps
    for count in range(40):
        seen = channel.averages(loss, rho_0, state, careful=count == 0)
        state = type(state)(*(0.5 * (a + b) for a, b in zip(state, weights.overlaps(seen.hats), strict=True)))
    return problem.alpha * seen.train_error + weights.paid


def test_one_head_without_a_gain_is_attention():
    one = ps.multihead_attention(LAW, alpha=0.8, weight_decay=0.02, noise=0.2, n_heads=1)
    exact = ps.solve(ps.attention(LAW, alpha=0.8, weight_decay=0.02, noise=0.2))
    by_blocks = settle(one, OneHead(one), nodes=2**14).values
    for name in ("test_error", "train_loss", "train_error", "estimation_error", "rank"):
        assert by_blocks[name] == pytest.approx(getattr(exact, name), rel=0.005), name
