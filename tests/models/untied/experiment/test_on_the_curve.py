"""Trained queries and keys beside what the theory predicts for them, and beside what it predicts for others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import presage as ps

HALF = ps.GaussianProduct(0.5)
PROBLEMS = {
    "cross": ps.untied_attention(HALF, alpha=1.0, weight_decay=0.02, noise=0.25),
    "off-diagonal": ps.untied_attention(
        HALF, alpha=0.7, weight_decay=0.02, noise=0.25, n_tokens=3, mask="off-diagonal"
    ),
    "causal": ps.untied_attention(HALF, alpha=2.0, weight_decay=0.05, noise=0.1, n_tokens=3, mask="causal"),
    "two temperatures": ps.untied_attention(HALF, alpha=1.0, weight_decay=0.05, noise=0.1, beta=1.3, beta_0=0.7),
    "three keys": ps.untied_attention(ps.GaussianProduct(0.3), alpha=0.5, weight_decay=0.02, noise=0.1, n_keys=3),
    "self": ps.untied_attention(HALF, alpha=1.0, weight_decay=0.02, noise=0.25, mask="self"),
    "self, linear": ps.untied_attention(HALF, alpha=0.4, weight_decay=0.1, noise=0.25, mask="self", output="linear"),
    "self, ridge": ps.untied_attention(
        HALF, alpha=1.0, weight_decay=0.01, noise=0.25, mask="self", penalty="frobenius"
    ),
    "self, symmetric": ps.untied_attention(
        ps.MarchenkoPastur(0.5), alpha=1.0, weight_decay=0.02, noise=0.25, mask="self"
    ),
}


def trained(problem, sizes=(30, 60), seeds=5):
    return [ps.simulate(problem, d=d, seeds=seeds, processes=1, trainer=ps.LBFGS(tol=1e-4)) for d in sizes]


def test_a_head_is_on_the_curve():
    problem = PROBLEMS["cross"]
    networks = trained(problem, (20, 40))
    found = ps.compare(ps.solve(problem), *networks)
    assert [row.name for row in found.rows if not row.agrees] == []
    other = ps.compare(ps.solve(problem.replace(alpha=0.75)), *(_as_if(each, alpha=0.75) for each in networks))
    assert not other.agrees


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in PROBLEMS if name != "cross"])
def test_heads_are_on_their_curves(name):
    problem = PROBLEMS[name]
    networks = trained(problem)
    found = ps.compare(ps.solve(problem), *networks)
    assert [row.name for row in found.rows if not row.agrees] == []
    names = {row.name for row in found.rows}
    assert ("antisymmetric_error" in names) == (problem.mask == "self")
    if problem.mask == "self" and problem.penalty == "weight-decay":
        return  # a second solution by drawn matrices takes as long as the first
    other = problem.replace(weight_decay=0.5 * (problem.weight_decay or 0.0))
    wrong = ps.compare(ps.solve(other), *(_as_if(each, weight_decay=other.weight_decay) for each in networks))
    assert not wrong.agrees


def test_singular_values_have_the_predicted_law():
    problem = PROBLEMS["cross"]
    (ensemble,) = trained(problem, (40,))
    spectrum = ps.solve(problem).spectrum
    for level in (1e-4, 0.3, 0.8, 1.5):  # what is zero is zero to the accuracy of the training
        below = np.mean(ensemble.singular_values <= level, axis=1)
        tolerance = 4.0 * float(np.std(below, ddof=1)) / np.sqrt(len(below)) + 1.0 / ensemble.d
        assert np.mean(below) == pytest.approx(spectrum.cdf(level), abs=tolerance)


def _as_if(ensemble, **changes):
    """The same networks, said to be of another problem: what the prediction of that one must not agree with."""
    return replace(ensemble, problem=ensemble.problem.replace(**changes))
