"""Predictions for several heads beside trained networks of two sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest

import presage as ps

LAW, OTHER = ps.MarchenkoPastur(0.5), ps.MarchenkoPastur(0.2)
AVERAGED = ps.multihead_attention(LAW, alpha=2.0, weight_decay=0.01, noise=0.2, combine="mean")
CASES = {
    "one head with a gain": (
        ps.multihead_attention(LAW, alpha=0.5, weight_decay=0.2, noise=0.5, n_heads=1, target_gain=1.5),
        {20: 12, 40: 8},
    ),
    "one head with a gain, less decay": (
        ps.multihead_attention(LAW, alpha=0.5, weight_decay=0.02, noise=0.5, n_heads=1, target_gain=1.5),
        {20: 10, 40: 6},
    ),
    "side by side": (ps.multihead_attention(LAW, alpha=0.5, weight_decay=0.05, noise=0.2), {20: 8, 40: 4}),
    "summed": (ps.multihead_attention(LAW, alpha=0.5, weight_decay=0.1, noise=0.2, combine="sum"), {20: 12, 40: 8}),
    "averaged": (AVERAGED, {20: 10, 40: 5}),
    "averaged with a gain": (AVERAGED.replace(target_gain=1.5), {12: 4, 20: 3}),
    "three averaged": (AVERAGED.replace(alpha=3.0, n_heads=3), {14: 4, 22: 3}),
    "averaged, two laws": (
        ps.multihead_attention((LAW, OTHER), alpha=2.0, weight_decay=0.01, noise=0.2, combine="mean"),
        {18: 5, 30: 3},
    ),
    "averaged, few samples": (AVERAGED.replace(alpha=0.3), {24: 5, 40: 3}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_theory_and_networks_agree(name):
    problem, sizes = CASES[name]
    ensembles = [ps.simulate(problem, d=d, seeds=seeds, processes=1) for d, seeds in sizes.items()]
    answer = ps.solve(problem, accuracy=0.03)
    z = {row.name: row.z for row in ps.compare(answer, *ensembles).rows}
    assert set(z) == {observable.name for observable in problem.model.measured if problem.has(observable)}
    assert {name: value for name, value in z.items() if not abs(value) < 3.0} == {}
    if name == "one head with a gain":  # networks tell another gain apart
        wrong = replace(answer, gain=ps.solve(problem.replace(weight_decay=0.05)).gain)
        assert abs(ps.compare(wrong, *ensembles)["gain"].z) > 3.0
