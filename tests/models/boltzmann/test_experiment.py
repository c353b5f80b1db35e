"""Real machines: the loss and its gradient, message passing, and likelihoods without approximation."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import presage as ps
from presage.models.boltzmann.experiment.amp import message_passing, prox
from presage.models.boltzmann.experiment.objective import Unbounded, log_partition_of_signs, loss
from presage.models.boltzmann.experiment.samples import draw_directions, draw_samples, weights_with_overlaps
from presage.models.boltzmann.experiment.training import steps_of_descent

LAWS = [ps.BinaryUnits(), ps.GaussianUnits(), ps.FiniteUnits([0.0, 1.0, 2.0]), ps.JointUnits([[1, 1], [-1, 0.5]])]


def samples(problem, d=80, seed=0):
    rng = np.random.default_rng(seed)
    return draw_samples(problem, draw_directions(d, len(problem.signals), rng), problem.samples(d), rng)


@pytest.mark.parametrize("law", LAWS)
def test_gradient_of_the_loss(law):
    problem = ps.boltzmann(law, alpha=3.0, signal=[2.0, 1.0], units=2)
    A, rng = samples(problem).A, np.random.default_rng(1)
    W, step = 0.3 * rng.standard_normal((80, 2)), 1e-5
    way = rng.standard_normal(W.shape)
    slope = (loss(A, W + step * way, law).value - loss(A, W - step * way, law).value) / (2 * step)
    assert np.sum(loss(A, W, law).gradient * way) == pytest.approx(slope, rel=1e-6)
    # The definition, with every state of the hidden units.
    if not isinstance(law, ps.GaussianUnits):
        h, chances = law.states(2)
        Q = W.T @ W / 80
        each = np.log(np.exp(A @ W @ h.T) @ chances)
        Z = chances @ np.exp(0.5 * np.einsum("ai,ij,aj->a", h, Q, h))
        assert loss(A, W, law).value == pytest.approx(-(each.sum() - len(A) * np.log(Z)) / 80, rel=1e-12)


def test_gradient_in_weights_without_a_bound():
    rng = np.random.default_rng(2)
    A, B, law, step = (
        rng.standard_normal((60, 20)) / np.sqrt(20),
        rng.standard_normal((20, 2)),
        ps.GaussianUnits(),
        1e-5,
    )
    way = rng.standard_normal(B.shape)
    up, down = (loss(A, Unbounded.of(B + sign * step * way).W, law).value for sign in (1, -1))
    here = Unbounded.of(B)
    assert np.linalg.eigvalsh(here.W.T @ here.W / 20)[-1] < 1.0
    gradient = here.gradient(B, loss(A, here.W, law).gradient)
    assert np.sum(gradient * way) == pytest.approx((up - down) / (2 * step), rel=1e-6)


def test_gaussian_units_are_probabilistic_pca():
    """The oracle: ``W = sqrt(d) U diag(sqrt(1 - 1/l))`` is stationary, and L-BFGS ends there."""
    problem = ps.boltzmann(ps.GaussianUnits(), alpha=4.0, signal=[2.0, 1.0], units=2)
    A, d = samples(problem).A, 80
    l, U = np.linalg.eigh(A.T @ A * d / len(A))
    W = np.sqrt(d) * U[:, -2:] * np.sqrt(1.0 - 1.0 / l[-2:])
    assert loss(A, W, problem.hidden).slope < 1e-12
    e = ps.simulate(problem, d=60, seeds=3, processes=1, keep="weights", trainer=ps.LBFGS(tol=1e-9))
    for seed, W in zip(e.seeds, e.weights, strict=True):
        Q = np.linalg.eigvalsh(W.T @ W / 60)
        from presage.protocol.ensemble import streams

        target, data, _, _ = streams(seed, 60)
        A = draw_samples(problem, draw_directions(60, 2, target), 240, data).A
        np.testing.assert_allclose(Q, 1.0 - 1.0 / np.linalg.eigvalsh(A.T @ A / 4.0)[-2:], atol=1e-6)


def test_likelihood_of_sign_visible_units():
    """Exact and effective mean log-likelihoods of given weights and samples."""
    law = ps.BinaryUnits()
    wanted = {(16, 1): (-0.393345, -0.402916), (16, 2): (-0.022754, -0.080910), (8, 1): (-0.389347, -0.404492)}
    for (d, k), (exact, effective) in wanted.items():
        i, mu = np.arange(d), np.arange(5)
        W = 1.5 * np.cos(i[:, None] + 1 + 2 * np.arange(k))
        x = np.where((i**2 + 3 * mu[:, None]) % 7 < 4, 1.0, -1.0)
        phi = law.moments(x @ W / np.sqrt(d)).phi.mean()
        assert phi - log_partition_of_signs(W, law) == pytest.approx(exact, abs=2e-6)
        assert phi - law.psi(W.T @ W / d) == pytest.approx(effective, abs=2e-6)
        # The sum over all visible states, as a witness.
        states = np.array(np.meshgrid(*[[-1.0, 1.0]] * d, indexing="ij")).reshape(d, -1).T if d == 8 else None
        if states is not None:
            Z = np.mean(np.exp(law.moments(states @ W / np.sqrt(d)).phi))
            assert log_partition_of_signs(W, law) == pytest.approx(np.log(Z), rel=1e-12)


def test_sign_visible_units_are_gaussian_ones_at_large_d():
    """One binary unit: exact minus effective is mean(w^4)/(12 d)."""
    W = 1.5 * np.cos(np.arange(1.0, 4001.0))[:, None]
    off = ps.BinaryUnits().psi(W.T @ W / 4000) - log_partition_of_signs(W, ps.BinaryUnits())
    assert off == pytest.approx(np.mean(W**4) / (12 * 4000), rel=1e-2)


@pytest.mark.parametrize("law", LAWS[:3])
@pytest.mark.parametrize("units", [1, 2])
def test_prox_against_brute_force(law, units):
    V = np.array([[0.3, -0.08], [-0.08, 0.2]])[:units, :units] / (1.0 if law.largest == 1.0 else 4.0)
    Om = np.random.default_rng(0).normal(size=(6, units)) * 2.0
    G, dg = prox(Om, V, law)
    for om, g in zip(Om, G, strict=True):
        p = om + g @ V
        inverse = np.linalg.inv(V)

        def cost(x, om=om, inverse=inverse):
            return 0.5 * (x - om) @ inverse @ (x - om) - law.moments(x[None]).phi[0]

        nudges = np.random.default_rng(1).normal(size=(400, units)) * np.geomspace(1e-4, 3.0, 400)[:, None]
        assert all(cost(p + nudge) >= cost(p) - 1e-12 for nudge in nudges)
    for i in range(units):
        nudge = 1e-5 * np.eye(units)[i]
        slope = (prox(Om + nudge, V, law)[0] - prox(Om - nudge, V, law)[0]) / 2e-5
        np.testing.assert_allclose(slope, dg[:, i], atol=1e-8)


@pytest.mark.parametrize("law", [ps.BinaryUnits(), ps.GaussianUnits()])
def test_message_passing_ends_in_a_stationary_point(law):
    problem = ps.boltzmann(law, alpha=8.0, signal=[2.0, 1.0], units=2, latents="signs")
    found, rng = samples(problem, d=100), np.random.default_rng(3)
    size = 0.3 if isinstance(law, ps.GaussianUnits) else 1.0
    M = size * np.array([[0.5, 0.2], [-0.1, 0.4]])
    W = weights_with_overlaps(found.directions, M, size * np.eye(2), rng)
    *_, last = islice(message_passing(found.A, W, 0.1 * np.eye(2), law, 0.3), 200)
    assert loss(found.A, last.W, law).slope < 1e-8


@pytest.mark.parametrize("law", [ps.BinaryUnits(), ps.GaussianUnits(), ps.FiniteUnits([-2, 0, 2])])
def test_message_passing_finds_the_minimum_of_lbfgs(law):
    """From its usual start, whatever the law."""
    problem = ps.boltzmann(law, alpha=6.0, signal=2.0)
    ends = [
        ps.simulate(problem, d=120, seeds=2, processes=1, trainer=one)
        for one in (ps.BoltzmannAMP(), ps.LBFGS(tol=1e-8))
    ]
    np.testing.assert_allclose(ends[0].train_loss, ends[1].train_loss, rtol=1e-7)
    np.testing.assert_allclose(ends[0].alignment, ends[1].alignment, rtol=1e-5)
    assert ends[0].converged.all()


def test_message_passing_of_gaussian_units_keeps_to_the_possible_weights():
    """At few samples responses are beyond one on the way, where the sum of slopes is negative."""
    one = ps.boltzmann(ps.GaussianUnits(), alpha=0.5, signal=0.3)
    e = ps.simulate(one, d=40, seeds=4, trainer=ps.BoltzmannAMP(v_0=0.9, steps=60), processes=1)
    assert not e.failures
    assert np.all(e.size < 1.0)
    two = ps.boltzmann(ps.GaussianUnits(), alpha=0.2, signal=[2.0, 1.0], units=2)
    W = 0.5 * np.random.default_rng(0).standard_normal((40, 2))
    way = message_passing(samples(two, d=40).A, W, 0.1 * np.eye(2), two.hidden, 0.3)
    with pytest.raises(ps.TrainError, match="Message passing"):
        list(islice(way, 60))
    with pytest.raises(ps.SolveError, match="finds no size of the weights"):
        ps.trajectory(two, steps=60, trainer=ps.BoltzmannAMP())
    with pytest.raises(ps.InputError, match="`v_0` must be below one here"):
        ps.simulate(one, d=40, seeds=2, trainer=ps.BoltzmannAMP(v_0=1.0))


def test_memory_counts_the_states_of_the_units():
    from presage.models.boltzmann.experiment.simulate import MachineSetting

    few, many = (
        MachineSetting(ps.boltzmann(law, alpha=2.0, signal=1.0, units=2), 50, ps.LBFGS(), "random", 100).memory
        for law in (ps.BinaryUnits(), ps.FiniteUnits(np.linspace(-1.0, 1.0, 30)))
    )
    assert many - few >= 8.0 * 200 * (30**2 - 2**2)


def test_weights_have_the_overlaps_that_they_are_given():
    rng = np.random.default_rng(0)
    directions = draw_directions(50, 2, rng)
    M, Q = np.array([[0.5, 0.2], [-0.1, 0.4]]), np.array([[0.8, 0.1], [0.1, 0.8]])
    W = weights_with_overlaps(directions, M, Q, rng)
    np.testing.assert_allclose(directions.T @ directions / 50, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(directions.T @ W / 50, M, atol=1e-12)
    np.testing.assert_allclose(W.T @ W / 50, Q, atol=1e-12)


def test_descent_follows_the_gradient():
    """One step by hand; small steps raise the likelihood."""
    problem = ps.boltzmann(alpha=3.0, signal=2.0)
    found, rng = samples(problem), np.random.default_rng(1)
    W = 0.4 * rng.standard_normal((80, 1))
    after = next(steps_of_descent(found.A, W, 0.2, problem))
    by_hand = W * (1.0 - 0.2) + 0.2 / 3.0 * found.A.T @ np.tanh(found.A @ W)
    np.testing.assert_allclose(after, by_hand, rtol=1e-12)
    values = [
        loss(found.A, one, problem.hidden).value for one in islice(steps_of_descent(found.A, W, 0.2, problem), 60)
    ]
    assert np.all(np.diff(values) < 0.0)


def test_steps_that_are_too_long_are_a_failure():
    problem = ps.boltzmann(ps.GaussianUnits(), alpha=3.0, signal=2.0)
    with pytest.raises(ps.TrainError, match="Gradient descent left the possible weights"):
        ps.simulate(problem, d=40, seeds=2, trainer=ps.BoltzmannDescent(rate=9.0), processes=1)


def test_what_is_measured_is_what_the_weights_are():
    problem = ps.boltzmann(alpha=6.0, signal=[2.0, 1.0], units=2, latents="signs")
    e = ps.simulate(problem, d=80, seeds=2, processes=1, keep=["weights", "history"])
    for index in range(2):
        W, target = e.weights[index], e.targets[index]
        span = np.linalg.qr(W)[0]
        cos2 = np.sum((target.T @ span) ** 2, axis=1) / 80
        assert (e.alignment[index], e.last_alignment[index]) == pytest.approx(tuple(cos2))
        assert e.size[index] == pytest.approx(np.sum(W**2) / 160)
        M = target.T @ W / 80
        np.testing.assert_allclose(np.sort(np.abs(M[0])), np.sort(np.abs(e.M[index][0])), rtol=1e-12)
        assert e.M[index][0, 0] >= abs(e.M[index][0, 1])
        assert e.history[index][-1, 1] == pytest.approx(e.train_loss[index], rel=1e-9)
    assert e.converged.all()


def test_a_test_likelihood_is_that_of_fresh_samples():
    """Beside samples that are drawn whole."""
    problem = ps.boltzmann(alpha=4.0, signal=2.0, latents="signs")
    e = ps.simulate(problem, d=60, seeds=1, processes=1, keep="weights", n_test=200_000)
    rng = np.random.default_rng(5)
    A = draw_samples(problem, e.targets[0], 100_000, rng).A
    phi = np.log(np.cosh(A @ e.weights[0]))
    assert e.test_likelihood[0] == pytest.approx(phi.mean() - 0.5 * e.size[0], abs=4 * phi.std() / 250)
