"""Both transitions: the outlier begins at the edge, the alignment at zero, thresholds are where it does."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

import presage as ps
from presage.models.pooling.theory.pooled_law import PooledLaw
from presage.models.pooling.theory.transitions import (
    alignment,
    least_samples,
    outlier,
    stands_out,
    table_alignment,
    table_outlier,
)

RATIOS = [(0.5, 0.5), (0.25, 1.0), (2.0, 0.3), (3.0, 5.0)]


def critical(delta, gamma):
    """The t at which it comes out, by bisection of the condition."""
    low, high = 1e-9, 1e3
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if stands_out(middle, delta, gamma) else (middle, high)
    return high


@pytest.mark.parametrize(("delta", "gamma"), RATIOS)
def test_the_outlier_leaves_the_edge_where_it_begins(delta, gamma):
    t, edge = critical(delta, gamma), PooledLaw(delta, gamma).upper_edge
    assert outlier(t, delta, gamma) == pytest.approx(edge, rel=1e-9)
    assert alignment(t, delta, gamma, 1.0) == pytest.approx(0.0, abs=1e-9)
    # It touches the edge and rises from there: the outlier is lambda(1/t), which turns at the edge.
    assert outlier(1.01 * t, delta, gamma) > edge
    assert outlier(2.0 * t, delta, gamma) == pytest.approx(PooledLaw(delta, gamma).position(1.0 / (2.0 * t)), rel=1e-12)


@pytest.mark.parametrize(("delta", "gamma"), RATIOS)
def test_thresholds_are_where_it_stands_out(delta, gamma):
    t = critical(delta, gamma)
    assert 1.0 / least_samples(t, delta) == pytest.approx(gamma, rel=1e-9)
    assert least_samples(0.99 * delta**0.5, delta) == inf
    assert least_samples(-1.0, delta) == inf


def test_many_sequences_are_the_table():
    """gamma -> 0: transition 2 becomes transition 1, and the alignment is that of the table with the empirical mean."""
    t, delta = 1.3, 0.4
    assert outlier(t, delta, 1e-9) == pytest.approx(table_outlier(t, delta), rel=1e-8)
    rho = 0.7
    assert alignment(t, delta, 1e-9, rho) == pytest.approx(rho / (rho + delta) * table_alignment(t, delta), rel=1e-8)
    assert table_outlier(delta**0.5 * (1 + 1e-9), delta) == pytest.approx(PooledLaw(delta, 1e-9).upper_edge, rel=1e-4)


def test_thresholds_of_a_problem():
    problem = ps.attention_pooling(
        ps.MeanPooling(), alpha=2.0, vocabulary=2.0, signal=1.0, classes=ps.AlignedTokens(0.5)
    )
    found = ps.thresholds(problem)
    below, above = (ps.solve(problem.replace(alpha=factor * found.outlier)) for factor in (0.999, 1.001))
    assert (below.alignment, below.top, below.is_found) == (0.0, below.edge, False)
    assert above.is_found
    assert 0.0 < above.alignment < 0.01
    assert any("finite sizes smear that" in line for line in above.caveats)
    hidden = ps.thresholds(problem.replace(signal=0.0, r=0.2))
    assert hidden.outlier == inf
    assert "the table itself hides the class" in hidden.caveats[0]
    least = float(hidden.caveats[0].split("signal of ")[1].split(" on")[0])
    assert ps.thresholds(problem.replace(signal=least * 1.01, r=0.2)).outlier < inf
    assert ps.thresholds(problem.replace(signal=least * 0.99, r=0.2)).outlier == inf


def test_few_tokens_have_a_caveat():
    problem = ps.attention_pooling(
        ps.MeanPooling(), alpha=2.0, vocabulary=2.0, signal=1.0, classes=ps.AlignedTokens(0.5), n_tokens=2
    )
    assert "a sum of about 2 tokens" in ps.solve(problem).caveats[0]
    assert ps.solve(problem.replace(n_tokens=8)).caveats == ()
    # Eight tokens of which one has all the weight are one.
    alone = problem.replace(n_tokens=8, pooling=ps.GivenPooling([1.0] + [0.0] * 7))
    assert alone.tokens_that_count == pytest.approx(1.0)
    assert "a sum of about 1 tokens" in ps.solve(alone).caveats[0]
    # Where tokens tell nothing of each other all weights are as good, and the best are equal ones.
    even = problem.replace(n_tokens=8, pooling=ps.BestPooling(), r=0.0)
    np.testing.assert_allclose(even.weights, 8**-0.5)


def test_without_a_signal_it_is_said():
    problem = ps.attention_pooling(
        ps.MeanPooling(), alpha=200.0, vocabulary=2.0, signal=0.0, classes=ps.AlignedTokens(0.5), n_tokens=16
    )
    found = ps.solve(problem)
    assert found.is_found
    assert found.alignment == 0.0
    assert found.table_alignment > 0.5
    assert "chance difference" in found.caveats[-1]
    assert "chance difference" in ps.thresholds(problem).caveats[-1]
    tables = ps.simulate(problem, d=60, seeds=4, processes=1)
    assert 0.0 < tables.mean("alignment") < 0.1
    assert tables.mean("mean_alignment") > 0.5


def test_the_largest_eigenvalue_is_an_edge_where_nothing_stands_out():
    problem = ps.attention_pooling(
        ps.MeanPooling(), alpha=0.5, vocabulary=1.0, signal=0.2, classes=ps.AlignedTokens(0.3), n_tokens=8
    )
    powers = {one.name: one.correction for one in ps.solve(problem).known_observables}
    assert powers["top"] == powers["edge"] == pytest.approx(2 / 3)
    powers = {one.name: one.correction for one in ps.solve(problem.replace(signal=9.0, r=0.9)).known_observables}
    assert (powers["top"], powers["edge"]) == (1.0, pytest.approx(2 / 3))


def test_nothing_cancels_where_the_table_is_small():
    """gain = 1: t is the signal, also beside a delta that is a billion times as large."""
    problem = ps.attention_pooling(
        ps.MeanPooling(), alpha=1.0, vocabulary=1e-6, signal=1e-3, classes=ps.AlignedTokens(0.0), n_tokens=8
    )
    assert ps.solve(problem).effective_signal == pytest.approx(1e-3, rel=1e-9)
