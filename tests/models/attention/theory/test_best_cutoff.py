"""The best weight decay of a linear channel, by an equation in place of a search."""

from __future__ import annotations

import pytest

import presage as ps
from presage.models.attention.theory.best_cutoff import solve_best_point
from presage.solving.newton import NoConvergenceError


@pytest.mark.parametrize(
    "problem",
    [
        ps.quadratic_network(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, noise=0.5),
        ps.quadratic_network(ps.PowerLaw(1.25, 300), alpha=0.25, weight_decay=0.8, noise=0.5),
        ps.linear_attention(ps.PowerLaw(0.75, 200), alpha=0.3, weight_decay=0.5, noise=0.2, n_tokens=2),
    ],
    ids=["bulk", "power law", "linear attention"],
)
def test_no_search_does_better(problem):
    searched = ps.optimal_regularization(problem, measure="estimation_error", tol=1e-3)
    near = ps.solve(problem)
    alpha = problem.alpha * problem.channel.n_in
    best = solve_best_point(problem.target, problem.noise, alpha, delta=near.delta, c=near.cutoff)
    assert best.functionals.risk <= searched.estimation_error * (1.0 + 1e-10)
    assert best.functionals.risk == pytest.approx(searched.estimation_error, rel=1e-6)
    assert best.lambda_tilde == pytest.approx(searched.value, rel=5e-3)
    at_it = ps.solve(problem.replace(weight_decay=best.lambda_tilde))
    assert at_it.estimation_error == pytest.approx(best.functionals.risk, rel=1e-9)
    assert best.evaluations < 40
    for factor in (0.9, 1.1):  # the equation picks the minimum, not a point nearby
        beside = ps.solve(problem.replace(weight_decay=factor * best.lambda_tilde))
        assert beside.estimation_error > best.functionals.risk * (1.0 + 1e-5)


def test_clean_labels_that_suffice_have_no_best_weight_decay():
    """Beyond the threshold of recovery the error falls to zero with the weight decay."""
    target = ps.MarchenkoPastur(0.5)
    near = ps.solve(ps.quadratic_network(target, alpha=0.6, weight_decay=0.01))
    with pytest.raises(NoConvergenceError):
        solve_best_point(target, 0.0, 0.6, delta=near.delta, c=near.cutoff)
