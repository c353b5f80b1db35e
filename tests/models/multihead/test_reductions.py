"""Heads that are learned apart: side by side, summed, one alone; and what is refused."""

from __future__ import annotations

import dataclasses
from math import sqrt
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.multihead.theory import separate_heads
from presage.models.multihead.theory.separate_heads import drawn_sum, sum_of_laws

LAW, OTHER = ps.MarchenkoPastur(0.5), ps.MarchenkoPastur(0.2)
NUMBERS: dict[str, Any] = {"alpha": 0.8, "weight_decay": 0.05, "noise": 0.2}


def test_heads_side_by_side_are_problems_of_one_head():
    both = ps.solve(ps.multihead_attention((LAW, OTHER), combine="concatenate", **NUMBERS))
    one, other = (ps.solve(ps.attention(law, **NUMBERS)) for law in (LAW, OTHER))
    for name in ("test_error", "train_loss", "train_error"):
        assert getattr(both, name) == pytest.approx(getattr(one, name) + getattr(other, name), rel=1e-12)
    for name in ("estimation_error", "rank"):
        assert getattr(both, name) == pytest.approx(0.5 * (getattr(one, name) + getattr(other, name)), rel=1e-12)
    assert both.overlap == pytest.approx(0.5 * (one.m + other.m), rel=1e-12)
    means = [answer.spectrum.moment(1) for answer in (one, other)]
    assert both.cross_overlap == pytest.approx(means[0] * means[1], rel=1e-6)
    crossed = 0.5 * (means[0] * OTHER.mean + means[1] * LAW.mean)
    assert both.cross_target_overlap == pytest.approx(crossed, rel=1e-6)
    assert both.gain is None
    assert both.caveats[0].startswith("exact")


def test_heads_side_by_side_with_a_ridge_are_free_of_each_other():
    """The mean of a matrix with a ridge is that of the target, shrunk."""
    both = ps.solve(ps.multihead_attention(LAW, combine="concatenate", penalty="frobenius", **NUMBERS))
    one = ps.solve(ps.unfactorized_attention(LAW, alpha=0.8, ridge=0.05, noise=0.2))
    assert both.cross_overlap == pytest.approx((one.m / LAW.second_moment * LAW.mean) ** 2, rel=1e-9)
    assert both.test_error == pytest.approx(2.0 * one.test_error, rel=1e-12)


def test_one_head_is_attention():
    for combine in ("mean", "concatenate"):
        alone = ps.solve(ps.multihead_attention(LAW, n_heads=1, combine=combine, **NUMBERS))
        exact = ps.solve(ps.attention(LAW, **NUMBERS))
        for name in ("test_error", "train_loss", "train_error", "estimation_error", "rank"):
            assert getattr(alone, name) == getattr(exact, name), name
        assert alone.cross_overlap is None
        assert set(alone.compared) == set(alone.error_bars)


def test_side_by_side_with_gains_every_head_has_its_own():
    problem = ps.multihead_attention(LAW, n_heads=2, combine="concatenate", target_gain=1.5, **NUMBERS)
    both, alone = ps.solve(problem), ps.solve(problem.replace(n_heads=1, combine="mean"))
    assert both.gain == pytest.approx(alone.gain, rel=1e-12)
    assert both.train_loss == pytest.approx(2.0 * alone.train_loss, rel=1e-12)
    assert both.estimation_error == pytest.approx(alone.estimation_error, rel=1e-12)


@pytest.mark.parametrize("penalty", ["weight-decay", "frobenius"])
def test_summed_heads_are_one_head(penalty):
    """Of one head a sum is linear attention; of two the matrices that are drawn have the same errors."""
    single = ps.solve(ps.multihead_attention(LAW, n_heads=1, combine="sum", penalty=penalty, **NUMBERS))
    if penalty == "weight-decay":
        exact = ps.solve(ps.linear_attention(LAW, n_tokens=2, **NUMBERS))
    else:
        exact = ps.solve(ps.Problem(LAW, ps.Linear(2), ps.Frobenius(0.05), 0.8, 0.2))
    for name in ("test_error", "train_loss", "train_error", "estimation_error", "rank"):
        assert getattr(single, name) == pytest.approx(getattr(exact, name), rel=1e-12), name


def test_the_law_of_a_sum():
    law, unit = sum_of_laws([LAW] * 3)
    drawn = drawn_sum([LAW] * 3, 400, 0)
    assert unit == sqrt(3.0)
    for k in (1, 2, 3):
        assert drawn.moment(k) == pytest.approx(unit**k * law.moment(k), rel=0.01)
    law, unit = sum_of_laws([LAW, OTHER])
    drawn = drawn_sum([LAW, OTHER], 400, 0)
    assert law.mean == pytest.approx(drawn.mean, rel=1e-3)
    assert law.second_moment == pytest.approx(drawn.second_moment, rel=0.01)


def test_a_sum_in_units_is_a_sum_that_is_drawn(monkeypatch):
    """Equal Marchenko-Pastur laws have a sum that is known; its answer is that of sums that are drawn."""
    problem = ps.multihead_attention(LAW, combine="sum", **NUMBERS)
    known = ps.solve(problem)
    monkeypatch.setattr(separate_heads, "is_closed", lambda laws: False)
    monkeypatch.setattr(separate_heads, "SUM_SIZE", 200)
    drawn = ps.solve(problem)
    assert any("drawn at size 200" in line for line in drawn.caveats)
    for name in ("test_error", "train_loss", "train_error", "estimation_error", "rank", "overlap"):
        assert getattr(drawn, name) == pytest.approx(getattr(known, name), rel=0.01, abs=1e-3), name
    assert not np.isclose(drawn.train_loss, known.train_loss, rtol=1e-9)


REFUSED = [
    ({"target": (LAW, OTHER), "n_heads": 3}, "`n_heads` must be 2"),
    ({"kappa": 0.5, "penalty": "frobenius"}, "`kappa` must be left out"),
    ({"combine": "sum", "beta": 2.0}, "`beta` must be left out"),
    ({"combine": "sum", "beta_0": 2.0}, "`beta_0` must be left out"),
    ({"combine": "sum", "target_gain": 1.5}, "`target_gain` must be left out"),
    ({"n_tokens": 3, "combine": "mean"}, "`n_tokens` must be 2 here"),
    ({"n_tokens": 3, "combine": "concatenate", "target_gain": 1.5}, "`n_tokens` must be 2 here"),
    ({"n_tokens": 1, "combine": "concatenate"}, "`n_tokens` must be at least 2"),
    ({"target": ()}, "`target` must be a law, or a tuple of laws"),
    ({"weight_decay": 0.0}, "`weight_decay` must be a finite number > 0"),
    ({"combine": "product"}, '`combine` must be "concatenate", "mean" or "sum"'),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_is_refused(changes, message):
    with pytest.raises(ps.InputError) as refused:
        ps.multihead_attention(**{"target": LAW, **NUMBERS, **changes})
    assert str(refused.value).startswith(message)


def test_laws_that_are_all_the_same_are_one():
    both = ps.multihead_attention((LAW, LAW), **NUMBERS)
    assert both == ps.multihead_attention(LAW, **NUMBERS)
    assert both.replace(kappa_0=0.3).targets == (ps.MarchenkoPastur(0.3),) * 2
    assert ps.multihead_attention((LAW, OTHER), **NUMBERS).targets == (LAW, OTHER)


@pytest.mark.slow
def test_narrow_heads_are_refused():
    problem = ps.multihead_attention(LAW, alpha=2.0, weight_decay=0.01, noise=0.2, kappa=0.3, combine="mean")
    with pytest.raises(ps.SolveError, match="narrower than the rank") as failure:
        ps.solve(problem, accuracy=0.1)
    assert failure.value.partial.rank > 0.3


@pytest.mark.slow
def test_heads_that_are_not_specialised_say_so():
    answer = ps.solve(
        ps.multihead_attention(LAW, alpha=0.3, weight_decay=0.01, noise=0.2, combine="mean"), accuracy=0.1
    )
    assert any("not specialised" in line for line in answer.caveats)
    assert answer.error_bars["test_error"] > 0.05 * answer.test_error
    assert answer.error_bars["overlap"] > 0.2 * answer.overlap


def test_gains_that_do_not_settle_are_no_answer(monkeypatch):
    """Side by side as for one head: what has not settled is an error, and not an exact number."""
    from presage.models.multihead.theory import state_evolution
    from presage.solving import straightened

    monkeypatch.setattr(state_evolution, "MOST", 2)
    monkeypatch.setattr(straightened, "MOST_CAREFUL", 1)
    problem = ps.multihead_attention(
        ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.2, noise=0.5, combine="concatenate", target_gain=1.5
    )
    with pytest.raises(ps.SolveError, match="do not settle"):
        ps.solve(problem)
    partial = ps.solve(problem, throw=False)
    assert any("do not settle" in line for line in partial.caveats)


@pytest.mark.parametrize("combine", ["concatenate", "sum"])
def test_a_head_alone_that_fails_is_returned_where_nothing_is_thrown(combine, monkeypatch):
    from presage.models.attention.theory.solve import solve as solve_one

    problem = ps.multihead_attention(LAW, alpha=0.5, weight_decay=0.1, noise=0.2, combine=combine)
    good = ps.solve(problem)

    def failing(one, *, throw=True):
        if throw:
            raise ps.SolveError("One head fails.", "Use another.", None)
        return dataclasses.replace(solve_one(one), message="failed")

    monkeypatch.setattr(separate_heads, "solve_one", failing)
    with pytest.raises(ps.SolveError, match="One head fails"):
        ps.solve(problem)
    assert ps.solve(problem, throw=False).test_error == good.test_error


def test_heads_of_the_target_that_are_one_matrix():
    """Multiples of the identity are the same in every frame: nothing tells their heads apart."""
    law = ps.PointMasses([1.0], [1.0])
    found = ps.solve(
        ps.multihead_attention(law, alpha=2.0, weight_decay=0.05, noise=0.2, combine="mean", penalty="frobenius"),
        accuracy=0.05,
    )
    assert found.overlap == pytest.approx(found.cross_target_overlap, rel=1e-6)


@pytest.mark.parametrize(
    ("problem", "draft"),
    [
        (ps.multihead_attention(LAW, combine="mean", **NUMBERS), 0.05),
        (ps.multihead_attention(LAW, **NUMBERS), None),
        (ps.untied_attention(ps.GaussianProduct(0.5), alpha=1.0, weight_decay=0.02, mask="self"), 0.05),
        (ps.untied_attention(ps.GaussianProduct(0.5), alpha=1.0, weight_decay=0.02), 0.01),
        (ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=1.0, weight_decay=0.02), None),
        (ps.attention(LAW, alpha=1.0, weight_decay=0.02), 0.01),
    ],
)
def test_a_first_answer_on_the_page_is_coarser_than_the_last(problem, draft):
    from presage.page.answers import coarse_options

    assert coarse_options("solve", problem) == ({} if draft is None else {"accuracy": draft})


def test_averaged_heads_that_cost_too_much_are_none():
    found = ps.solve(ps.multihead_attention(LAW, alpha=1.0, weight_decay=20.0, noise=0.25, combine="mean"))
    assert (found.rank, found.overlap, found.cross_overlap) == (0.0, 0.0, 0.0)
    assert found.train_loss == pytest.approx(found.test_error)
    assert not any("not specialised" in line for line in found.caveats)


@pytest.mark.slow
def test_heads_that_stay_alike_are_beside_networks():
    """Weight decay that leaves both heads one matrix: their response to differences has no noise to be seen by."""
    problem = ps.multihead_attention(LAW, alpha=1.0, weight_decay=0.3, noise=0.25, combine="mean")
    found = ps.solve(problem)
    assert any("not specialised" in line for line in found.caveats)
    heads = ps.simulate(problem, d=50, seeds=4, processes=1, progress=False)
    for name, within in (("train_loss", 0.03), ("test_error", 0.06), ("rank", 0.06)):
        assert getattr(heads, name).mean() == pytest.approx(getattr(found, name), rel=within), name
