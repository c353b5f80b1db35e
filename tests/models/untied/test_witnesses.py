"""Theory against trained heads of two sizes, extrapolated as a + b/d: every mask, both penalties, both outputs."""

from __future__ import annotations

from dataclasses import replace

import pytest

import presage as ps
from tests.models.untied.problems import LOW, cross, itself

CASES = {
    "two keys": (cross(), (24, 48)),
    "three keys": (cross(n_keys=3, alpha=0.6), (20, 40)),
    "each other": (cross(mask="off-diagonal", n_tokens=3, alpha=0.7), (20, 40)),
    "those before": (cross(mask="causal", n_tokens=4, alpha=0.7), (20, 40)),
    "low rank, linear": (cross(target=LOW, output="linear", alpha=0.3, weight_decay=0.1), (24, 48)),
    "themselves too, ridge": (itself(weight_decay=0.01, penalty="frobenius"), (24, 48)),
    "themselves too": (itself(), (20, 40)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_theory_agrees_with_trained_heads(name):
    problem, sizes = CASES[name]
    heads = [ps.simulate(problem, d=d, seeds=6, processes=1, progress=False) for d in sizes]
    comparison = ps.compare(ps.solve(problem), *heads)
    assert all(abs(row.z) < 3.0 for row in comparison.rows), str(comparison)


@pytest.mark.slow
def test_a_wrong_count_of_samples_is_seen():
    problem = cross()
    heads = [ps.simulate(problem, d=d, seeds=6, processes=1, progress=False) for d in (24, 48)]
    wrong = replace(ps.solve(problem.replace(alpha=2.0**0.5)), problem=problem)
    comparison = ps.compare(wrong, *heads)
    assert any(abs(row.z) > 3.0 for row in comparison.rows)
