"""Means over the law of a sample, and the equations that they enter."""

from __future__ import annotations

import numpy as np
import pytest

import presage as ps
from presage.models.multi_matrix.theory.sample_means import rule, sample_means
from presage.models.multi_matrix.theory.state_evolution import (
    fixed_point,
    overlaps_of,
    start,
    weights_of,
    with_signs_put_right,
)
from presage.solving.vector_state_evolution import Overlaps
from tests.models.multi_matrix.instance import PROBLEM, TWO_ATOMS

POINTS = 2**12
SOME = Overlaps(np.array([0.87, 0.97]), np.array([0.82, 0.98]), np.array([0.14, 0.065]))


def test_points_have_the_moments_of_a_gaussian():
    normals = rule(2, POINTS, 0)
    assert normals.mean(axis=0) == pytest.approx(np.zeros(5), abs=1e-12)
    assert normals.T @ normals / POINTS == pytest.approx(np.eye(5), abs=1e-12)
    fourth = np.array([np.mean(rule(2, POINTS, seed) ** 4, axis=0) for seed in range(8)])
    spread = np.sqrt(np.mean((fourth - 3.0) ** 2))
    assert spread < 0.5 * np.sqrt(96.0 / POINTS)  # of independent points it would be the root itself
    assert not np.allclose(normals, rule(2, POINTS, 1))


def test_a_linear_label_has_closed_hats():
    """Of ``y = z`` everything is linear: ``lam = 2 (y - z)/(1 + 2 V)``."""
    problem = ps.multi_matrix(TWO_ATOMS, ps.PowersLink(1), alpha=1.3, weight_decay=0.5, noise=0.4)
    m, q, V = 0.7, 0.6, 0.3
    means = sample_means(problem, Overlaps(*(np.array([one]) for one in (m, q, V))), rule(1, 256, 0))
    rate, error = 2.0 / (1.0 + 2.0 * V), 1.0 - 2.0 * m + q + 0.4
    assert means.hats.m_hat == pytest.approx([2.0 * 1.3 * rate])
    assert means.hats.v_hat == pytest.approx([2.0 * 1.3 * rate])
    assert means.hats.q_hat == pytest.approx([2.0 * 1.3 * rate**2 * error])
    assert means.test_error == pytest.approx(error)
    assert means.train_error == pytest.approx(error / (1.0 + 2.0 * V) ** 2)
    assert means.stein == pytest.approx(means.hats.v_hat)


def test_hats_agree_with_their_stein_form():
    every = [sample_means(PROBLEM, SOME, rule(2, POINTS, seed)) for seed in range(4)]
    stein = np.mean([one.stein for one in every], axis=0)
    assert stein == pytest.approx(np.mean([one.hats.v_hat for one in every], axis=0), rel=5e-3)


def test_the_stein_form_sees_jumps():
    """Large responses make two minima of ``y = z^2``: the second form of the mean is another number then."""
    problem = ps.multi_matrix(TWO_ATOMS, ps.PowersLink(2), alpha=1.0, weight_decay=0.5, noise=0.25)
    means = sample_means(
        problem, Overlaps(*(np.array([x]) for x in (0.1, 0.8, 3.0))), rule(1, POINTS, 0), all_starts=True
    )
    assert means.several > 0.2
    assert abs(means.stein[0] / means.hats.v_hat[0] - 1.0) > 0.3


def test_hats_between_matrices_vanish():
    apart = np.mean([sample_means(PROBLEM, SOME, rule(2, POINTS, seed)).off_diagonal for seed in range(4)])
    coupled = sample_means(PROBLEM.replace(link=ps.PowersLink(1, 1)), SOME, rule(2, POINTS, 0)).off_diagonal
    assert apart < 0.01
    assert coupled > 0.9  # z_1 + z_2 shows one matrix, their sum


def test_the_loss_is_stationary_in_the_overlaps():
    """At the fixed point the whole loss moves with alpha as the data's part does: the envelope."""
    normals = rule(2, 2**11, 0)

    def loss(alpha):
        problem = PROBLEM.replace(alpha=alpha)
        found = fixed_point(problem, start(problem, 0.9), normals, 1e-9)
        penalty = problem.weight_decay * sum(one.nuclear for one in found.weights)
        return alpha * found.means.train_error + penalty, found.means.train_error

    step = 0.02
    (above, _), (here, error), (below, _) = loss(2.0 + step), loss(2.0), loss(2.0 - step)
    # Adding samples adds their error after training, (y - g(p))^2, and what p costs beside: the derivative of a
    # minimum at fixed overlaps is the value of its proximal problem.
    found = fixed_point(PROBLEM, start(PROBLEM, 0.9), normals, 1e-9)
    cost = float(np.sum(found.means.hats.q_hat / (2.0 * PROBLEM.alpha) * found.overlaps.v / 2.0))
    assert (above - below) / (2.0 * step) == pytest.approx(error + cost, rel=5e-3)
    assert here == pytest.approx(0.934, abs=5e-3)


def test_a_fixed_point_comes_back():
    normals = rule(2, 2**10, 0)
    found = fixed_point(PROBLEM, start(PROBLEM, 0.9), normals, 1e-7)
    again = overlaps_of(weights_of(PROBLEM, sample_means(PROBLEM, found.overlaps, normals).hats))
    for one, other in zip(again, found.overlaps, strict=True):
        assert one == pytest.approx(other, rel=1e-6)


def test_signs_are_put_right():
    turned = SOME._replace(m=np.array([0.87, -0.97]))
    assert with_signs_put_right(PROBLEM, turned).m == pytest.approx(SOME.m)
    known = SOME._replace(m=np.array([-0.87, 0.97]))  # the sign of the first is told by labels
    assert with_signs_put_right(PROBLEM, known).m == pytest.approx(known.m)
