"""Training of several heads: its minimum against plain optimisers, networks of one head and other starts."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from itertools import permutations
from math import inf
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

import presage as ps
from presage.models.multihead.experiment.fit import certify
from presage.models.multihead.experiment.objective import Objective
from presage.models.multihead.experiment.sequences import draw, sample_targets
from presage.models.multihead.experiment.simulate import assigned, overlaps
from presage.models.multihead.experiment.training import lbfgs, lowest, start

simulate = partial(ps.simulate, processes=1)  # networks as small as these are trained before a process has started
HALF = ps.MarchenkoPastur(0.5)
EXACT = ps.LBFGS(tol=1e-6)


def build(d=4, n=60, seed=0, **options):
    rng = np.random.default_rng(seed)
    problem = ps.multihead_attention(
        HALF, **{"alpha": 1.0, "weight_decay": 0.05, "noise": 0.2, "combine": "mean", **options}
    )
    return Objective(problem, draw(problem, sample_targets(problem, d, rng), n, rng))


@pytest.mark.parametrize("combine", ["mean", "concatenate", "sum"])
@pytest.mark.parametrize("penalty", ["weight-decay", "frobenius"])
def test_the_minimum_is_that_of_a_plain_optimiser(combine, penalty):
    """BFGS with differences for a gradient, on factors or on lower triangles, finds no lower loss from many starts."""
    objective, rng = build(d=3, n=30, combine=combine, penalty=penalty), np.random.default_rng(1)
    found, _ = lowest(EXACT, objective, 3, rng)
    below = np.tril_indices(3)

    def whole(flat):
        if penalty == "weight-decay":
            S = objective.S_of(flat.reshape(2, 3, 3))
        else:
            S = np.zeros((2, 3, 3))
            S[:, below[0], below[1]] = flat.reshape(2, 6)
            S[:, below[1], below[0]] = flat.reshape(2, 6)
        return objective.loss_at(S, np.ones(objective.groups)) + objective.penalty_at(S)

    size = 18 if penalty == "weight-decay" else 12
    plain = min(minimize(whole, rng.standard_normal(size), method="BFGS", tol=1e-5).fun for _ in range(3))
    assert found.loss == pytest.approx(plain, rel=1e-6)
    assert found.certificate.residual < 1e-4


def test_the_learned_gain_is_where_the_loss_is_least():
    objective = build(d=6, n=100, combine="concatenate", target_gain=1.5, weight_decay=0.5)
    found = lbfgs(EXACT, objective, start(objective, np.random.default_rng(1)))
    for k in range(2):
        gains = [found.gains + step * np.eye(2)[k] for step in (-0.01, 0.0, 0.01)]
        below, here, above = (objective.loss_at(found.S, each) for each in gains)
        assert here < min(below, above)
        assert (above - below) / 0.02 == pytest.approx(0.0, abs=1e-3)
    assert (found.gains > 1.51).all()  # it makes up for shrunk scores


def test_one_head_is_a_network_of_attention():
    """The other model draws the same tokens, target and noise of a seed, and minimises the same loss by other code."""
    shared: dict[str, Any] = {"alpha": 0.6, "noise": 0.2}
    there = ps.simulate(
        ps.attention(HALF, weight_decay=0.05, **shared),
        d=16,
        seeds=2,
        n_test=4000,
        trainer=EXACT,
        processes=1,
    )
    for combine in ("mean", "concatenate"):
        here = ps.multihead_attention(HALF, weight_decay=0.05, n_heads=1, combine=combine, **shared)
        mine = simulate(here, d=16, seeds=2, n_test=4000, trainer=EXACT)
        np.testing.assert_allclose(mine.train_loss, there.train_loss, rtol=1e-8)
        np.testing.assert_allclose(mine.estimation_error, there.estimation_error, rtol=1e-4)
        np.testing.assert_allclose(mine.overlap, there.m, rtol=1e-4)
        np.testing.assert_array_equal(mine.rank, there.rank)
        np.testing.assert_allclose(mine.test_error, there.test_error, rtol=0.1)


def test_a_sum_of_heads_is_one_head_with_the_sum_as_its_target():
    """A sum of positive heads pays for its trace what one head pays, and has the gap to prove its minimum."""
    problem = ps.multihead_attention(HALF, alpha=0.5, weight_decay=0.1, noise=0.2, combine="sum")
    ensemble = simulate(problem, d=16, seeds=2, n_test=200, trainer=EXACT, keep="weights")
    assert (ensemble.gap < 1e-4).all()
    assert ensemble.weights.shape == (2, 1, 16, 16)
    one = problem.replace(n_heads=1)
    for S_0 in ensemble.targets:
        data = draw(one, S_0, problem.samples(16), np.random.default_rng(5))
        losses = [Objective(each, data) for each in (problem, one)]
        both, single = (lbfgs(EXACT, loss, start(loss, np.random.default_rng(3))) for loss in losses)
        assert both.loss == pytest.approx(single.loss, rel=1e-7)
        np.testing.assert_allclose(both.S.sum(axis=0), single.S[0], atol=1e-3)


def test_concatenated_heads_are_learned_apart():
    """Each head has the minimum that it has alone, on the labels of its own."""
    objective = build(d=8, n=60, combine="concatenate")
    together = lbfgs(EXACT, objective, start(objective, np.random.default_rng(1)))
    losses = 0.0
    for h in range(2):
        one = objective.problem.replace(n_heads=1)
        data = replace(objective.sequences, labels=objective.sequences.labels[h : h + 1])
        alone = Objective(one, data)
        fit = lbfgs(EXACT, alone, start(alone, np.random.default_rng(2)))
        np.testing.assert_allclose(together.S[h], fit.S[0], atol=1e-3)
        losses += fit.loss
    assert together.loss == pytest.approx(losses, rel=1e-8)


def test_heads_are_numbered_as_those_of_the_target():
    rng = np.random.default_rng(0)
    S_0 = sample_targets(build(n_heads=4).problem, 12, rng)
    for order in permutations(range(4)):
        noisy = S_0[list(order)] + 0.05 * rng.standard_normal(S_0.shape)
        found = noisy[assigned(noisy, S_0)]
        assert overlaps(found, S_0)["estimation_error"] < 0.1
    m = {name: value for name, value in overlaps(S_0, S_0).items() if "over" in name}
    assert m["cross_overlap"] == pytest.approx(m["cross_target_overlap"])
    assert m["overlap"] == pytest.approx(np.mean(np.sum(S_0**2, axis=(1, 2))) / 12)
    total = 4 * m["overlap"] + 12 * m["cross_overlap"]
    assert total == pytest.approx(np.sum(S_0.sum(axis=0) ** 2) / 12)


def test_averaged_heads_specialise_where_data_are_many():
    problem = ps.multihead_attention(HALF, alpha=3.0, weight_decay=0.01, combine="mean")
    ensemble = simulate(problem, d=12, seeds=2, n_test=10, trainer=ps.LBFGS(tol=1e-3))
    assert (ensemble.overlap > 1.5 * ensemble.cross_target_overlap).all()
    assert (ensemble.estimation_error < 0.1 * HALF.second_moment).all()
    scarce = simulate(problem.replace(alpha=0.1), d=12, seeds=2, n_test=10, trainer=ps.LBFGS(tol=1e-3))
    assert (scarce.overlap < 1.5 * scarce.cross_target_overlap).all()


def test_the_lowest_of_several_starts_is_kept():
    problem = ps.multihead_attention(HALF, alpha=0.3, weight_decay=0.01, noise=0.2, combine="mean")
    ensemble = simulate(problem, d=12, seeds=2, starts=4, n_test=10, trainer=ps.LBFGS(tol=1e-4))
    assert ensemble.losses.shape == (2, 4)
    np.testing.assert_allclose(ensemble.train_loss, ensemble.losses.min(axis=1), rtol=1e-12)
    apart = ensemble.losses.max(axis=1) / ensemble.losses.min(axis=1) - 1.0
    assert (apart > 1e-3).any()  # this little data leaves several minima
    said = [line for line in ensemble.caveats if "4 starts ended at losses up to" in line]
    assert len(said) == int((apart > 1e-3).sum())


@pytest.mark.parametrize("penalty", ["weight-decay", "frobenius"])
def test_the_duality_gap_bounds_the_loss(penalty):
    objective = build(d=8, n=60, combine="sum", penalty=penalty)
    best = lbfgs(EXACT, objective, start(objective, np.random.default_rng(1)))
    rng = np.random.default_rng(2)
    for size in (1e-3, 1e-2, 1e-1):
        W = rng.standard_normal(best.S.shape)
        S = best.S + size * W @ W.transpose(0, 2, 1) / 8
        data = objective.at_S(S, np.ones(1))
        loss = data.value + objective.penalty_at(S)
        assert 0 < loss - best.loss <= certify(objective, S, data).gap * loss


@pytest.mark.parametrize("penalty", ["weight-decay", "frobenius"])
def test_the_certificate_knows_a_minimum(penalty):
    objective = build(d=10, n=300, penalty=penalty, weight_decay=0.02)
    found, _ = lowest(EXACT, objective, 2, np.random.default_rng(1))
    assert found.certificate.residual < 1e-4
    assert found.certificate.gap == inf  # no bound is known for a softmax
    away = found.S + 0.02 * np.eye(10)
    assert certify(objective, away, objective.at_S(away, np.ones(1))).residual > 1e-3
    other = Objective(objective.problem.replace(weight_decay=0.03), objective.sequences)
    assert certify(other, found.S, other.at_S(found.S, np.ones(1))).residual > 1e-2


def test_a_saddle_point_is_left():
    """A factor that has lost directions is stationary at a minimum of lower rank; the certificate sees it."""
    objective = build(d=10, n=300, weight_decay=0.01)
    whole = start(objective, np.random.default_rng(1))
    narrow = whole.reshape(2, 10, 10).copy()
    narrow[:, :, 1:] = 0.0
    left, best = lbfgs(EXACT, objective, narrow.ravel()), lbfgs(EXACT, objective, whole)
    assert (left.certificate.ranks > 0.1).all()
    assert left.loss == pytest.approx(best.loss, rel=1e-4)


def test_a_narrow_head_is_as_narrow_as_it_is():
    problem = ps.multihead_attention(HALF, alpha=1.0, weight_decay=0.001, kappa=0.25, combine="concatenate")
    ensemble = simulate(problem, d=12, seeds=1, n_test=10)
    assert ensemble.rank[0] <= 0.25
    assert np.count_nonzero(ensemble.eigenvalues[0] > 1e-9) <= 6


def test_what_is_not_of_a_problem_is_not_told():
    told = str(simulate(ps.multihead_attention(HALF, alpha=0.5, weight_decay=0.1, n_heads=1), d=8, n_test=10, seeds=2))
    assert "cross_overlap" not in told
    assert "gain" not in told
    problem = ps.multihead_attention(HALF, alpha=0.5, weight_decay=0.1, target_gain=1.2, combine="mean")
    told = str(simulate(problem, d=8, n_test=10, seeds=2))
    assert "cross_overlap" in told
    assert "gain" in told


def test_an_early_stop_and_odd_widths_are_said():
    problem = ps.multihead_attention(HALF, alpha=0.5, weight_decay=0.01, kappa=0.75, combine="mean")
    ensemble = simulate(problem, d=9, seeds=1, starts=1, trainer=ps.LBFGS(steps=3), n_test=10)
    assert ensemble.caveats[:2] == (
        "kappa d = 6.75 is not a whole number: the networks have 7.",
        "kappa_0 d = 4.5 is not a whole number: the networks have 4.",
    )
    assert "seed 0: L-BFGS stopped after 3 steps with a relative gradient of" in ensemble.caveats[2]


PROBLEM = ps.multihead_attention(HALF, alpha=0.5, weight_decay=0.01, combine="mean")


@pytest.mark.parametrize(
    ("problem", "options", "text"),
    [
        (PROBLEM, {"trainer": ps.Adam()}, "`trainer` must be a LBFGS: heads that are learned together are trained by"),
        (PROBLEM, {"d": 1}, "`d` must be a whole number >= 2: it is the dimension of a token"),
        (PROBLEM, {"n_test": 0}, "`n_test` must be a whole number >= 1: the test error is a mean over them"),
        (PROBLEM, {"starts": 0}, "`starts` must be a whole number >= 1: there must be one"),
        (PROBLEM.replace(n_heads=1), {"starts": 2}, "`starts` must be left out here: heads that outputs tell apart"),
        (PROBLEM.replace(combine="sum"), {"starts": 2}, "`starts` must be left out here: heads that outputs tell"),
        (PROBLEM.replace(alpha=1e-5), {}, "`alpha` must be above 0.005 at d = 10: alpha times 100 is the number"),
    ],
)
def test_bad_input_is_said_in_words(problem, options, text):
    with pytest.raises(ValueError, match=re.escape(text)):
        simulate(problem, **{"d": 10, "seeds": 1, **options})


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr("presage.training.ordered_sums.SMALL", 0)
    found = []
    for cores in (1, 2, 3):
        monkeypatch.setattr("presage.protocol.ensemble.available_cores", lambda cores=cores: cores)
        found.append(ps.simulate(PROBLEM, d=12, seeds=1, starts=1, trainer=ps.LBFGS(tol=1e-2), n_test=300))
    for name in ("train_loss", "test_error", "estimation_error", "eigenvalues", "residual"):
        for other in found[1:]:
            np.testing.assert_array_equal(getattr(other, name), getattr(found[0], name))


def test_the_rank_of_summed_heads_is_that_of_their_sum():
    """Two heads of width .3 d sum to more than either can hold."""
    problem = ps.multihead_attention(HALF, alpha=1.0, weight_decay=0.05, noise=0.2, combine="sum", kappa=0.3)
    found = ps.simulate(problem, d=20, seeds=1, n_test=10, progress=False)
    assert found.rank[0] == pytest.approx(np.mean(found.eigenvalues[0] > 0.0))
    assert found.rank[0] > 0.4


def test_a_sweep_has_columns_of_what_is_measured():
    """One head has no other, and no gain is learned: a table of such networks has no column of nothing."""
    problem = ps.multihead_attention(ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.1, n_heads=1)
    options: dict[str, Any] = {"d": 6, "seeds": 2, "n_test": 100, "processes": 1}
    table = ps.sweep(problem, ps.simulate, noise=[0.0, 0.5], **options)
    assert {"test_error", "rank", "rank_bar", "q"} <= set(table.data_vars)
    assert not {"cross_overlap", "cross_target_overlap_bar", "gain"} & set(table.data_vars)
    numbers = [name for name, column in table.data_vars.items() if column.dtype.kind == "f"]
    assert not [name for name in numbers if bool(table[name].isnull().all())]
    heads = ps.sweep(problem, ps.simulate, n_heads=[1, 2], **options)  # side by side the one head has a blank
    assert heads["cross_overlap"].isnull().values.tolist() == [True, False]
    assert heads["rank"].notnull().all()
