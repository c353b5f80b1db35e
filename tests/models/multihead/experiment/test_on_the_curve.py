"""Heads that were trained together beside what the theory predicts for them, and beside what it predicts for others."""

from __future__ import annotations

from dataclasses import replace

import pytest

import presage as ps

HALF = ps.MarchenkoPastur(0.5)
APART = {
    "side by side": ps.multihead_attention(HALF, alpha=1.0, weight_decay=0.02, noise=0.2, combine="concatenate"),
    "summed": ps.multihead_attention(HALF, alpha=0.5, weight_decay=0.1, noise=0.2, combine="sum"),
    "summed, ridge": ps.multihead_attention(
        HALF, alpha=0.5, weight_decay=0.5, noise=0.2, combine="sum", penalty="frobenius"
    ),
    "two laws": ps.multihead_attention(
        (HALF, ps.MarchenkoPastur(0.2)), alpha=0.8, weight_decay=0.05, noise=0.1, combine="concatenate"
    ),
}
RIDGE = ps.multihead_attention(HALF, alpha=2.0, weight_decay=0.01, noise=0.2, combine="mean", penalty="frobenius")


def trained(problem, sizes, seeds=5):
    return [ps.simulate(problem, d=d, seeds=seeds, processes=1, trainer=ps.LBFGS(tol=1e-4)) for d in sizes]


def disagreeing(found):
    return [row.name for row in found.rows if not row.agrees]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if "summed" in name else pytest.mark.slow) for name in APART]
)
def test_heads_that_are_learned_apart_are_on_their_curves(name):
    problem = APART[name]
    networks = trained(problem, (16, 32))
    assert disagreeing(ps.compare(ps.solve(problem), *networks)) == []
    other = problem.replace(alpha=0.6 * problem.alpha)
    as_if = [replace(each, problem=other) for each in networks]
    assert disagreeing(ps.compare(ps.solve(other), *as_if)) != []


@pytest.mark.slow
def test_heads_that_are_learned_together_are_on_their_curves():
    """Of a ridge; others are in tests/models/multihead/test_against_networks.py."""
    networks = trained(RIDGE, (20, 40), seeds=4)
    found = ps.compare(ps.solve(RIDGE), *networks)
    assert disagreeing(found) == []
    names = {row.name for row in found.rows}
    assert "cross_overlap" in names
    assert "gain" not in names
