"""The prediction: likelihoods, alignments, error bars, caveats."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.boltzmann.order_of_units import order_of_units

# alpha, signal: f, test log-likelihood (check 5, Gaussian latents).
LIKELIHOODS = [
    (8.0, 1.0, -1.6917, 0.0685),
    (4.0, 1.0, -1.1621, -0.0292),
    (2.0, 2.0, -1.3581, 0.0814),
    (2.0, 4.0, -2.4868, 0.7036),
]


@pytest.mark.parametrize(("alpha", "signal", "f", "test"), LIKELIHOODS)
def test_likelihoods(alpha, signal, f, test):
    found = ps.solve(ps.boltzmann(alpha=alpha, signal=signal))
    assert found.train_loss == pytest.approx(f, abs=2e-4)
    assert found.test_likelihood == pytest.approx(test, abs=2e-4)


def test_likelihood_is_stationary():
    """Training likelihood by its definition, in the limit of very many samples: the maximum over machines."""
    problem = ps.boltzmann(alpha=1e5, signal=1.5, latents="signs")
    found = ps.solve(problem)
    assert found.train_likelihood == pytest.approx(found.test_likelihood, abs=1e-4)
    x, w = np.polynomial.hermite_e.hermegauss(120)
    w = w / w.sum()

    def likelihood(m):
        u = np.sqrt(1.5) * m + m * x
        return w @ np.log(np.cosh(u)) - 0.5 * m * m

    grid = np.linspace(0.8, 1.8, 2001)
    values = [likelihood(m) for m in grid]
    assert found.overlap == pytest.approx(grid[int(np.argmax(values))], abs=2e-3)
    assert found.test_likelihood == pytest.approx(max(values), abs=1e-4)


def test_likelihoods_of_gaussian_units():
    """At the minimum: ``sum_i [(l_i - 1) - log l_i]/2`` on the training samples."""
    problem = ps.boltzmann(ps.GaussianUnits(), alpha=5.0, signal=[2.0, 1.0], units=2)
    found = ps.solve(problem)
    l = ps.spiked_wishart(problem.signals, 5.0).outlier
    assert found.train_likelihood == pytest.approx(0.5 * np.sum(l - 1.0 - np.log(l)), rel=1e-10)
    q = 1.0 - 1.0 / l
    cos2 = ps.spiked_wishart(problem.signals, 5.0).overlap
    fresh = 0.5 * np.sum(q * (1.0 + problem.signals * cos2) - np.log(l))
    assert found.test_likelihood == pytest.approx(fresh, rel=1e-10)
    # More units than spikes stay at the edge of the bulk, and more units than a grid has room for are no matter.
    more = ps.solve(problem.replace(units=4))
    edge = (1.0 + 5.0**-0.5) ** 2
    np.testing.assert_allclose(np.diag(more.Q)[2:], 1.0 - 1.0 / edge, rtol=1e-12)
    assert more.replicon == pytest.approx(1.0)
    assert "more units than directions" in more.caveats[0]


def test_alignment_is_a_projection():
    """By real vectors that have the predicted overlaps."""
    found = ps.solve(ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2))
    rng = np.random.default_rng(0)
    d = 40
    directions = np.linalg.qr(rng.standard_normal((d, 2)))[0] * np.sqrt(d)
    free = rng.standard_normal((d, 2))
    free -= directions @ directions.T @ free / d
    free = np.linalg.qr(free)[0] * np.sqrt(d)
    W = directions @ found.M + free @ np.linalg.cholesky(found.Q - found.M.T @ found.M).T
    span = np.linalg.qr(W)[0]
    np.testing.assert_allclose(np.sum((directions.T @ span) ** 2, axis=1) / d, found.alignments, rtol=1e-10)
    assert (found.alignment, found.last_alignment) == pytest.approx(tuple(found.alignments))
    assert found.overlap == pytest.approx(np.linalg.norm(found.M[0]))


def test_broken_symmetry_is_said():
    below, above = (ps.solve(ps.boltzmann(alpha=4.0, signal=signal)) for signal in (0.7, 0.8))
    assert (below.is_stable, above.is_stable) == (False, True)
    assert "replica symmetry is broken here, since the replicon is 1.26" in below.caveats[0]
    assert above.caveats == ()
    jumps = ps.solve(ps.boltzmann(alpha=2.0, signal=0.8))
    assert jumps.replicon == np.inf
    assert "training makes fields of samples jump" in jumps.caveats[0]
    unseen = ps.solve(ps.boltzmann(alpha=4.0, signal=0.3))
    assert not unseen.is_found
    powers = {one.name: one.correction for one in unseen.known_observables}
    assert (powers["alignment"], powers["overlap"], powers["size"]) == (1.0, 0.5, 1.0)
    near = ps.solve(ps.boltzmann(alpha=4.0, signal=0.52))
    assert any("finite sizes smear that" in line for line in near.caveats)
    left = ps.solve(ps.boltzmann(alpha=8.0, signal=2.0, units=2))
    assert not left.is_stable
    assert any("more units than directions" in line for line in left.caveats)


def test_error_bars_cover_a_finer_grid():
    from presage.models.boltzmann.theory import sample_means

    for problem in (ps.boltzmann(alpha=3.0, signal=40.0), ps.boltzmann(alpha=6.0, signal=[3.0, 1.5], units=2)):
        found = ps.solve(problem)
        fine = sample_means.sample_means(problem, _overlaps(found), coarser=0.5)
        v = np.linalg.inv(problem.alpha * problem.hidden.S(found.Q) - fine.D)
        size = np.trace(v @ (fine.m_hat @ fine.m_hat.T + fine.q_hat) @ v) / len(v)
        assert abs(size - found.size) <= 2.0 * found.error_bars["size"]
        assert all(bar >= 0.0 for bar in found.error_bars.values())
        assert found.error_bars["size"] < 1e-5


def test_a_coarser_grid_that_fails_is_no_small_bar(monkeypatch):
    monkeypatch.setattr("presage.models.boltzmann.theory.solution.nearby", lambda *_: None)
    with pytest.raises(ps.SolveError, match="by which error bars are judged"):
        ps.solve(ps.boltzmann(alpha=4.0, signal=1.0))


def _overlaps(found):
    from presage.solving.vector_state_evolution import Overlaps

    return Overlaps(found.M.T, found.Q, found.V)


def test_order_of_the_units():
    problem = ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2)
    places, signs = order_of_units(problem, np.array([[0.2, -0.9], [0.8, 0.1]]))
    assert (list(places), list(signs)) == ([1, 0], [-1.0, 1.0])
    skew = ps.boltzmann(ps.FiniteUnits([0, 1]), alpha=8.0, signal=[2.0, 1.0], units=2)
    places, signs = order_of_units(skew, np.array([[0.2, -0.9], [0.8, 0.1]]))
    assert (list(places), list(signs)) == ([1, 0], [1.0, 1.0])
    together = ps.JointUnits([[1, 0.5], [-1, -0.5]])
    joint = ps.boltzmann(together, alpha=8.0, signal=[2.0, 1.0], units=2)
    places, signs = order_of_units(joint, np.array([[-0.2, -0.9], [0.1, 0.1]]))
    assert (list(places), list(signs)) == ([0, 1], [-1.0, -1.0])


def test_a_solve_that_fails_says_so():
    with pytest.raises(ps.InputError, match="`tol` must be"):
        ps.solve(ps.boltzmann(alpha=4.0, signal=1.0), tol=-1.0)
    with pytest.raises(ps.SolveError, match="State evolution does not come to rest"):
        ps.solve(ps.boltzmann(alpha=8.0, signal=[2.0, 1.0], units=2), tol=1e-30)
