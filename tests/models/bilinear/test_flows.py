"""Flows of matrices without symmetry, beside data: regression, and scores of tokens with and without their diagonal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import presage as ps

TARGET = ps.SingularValueMasses([0.0, 2.0**0.5], [0.5, 0.5])  # the same size, 1, for every matrix
UNTIED = ps.untied_linear_attention(TARGET, alpha=0.5, weight_decay=None, noise=0.3, n_tokens=2)
PROBLEMS = {
    "regression": ps.bilinear_regression(ps.SingularValueMasses([1.0], [1.0], 2.0), alpha=0.8, noise=0.3),
    "cross": UNTIED,
    "distinct": UNTIED.replace(pairs="distinct", n_tokens=3),
    "all": UNTIED.replace(pairs="all"),
}


def test_the_seen_values():
    way = ps.trajectory(UNTIED, steps=2, trainer=ps.MatrixFlow(first=1.0, until=4.0))
    np.testing.assert_allclose(way.estimation_error[1:], [0.316, 0.209], atol=5e-4)
    np.testing.assert_allclose(way.test_error, 4.0 * (way.estimation_error + 0.3), rtol=1e-12)
    assert way.train_error[0] == pytest.approx(4.0 * 1.3, rel=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
def test_matrices_flow_as_predicted(name):
    problem = PROBLEMS[name]
    way = ps.trajectory(problem, steps=4, trainer=ps.MatrixFlow(first=0.3, until=20.0))
    sizes = {"regression": (10, 20), "distinct": (32, 64)}.get(name, (16, 32))
    options = {"trainer": way.trainer, "keep": "trajectory", "n_test": 100, "processes": 1}
    networks = [ps.simulate(problem, d=d, seeds=10, **options) for d in sizes]
    compared = ps.compare(way, *networks)
    assert compared.agrees, str(compared)
    # A clock that is off by a factor of sqrt(2) is told apart.
    fast = ps.trajectory(problem, steps=4, trainer=ps.MatrixFlow(first=0.3 * 2**0.5, until=20.0 * 2**0.5))
    assert not ps.compare(replace(way, values=fast.values), *networks).agrees


def test_descent_goes_to_the_flow_and_to_least_squares():
    flow = ps.trajectory(UNTIED, steps=1, trainer=ps.MatrixFlow(until=2.0))
    steps = ps.trajectory(UNTIED, steps=2, trainer=ps.MatrixDescent(rate=1e-3, until=2000))
    for name in flow.values:
        assert steps.values[name][-1] == pytest.approx(flow.values[name][-1], rel=3e-3)
    # alpha_eff = 2: the error of least squares is noise phi/(1 - phi).
    end = ps.trajectory(UNTIED, steps=1, trainer=ps.MatrixFlow(until=1e6))
    assert end.estimation_error[-1] == pytest.approx(0.3 * 0.5 / 0.5, rel=1e-7)


def test_one_token_with_its_diagonal_is_symmetric():
    """A sample of one token sees the symmetric part alone: what is antisymmetric of the target stays unlearned."""
    many = UNTIED.replace(pairs="all", n_tokens=1, noise=0.0, alpha=5.0)
    way = ps.trajectory(many, steps=1, trainer=ps.MatrixFlow(until=1e3))
    assert way.estimation_error[0] == pytest.approx(1.0, rel=1e-9)
    assert way.estimation_error[-1] == pytest.approx(0.5, rel=1e-9)
    assert way.test_error[-1] == pytest.approx(0.0, abs=1e-9)
    tied = ps.unfactorized_linear_attention(
        ps.Semicircle(), ridge=0.0, alpha=5.0
    )  # of size 1, and here half of it is symmetric
    same = ps.trajectory(tied, steps=3, trainer=ps.MatrixFlow(until=4.0))
    half = ps.trajectory(many, steps=3, trainer=ps.MatrixFlow(until=2.0))
    np.testing.assert_allclose(half.test_error, 0.5 * same.test_error, rtol=1e-9)


def test_mistakes_are_told():
    with pytest.raises(ps.InputError, match=r"`trainer` must be a MatrixFlow or a MatrixDescent: these are the ways"):
        ps.trajectory(UNTIED, steps=2, trainer=ps.LBFGS())
    with pytest.raises(ps.SolveError, match=r"Descent leaves the finite numbers\. Use a smaller rate, below"):
        ps.trajectory(UNTIED, steps=2, trainer=ps.MatrixDescent(rate=50.0, until=1000))
    large = ps.trajectory(UNTIED, steps=3, trainer=ps.MatrixDescent(rate=1.0))
    assert any("descent settles below 0.686 only" in line for line in large.caveats)
    decaying = UNTIED.replace(weight_decay=0.1)
    networks = ps.simulate(decaying, d=8, seeds=2, trainer=ps.MatrixFlow(until=1.0), n_test=20, processes=1)
    with pytest.raises(ps.InputError, match="stopped on their way, which `trajectory` predicts"):
        ps.compare(ps.solve(decaying), networks)


def test_networks_say_that_the_weight_decay_plays_no_part():
    flow = ps.MatrixFlow(until=2.0, steps=3)
    for decay, words in ((0.3, ["the weight decay plays no part"]), (0.0, [])):
        problem = ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=1.0, noise=0.1, weight_decay=decay)
        said = ps.simulate(problem, d=8, seeds=1, trainer=flow, n_test=10, progress=False).caveats
        assert len(said) == len(words)
        assert all(word in line for word, line in zip(words, said, strict=True))
