"""The strength of least test error: no other does better, and Bayes is below it."""

from __future__ import annotations

import pytest

import presage as ps

MP = ps.MarchenkoPastur(0.5)
PROBLEMS = {
    "network": ps.quadratic_network(MP, alpha=0.4, weight_decay=0.1, noise=0.5),
    "attention": ps.attention(MP, alpha=0.3, weight_decay=0.05, noise=0.5),
    "ridge": ps.unfactorized_attention(MP, alpha=0.3, ridge=0.05, noise=0.5),
    "linear ridge": ps.Problem(MP, ps.Linear(2), ps.Frobenius(0.1), alpha=0.3, noise=0.5),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_other_strength_does_better(name):
    problem = PROBLEMS[name]
    best = ps.optimal_regularization(problem)
    assert best.name in ("weight_decay", "ridge")
    assert best.value > 0.0
    for factor in (0.3, 0.9, 1.1, 3.0):
        other = ps.solve(problem.replace(**{best.name: factor * best.value}))
        assert best.test_error < other.test_error + 2.0 * other.error_bars["test_error"]
    assert best.test_error >= ps.bayes_optimal(problem).test_error
    assert best.solution.problem == problem.replace(**{best.name: best.value})


def test_the_start_does_not_matter():
    problem = PROBLEMS["network"]
    far, near = (ps.optimal_regularization(problem.replace(weight_decay=start)) for start in (30.0, 1e-4))
    assert far.value == pytest.approx(near.value, rel=0.02)
    assert far.test_error == pytest.approx(near.test_error, rel=1e-4)


def test_factors_help():
    """The best weight decay of the factorised model beats the best ridge on S itself."""
    for alpha in (0.1, 1.0):
        factorised = ps.optimal_regularization(PROBLEMS["attention"].replace(alpha=alpha))
        free = ps.optimal_regularization(PROBLEMS["ridge"].replace(alpha=alpha))
        assert factorised.test_error < free.test_error


def test_ridge_of_a_gaussian_target_is_bayes_optimal():
    """For a Gaussian matrix the best linear estimate is the best of all: a ridge reaches the Bayes error."""
    problem = ps.Problem(ps.Semicircle(1.5), ps.Linear(1), ps.Frobenius(0.1), alpha=0.4, noise=0.5)
    best = ps.optimal_regularization(problem, tol=1e-4)
    assert best.estimation_error == pytest.approx(ps.bayes_optimal(problem).mmse, rel=1e-6)


def test_clean_labels_want_no_penalty():
    best = ps.optimal_regularization(ps.quadratic_network(MP, alpha=0.45, weight_decay=0.1))
    assert best.value == 0.0
    assert best.estimation_error == 0.0
    assert "vanishes" in str(best)
    identity = ps.optimal_regularization(ps.quadratic_network(ps.PointMasses([1.0]), alpha=3.0, weight_decay=0.1))
    assert (identity.value, identity.estimation_error) == (0.0, 0.0)


def test_the_plateau_of_learning_nothing_is_left():
    problem = ps.quadratic_network(MP, alpha=1e-3, weight_decay=0.01, noise=0.5)
    best = ps.optimal_regularization(problem)
    assert best.solution.rank > 0.0
    assert best.test_error < 3.4977


def test_hopeless_labels_want_all_of_it():
    best = ps.optimal_regularization(ps.quadratic_network(MP, alpha=1e-6, weight_decay=0.1, noise=1e5))
    assert best.solution.rank < 1e-4
    assert "learning nothing" in str(best)


def test_bad_input():
    with pytest.raises(ValueError, match="`measure` must be"):
        ps.optimal_regularization(PROBLEMS["network"], measure="rank")
    with pytest.raises(ValueError, match="`tol` must be"):
        ps.optimal_regularization(PROBLEMS["network"], tol=-1.0)
    with pytest.raises(ValueError, match="`problem` must be a LearningProblem"):
        ps.optimal_regularization(MP)  # type: ignore[arg-type]
