"""Stated error bars are honest: two hundred random problems against much finer solves of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import presage as ps
from tests.random_problems import random_problem

REFERENCES = json.loads(Path(__file__).with_name("error_bar_references.json").read_text())
NAMES = ("test_error", "train_error", "train_loss", "estimation_error", "rank")


def misses(index: int) -> dict[str, float]:
    """Distance of each number from its reference, in units of its bar (the reference's own bar taken off)."""
    reference = REFERENCES[str(index)]
    solution = ps.solve(random_problem(index))
    found = {}
    for name in NAMES:
        error = abs(getattr(solution, name) - reference[name]) - reference[f"{name}_bar"]
        floor = 1e-12 * abs(reference[name])  # rounding
        found[name] = max(error, 0.0) / (solution.error_bars[name] + floor + 1e-300)
    return found


def check(indices: range) -> None:
    solved = [index for index in indices if "error" not in REFERENCES[str(index)]]
    assert len(solved) >= 0.97 * len(indices), "too many problems have no solution"
    ratios = {(index, name): ratio for index in solved for name, ratio in misses(index).items()}
    beyond = {key: round(ratio, 2) for key, ratio in ratios.items() if ratio > 1.0}
    assert len(beyond) <= 0.05 * len(ratios), beyond
    assert max(ratios.values()) <= 5.0, beyond


def test_error_bars_cover_the_truth_on_a_sample() -> None:
    check(range(0, 200, 10))


@pytest.mark.slow
def test_error_bars_cover_the_truth() -> None:
    check(range(200))
