"""Theory against trained heads of two sizes: a learned gain for every mask, and a symmetric target."""

from __future__ import annotations

from dataclasses import replace

import pytest

import presage as ps
from presage.models.untied.theory.channel import Overlaps, Rule, conjugates_of
from tests.models.untied.problems import cross, itself

CASES = {
    "two keys, symmetric": (cross(target=ps.MarchenkoPastur(0.5)), (24, 48)),
    "two keys, a gain": (cross(target_gain=1.5, weight_decay=0.2), (24, 48)),
    "three keys, a gain": (cross(target_gain=0.7, n_keys=3, alpha=0.6, weight_decay=0.05), (20, 40)),
    "those before, a gain": (cross(target_gain=1.5, mask="causal", n_tokens=4, alpha=0.7, weight_decay=0.2), (20, 40)),
    "themselves too, a gain": (itself(target_gain=1.5, weight_decay=0.1), (20, 40)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_theory_agrees_with_trained_heads(name):
    problem, sizes = CASES[name]
    heads = [ps.simulate(problem, d=d, seeds=6, processes=1, progress=False) for d in sizes]
    comparison = ps.compare(ps.solve(problem), *heads)
    assert all(abs(row.z) < 3.0 for row in comparison.rows), str(comparison)
    assert ("gain" in {row.name for row in comparison.rows}) == (problem.target_gain is not None)


@pytest.mark.slow
def test_a_gain_at_fresh_scores_is_not_what_training_finds():
    # The negative control: the gain of least test error, not of least training error.
    problem = cross(target_gain=1.5)
    found = ps.solve(problem)
    overlaps = Overlaps.told(problem.Q_0, found.m, found.q, 0.0)  # no response: proximal points are the fresh scores
    fresh = conjugates_of(problem, overlaps, Rule(96, 0), found.gain).gain
    heads = [ps.simulate(problem, d=d, seeds=6, processes=1, progress=False) for d in (24, 48)]
    right, wrong = (ps.compare(replace(found, gain=gain), *heads).rows for gain in (found.gain, fresh))
    assert [abs(row.z) < 3.0 for row in right if row.name == "gain"] == [True]
    assert [abs(row.z) > 5.0 for row in wrong if row.name == "gain"] == [True]
