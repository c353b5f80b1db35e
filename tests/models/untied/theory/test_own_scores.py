"""A token that looks at itself too: what its scores see, a symmetric target, and what one stiffness for all misses."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.untied.theory.own_scores import SEEN, softmax_rows
from presage.solving.matrix_parts import parts
from tests.models.untied.problems import cross, itself


@pytest.mark.parametrize("gain", [{}, {"target_gain": 1.5}])
@pytest.mark.parametrize("v", [1.0, 1.9])
def test_the_loss_of_two_rows_has_its_derivatives(gain, v):
    loss = softmax_rows(itself(beta=1.3, beta_0=0.8, **gain), v)
    rng = np.random.default_rng(0)
    u0, u = rng.standard_normal((2, 5, 2))
    terms, h = loss(u0, u), 1e-5
    for i in range(2):
        step = np.zeros(2)
        step[i] = h
        ahead, behind = loss(u0, u + step), loss(u0, u - step)
        assert np.allclose(terms.gradient[:, i], (ahead.value - behind.value) / (2 * h), atol=1e-8)
        assert np.allclose(terms.hessian[:, :, i], (ahead.gradient - behind.gradient) / (2 * h), atol=1e-8)
        ahead, behind = loss(u0 + step, u), loss(u0 - step, u)
        assert np.allclose(terms.cross[:, :, i], (ahead.gradient - behind.gradient) / (2 * h), atol=1e-8)


def test_differences_of_scores_see_the_parts_as_said():
    rng = np.random.default_rng(1)
    S = parts(rng.standard_normal((40, 40)) / sqrt(40))
    x = rng.standard_normal((60_000, 2, 40))
    found = []
    for part in S:
        R = np.einsum("nai,ij,nbj->nab", x, part, x, optimize=True) / sqrt(40)
        R[:, [0, 1], [0, 1]] -= np.trace(part) / sqrt(40)
        u = np.stack([R[:, 0, 0] - R[:, 0, 1], R[:, 1, 1] - R[:, 1, 0]])
        found.append(np.cov(u) / (np.sum(part**2) / 40))
    assert np.allclose(found, [SEEN[0, 0], SEEN[1, 1]], atol=0.08)


def test_one_stiffness_for_both_parts_is_wrong():
    # The negative control: what counts T^2 measurements for symmetric and antisymmetric parts alike.
    problem = itself(alpha=0.4, weight_decay=0.1, output="linear", penalty="frobenius")
    right = ps.solve(problem)
    isotropic = ps.solve(cross(alpha=0.4, weight_decay=0.1, output="linear", penalty="frobenius"))
    assert right.symmetric_error < 0.7 * right.antisymmetric_error
    assert abs(isotropic.estimation_error / right.estimation_error - 1.0) > 0.02


@pytest.mark.slow
def test_the_isotropic_closure_misses_the_error_and_the_rank():
    problem = itself(alpha=0.4, weight_decay=0.1, output="linear")
    right = ps.solve(problem)
    isotropic = ps.solve(cross(alpha=0.4, weight_decay=0.1, output="linear"))
    assert (isotropic.estimation_error, isotropic.rank) == pytest.approx((0.236, 0.879), abs=1e-3)
    assert isotropic.estimation_error < 0.91 * right.estimation_error
    assert isotropic.rank > 1.06 * right.rank
    assert isotropic.estimation_error < right.estimation_error - 3.0 * right.error_bars["estimation_error"]


def test_a_symmetric_target_has_no_antisymmetric_part():
    problem = itself(target=ps.MarchenkoPastur(0.5), penalty="frobenius", output="linear", weight_decay=0.05)
    found = ps.solve(problem)
    assert found.m < problem.Q_0
    assert found.antisymmetric_error > 0.01  # pure overfitting: the price of untying
    assert found.antisymmetric_error == pytest.approx(found.q - (found.symmetric_error - problem.Q_0 + 2.0 * found.m))


def test_no_weight_decay_is_refused_where_a_token_looks_at_itself():
    with pytest.raises(ps.InputError, match="`weight_decay` must be above 0 where a token looks at itself"):
        ps.solve(itself(weight_decay=0.0))


def test_a_ridge_near_interpolation_is_solved():
    """Least squares of the antisymmetric part is not far: 2 alpha measurements an entry, (Delta/2)/(2 alpha - 1)."""
    problem = itself(alpha=0.52, weight_decay=1e-5, penalty="frobenius", output="linear")
    found = ps.solve(problem)
    a = np.array([6.0, 2.0]) * problem.alpha
    least_squares = 0.5 * problem.noise / (a - 1.0)
    assert (found.symmetric_error, found.antisymmetric_error) == pytest.approx(least_squares, rel=0.02)
    assert found.residual < 1e-6
    assert max(found.error_bars.values()) < 1e-4
    closer = ps.solve(problem.replace(weight_decay=1e-8))
    assert (closer.symmetric_error, closer.antisymmetric_error) == pytest.approx(least_squares, rel=1e-4)


def test_a_residual_plays_no_part_where_weights_are_drawn():
    with pytest.raises(ps.InputError, match="`tol` must be left out where weights are drawn"):
        ps.solve(itself(), tol=1e-5)


@pytest.mark.slow
def test_samples_that_jump_are_told_of():
    sharp = itself(beta=3.0)
    found = ps.solve(sharp, accuracy=0.1)
    assert any("jumps between two minima" in line for line in found.caveats)
    mild = ps.solve(itself(), accuracy=0.1)
    assert not any("jumps between two minima" in line for line in mild.caveats)


@pytest.mark.parametrize("gain", [None, 1.5])
def test_a_price_that_leaves_nothing_is_an_answer(gain):
    """All singular values are cut: the output is uniform, the gain that of the target, nothing is known."""
    found = ps.solve(itself(weight_decay=20.0, target_gain=gain))
    assert (found.rank, found.m, found.q) == (0.0, 0.0, 0.0)
    assert found.estimation_error == pytest.approx(found.problem.Q_0, rel=1e-9)
    assert found.train_loss == pytest.approx(found.problem.alpha * found.train_error)
    distinct = ps.solve(cross(weight_decay=20.0, target_gain=gain))
    # A row shows the softmax of a difference, of variance 3 rho_s + rho_a where a token looks at itself, else 2 rho_0.
    assert found.train_error > distinct.train_error
    assert gain is None or found.gain == pytest.approx(gain, rel=1e-12)
