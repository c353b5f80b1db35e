"""Both witnesses on the parts of the error: trained networks measure their own, the theory predicts them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import presage as ps

PARTS = ("overfitting", "not_learned", "approximation")


def set_beside(problem: ps.Problem, d: int, seeds: int) -> tuple[ps.Solution, Any, Any]:
    solution = ps.solve(problem)
    networks = ps.simulate(problem, d=d, seeds=seeds, processes=1, keep="features")
    return solution, networks, ps.compare(solution, networks)


def agree(solution: ps.Solution, found: Any) -> None:
    """Each part within 5 % of the whole error and four standard errors: what n/d >= 40 promises."""
    for name in PARTS:
        row = found[name]
        assert abs(row.a - row.prediction) < 0.05 * solution.decomposition.error, row.sentence
        assert abs(row.z) < 4.0, row.sentence


def test_parts_of_a_quadratic_network():
    problem = ps.quadratic_network(ps.PowerLaw(1.25, 80), alpha=100 / 80, weight_decay=1.0, noise=0.5)
    solution, networks, found = set_beside(problem, 80, 6)
    agree(solution, found)
    table = found.features
    assert np.abs(table.z[0][:20]).max() < 4.5
    assert np.mean(table.z[0][:20] ** 2) < 2.5
    assert solution.features.number_learned == np.count_nonzero(networks.features[0, 0] > solution.learned_above)


def test_parts_of_softmax_attention_are_those_of_its_rescaled_matrix():
    problem = ps.attention(ps.PowerLaw(1.25, 60), alpha=1.0, weight_decay=0.05, noise=0.5)
    solution, networks, found = set_beside(problem, 60, 6)
    assert solution.scale < 0.9
    agree(solution, found)
    at = {"split": solution.decomposition.split, "threshold": solution.decomposition.threshold}
    plain = networks.parts(**at).approximation  # of S itself, which is another number
    assert abs(plain.mean() - solution.decomposition.approximation) > 5.0 * plain.std(ddof=1) / np.sqrt(6)


@pytest.mark.slow
def test_overfitting_of_larger_networks_has_the_coefficient_two():
    """Where noise is half of the error; the sum with the coefficient 1, as it has been told, is another number."""
    d, n_eff = 200, 100
    problem = ps.quadratic_network(ps.PowerLaw(1.25, d), alpha=n_eff / d, weight_decay=0.1, noise=0.5)
    solution, networks, found = set_beside(problem, d, 4)
    agree(solution, found)
    said = solution.decomposition
    assert said.overfitting > 0.4 * said.error
    assert found["overfitting"].a == pytest.approx(said.overfitting, rel=0.05)
    f, q = np.moveaxis(networks.directions, 1, 0)
    told = np.where(f <= said.split, f * f - f * q, 0.0).sum(axis=1) / d
    assert told.mean() > 1.2 * said.overfitting
