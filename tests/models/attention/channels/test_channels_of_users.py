"""Channels of the user's own: two methods give everything, and what the built-in ones say they say again."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import expit, log_ndtr, logsumexp, ndtr

import presage as ps
from presage.models.attention.channels.numeric_prox import active_prox, numeric_prox
from presage.models.attention.channels.prox_report import LOSS_AT_P, LOSS_AT_Z, SQUARE_Z, TRACE_ANCHOR, TRACE_Z
from presage.models.attention.experiment.data import sample, sample_target
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.exact import Exact
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.numeric_sums import product_nodes, sums
from presage.models.attention.theory.rules.rule import gaussian_of
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.rules.trapezoid import Trapezoid, _disc

TARGET = ps.MarchenkoPastur(0.5)
COMPARISON = ps.pair_comparison(TARGET, alpha=1.0, weight_decay=0.05, noise=0.2)
ROBUST = ps.robust_network(TARGET, alpha=1.0, weight_decay=0.1, noise=0.5, threshold=0.7)
ATTENTION = ps.attention(TARGET, alpha=0.5, weight_decay=0.01, noise=0.5)


def called(value: object) -> str:
    """The name of a case: the same in every process, where a default repr has an address."""
    return re.sub(r"<[\w.]*?(\w+) object at \w+>", r"\1()", repr(value))


@dataclass(frozen=True)
class OwnLinear(ps.Channel):
    """The linear channel as a user would write it."""

    n_tokens: int = 1

    def output(self, z):
        return self.matrix(z)

    def loss(self, label, output):
        return np.sum((label - output) ** 2, axis=(-2, -1))


@dataclass(frozen=True)
class OwnSoftmax(ps.Channel):
    """The softmax as a user would write it."""

    n_tokens: int = 2
    beta: float = 1.0
    beta_0: float = 1.0

    def rows(self, R):
        weights = np.exp(R - R.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True)

    def output(self, z):
        return self.rows(self.beta * self.matrix(z))

    def target_output(self, z_0):
        return self.rows(self.beta_0 * self.matrix(z_0))


class Tanh(ps.Channel):
    """A scalar output, with the slope written and the curvature left to differences."""

    n_tokens = 1

    def output(self, z):
        return np.tanh(np.asarray(z)[..., 0])

    def loss(self, label, output):
        return (label - output) ** 2

    def slope(self, label, z):
        t = np.tanh(z)
        return 2 * (t - label[..., None]) * (1 - t**2)


class Signs(ps.Channel):
    """The sign of a difference of scores, learned by the logistic loss: a label that moves by steps."""

    n_tokens = 2

    def output(self, z):
        return sqrt(2) * (np.asarray(z)[..., 0] - np.asarray(z)[..., 2])

    def target_output(self, z_0):
        return np.sign(self.output(z_0))

    def loss(self, label, output):
        return np.logaddexp(0, -label * output)


class Probit(ps.Channel):
    """A probit label with its own loss, minus the log likelihood."""

    n_tokens = 1
    labels = (-1.0, 1.0)

    def output(self, z):
        return np.asarray(z)[..., 0]

    def loss(self, label, output):
        return -log_ndtr(label * output)

    def likelihood(self, label, z_0):
        return ndtr(label * z_0[..., 0])


class Choice(ps.Channel):
    """Which of three tokens is chosen, one-hot, with the cross entropy as loss: random labels that are vectors."""

    n_tokens = 3
    labels = np.eye(3)

    def output(self, z):
        return np.diagonal(self.matrix(z), axis1=-2, axis2=-1)

    def loss(self, label, output):
        return logsumexp(output, axis=-1) - np.sum(label * output, axis=-1)

    def likelihood(self, label, z_0):
        return np.exp(-self.loss(label, 1.3 * self.output(z_0)))


OWN = [OwnLinear(2), OwnSoftmax(2), OwnSoftmax(3, 1.5, 0.8), Tanh(), ps.PairComparison(1.3, 0.8), ps.Huber(2, 0.5)]
AVERAGED = ("slope_z", "slope_z_0", "stein_z", "stein_z_0", "square", "square_slope", "train_error", "test_error")
PLACES = [(1.75, Overlaps(1.2, 1.5, 0.5)), (1.0, Overlaps(0.3, 0.9, 0.1))]


def draw(channel, count, seed, size=1.3):
    rng = np.random.default_rng(seed)
    z_0, z = size * rng.standard_normal((2, count, channel.n_in))
    return z_0, z, channel.draw_labels(z_0, rng)


def prox(channel, z_0, z, label, Sigma):
    return numeric_prox(channel, label, z, Sigma, z_0=z_0 if channel.labels is None else None)


def objective_of(problem, d, seed, **options: Any):
    rng = np.random.default_rng(seed)
    S_0 = sample_target(problem.target, d, rng)
    n = round(problem.alpha * d**2)
    samples = sample(S_0, problem.channel, n, rng, tokens=ps.Gaussian(), noise=problem.noise, **options)
    return Objective(samples, problem.channel, problem.penalty, d)


# What is found out about a channel.


@pytest.mark.parametrize(
    ("channel", "active"),
    [
        (OwnLinear(3), 6),
        (OwnSoftmax(2), 2),
        (OwnSoftmax(3), 5),
        (Tanh(), 1),
        (Choice(), 2),
        (ps.PairComparison(), 1),
        (ps.Huber(2), 3),
    ],
    ids=called,
)
def test_active_directions_are_found(channel, active):
    assert channel.n_active == active
    np.testing.assert_allclose(channel.active_basis.T @ channel.active_basis, np.eye(active), atol=1e-12)
    z_0, z, _ = draw(channel, 50, 0)
    seen = channel.active_basis @ channel.active_basis.T
    np.testing.assert_allclose(channel.loss_at(z_0 @ seen, z @ seen), channel.loss_at(z_0, z), rtol=1e-6, atol=1e-9)


def test_the_traits_of_known_channels():
    assert OwnSoftmax(2, 2.0, 1.0).traits.ratio == pytest.approx(0.5, rel=1e-5)
    assert ps.PairComparison(2.0, 1.0).traits.ratio == pytest.approx(0.5, rel=1e-5)
    for convex in (OwnLinear(2), ps.PairComparison(), ps.Huber(2)):
        assert convex.traits.lowest_curvature == 0.0
    # The curvature of two sigmoids is above -0.97 beta^2.
    assert -0.97 * 4 < OwnSoftmax(2, 2.0, 2.0).traits.lowest_curvature < -0.8 * 4
    assert OwnSoftmax(2).traits.folds == (0, 1)  # exchange the tokens; change all signs and exchange them
    assert OwnSoftmax(2, 1.0, 1.4).traits.folds == (0, 1)
    assert Signs().traits.stepping
    assert not any(channel.traits.stepping for channel in OWN)


def test_random_labels_are_drawn_by_their_likelihood():
    channel = ps.PairComparison(1.0, 0.6)
    z_0 = np.random.default_rng(1).standard_normal((40_000, 3))
    labels = channel.draw_labels(z_0, np.random.default_rng(2))
    assert set(labels) == {-1.0, 1.0}
    chance = expit(0.6 * sqrt(2) * (z_0[:, 0] - z_0[:, 2]))
    for part in (chance < 0.4, (chance > 0.4) & (chance < 0.6), chance > 0.6):
        seen, expected = np.mean(labels[part] > 0), chance[part].mean()
        assert abs(seen - expected) < 4 * sqrt(0.25 / part.sum())
    assert channel.loss_at(z_0[:5], z_0[:5]).shape == (5,)


# The proximal map.


@pytest.mark.parametrize("Sigma", [1e-6, 0.3, 3.0, 30.0])
@pytest.mark.parametrize("channel", [*OWN, Probit(), Choice()], ids=called)
def test_prox_is_the_lowest_minimum(channel, Sigma):
    z_0, z, label = draw(channel, 12, 3)
    f, report = prox(channel, z_0, z, label, Sigma)
    p = z + Sigma * f

    def value(h, i):
        return 0.5 * np.sum((h - z[i]) ** 2) + Sigma * float(channel.loss(label[i], channel.output(h)))

    missed = 0
    for i in range(len(z)):
        starts = (z[i], z_0[i], 0.5 * (z[i] + z_0[i]), np.zeros(channel.n_in))
        lowest = min(minimize(value, start, args=(i,), method="BFGS").fun for start in starts)
        missed += value(p[i], i) > lowest + 1e-6 * (1 + abs(lowest))
    assert missed == 0
    np.testing.assert_allclose(f, -channel.slope(label, p), atol=1e-6)
    np.testing.assert_allclose(report[:, LOSS_AT_P], channel.loss(label, channel.output(p)), atol=1e-9)
    np.testing.assert_allclose(report[:, LOSS_AT_Z], channel.loss(label, channel.output(z)), atol=1e-9)


@pytest.mark.parametrize("Sigma", [0.3, 2.3, 10.0])
def test_prox_of_a_users_softmax_is_the_built_in_one(Sigma):
    for T in (2, 3):
        built_in, own = ps.Softmax(T, 1.0, 1.3), OwnSoftmax(T, 1.0, 1.3)
        z_0, z, _ = draw(own, 500, 4)
        ours, theirs = own.prox(z_0, z, Sigma), built_in.prox(z_0, z, Sigma)

        def value(p, built_in=built_in, z_0=z_0, z=z):
            return 0.5 * np.sum((p - z) ** 2, axis=1) + Sigma * built_in.loss_at(z_0, p)

        same = np.abs(value(ours) - value(theirs)) < 1e-9
        assert same.mean() > 0.99
        np.testing.assert_allclose(ours[same], theirs[same], atol=1e-5)


def test_prox_of_a_users_linear_channel_is_the_weighted_mean():
    own, Sigma = OwnLinear(3), 0.7
    z_0, z, _ = draw(own, 20, 5)
    np.testing.assert_allclose(own.prox(z_0, z, Sigma), ps.Linear(3).prox(z_0, z, Sigma), atol=1e-9)
    assert own.prox(z_0[0], z[0], Sigma).shape == (6,)


@pytest.mark.parametrize("channel", [OwnSoftmax(2, 1.0, 1.2), OwnLinear(2), Tanh()], ids=called)
def test_reported_derivatives_agree_with_differences(channel):
    z_0, z, _ = draw(channel, 8, 6)
    Sigma, n, h = 0.4, channel.n_in, 1e-3
    basis = channel.active_basis
    report = active_prox(channel, channel.target_output(z_0), z @ basis, Sigma, z_0=z_0, pull=True)[1]
    in_z, in_z_0 = np.empty((2, 8, n, n))
    for j, move in enumerate(h * np.eye(n)):
        for out, da, dz in ((in_z, 0 * move, move), (in_z_0, move, 0 * move)):
            ahead, behind = (channel.prox(z_0 + s * da, z + s * dz, Sigma) - z - s * dz for s in (1, -1))
            out[:, :, j] = (ahead - behind) / (2 * h * Sigma)
    np.testing.assert_allclose(report[:, TRACE_Z], np.trace(in_z, axis1=1, axis2=2), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(report[:, TRACE_ANCHOR], np.trace(in_z_0, axis1=1, axis2=2), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(report[:, SQUARE_Z], np.sum(in_z**2, axis=(1, 2)), rtol=1e-4, atol=1e-5)


def test_a_written_prox_is_used_and_polished():
    class Exact(OwnLinear):
        asked = 0

        def prox(self, z_0, z, Sigma):
            Exact.asked += 1
            return (z + 4 * Sigma * z_0) / (1 + 4 * Sigma) + 1e-3  # a little wrong

    channel = Exact(1)
    z_0, z, label = draw(channel, 10, 7)
    f = prox(channel, z_0, z, label, 0.5)[0]
    assert Exact.asked == 1
    np.testing.assert_allclose(f, 4 * (z_0 - z) / 3, atol=1e-8)


@pytest.mark.parametrize("channel", OWN, ids=called)
def test_slopes_and_curvatures_by_differences(channel):
    """Against differences of a wider, fourth-order stencil; away from the kinks of the Huber loss."""
    z_0, z, label = draw(channel, 60, 8)
    if isinstance(channel, ps.Huber):
        z = z_0 + np.where(np.abs(z) > 1.0, 2.0, 0.1) * np.sign(z)  # every entry well inside a part of its own
    slope, curvature = channel.slope(label, z), channel.curvature(label, z)
    n, h = channel.n_in, 0.02
    for j, move in enumerate(h * np.eye(n)):
        near, far = ([channel.loss(label, channel.output(z + s * k * move)) for s in (1, -1)] for k in (1, 2))
        expected = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * h)
        np.testing.assert_allclose(slope[:, j], expected, atol=3e-6)
        ahead, behind = (channel.slope(label, z + s * move) for s in (1, -1))
        further, back = (channel.slope(label, z + 2 * s * move) for s in (1, -1))
        np.testing.assert_allclose(curvature[:, j], (8 * (ahead - behind) - further + back) / (12 * h), atol=2e-5)


# State evolution.


@pytest.mark.parametrize(("rho_0", "overlaps"), PLACES)
@pytest.mark.parametrize("channel", [OwnSoftmax(2, 1.0, 0.7), Tanh(), Probit(), Choice()], ids=called)
def test_stein_and_hessian_forms_agree(channel, rho_0, overlaps):
    gaussian = gaussian_of(rho_0, overlaps, None)
    nodes = _disc(120, -0.6) if channel.n_active == 1 else product_nodes(2, 22, -0.6, 1e-8)
    found = sums(channel, *gaussian, overlaps.Sigma, *nodes)
    stein_z = found.f_b / gaussian.sigma
    stein_z_0 = (found.f_a - gaussian.mean * stein_z) / gaussian.root_rho
    assert stein_z == pytest.approx(found.slope_z, rel=1e-4)
    assert stein_z_0 == pytest.approx(found.slope_z_0, rel=1e-4)


@pytest.mark.parametrize(("rho_0", "overlaps"), PLACES)
def test_sums_of_an_own_linear_channel_are_exact(rho_0, overlaps):
    exact = Exact().averages(ps.Linear(1), rho_0, overlaps)
    found = sums(OwnLinear(), *gaussian_of(rho_0, overlaps, None), overlaps.Sigma, *_disc(120, -0.6))
    for name in ("slope_z", "slope_z_0", "square", "square_slope", "train_error", "test_error"):
        assert getattr(found, name) == pytest.approx(getattr(exact, name)[0], rel=1e-6), name


@pytest.mark.parametrize(("rho_0", "overlaps"), PLACES)
def test_slope_of_labels_that_step_is_their_jump_at_zero(rho_0, overlaps):
    """``E df/dz_0`` is the density of ``z_0`` at zero times ``E f(+, z) - f(-, z)`` there; f pulls by the logistic."""
    gaussian, Sigma = gaussian_of(rho_0, overlaps, None), overlaps.Sigma
    b, weight = np.polynomial.hermite_e.hermegauss(30)
    z = gaussian.sigma * b
    p = np.array([brentq(lambda p, at=at: p - at - 2 * Sigma * expit(-2 * p), at, at + 2 * Sigma) for at in z])
    jump = 2 * weight @ (p - z) / Sigma / weight.sum()
    found = sums(Signs(), *gaussian, Sigma, *_disc(120, -0.6))
    assert found.slope_z_0 == pytest.approx(jump / sqrt(2 * np.pi * rho_0), rel=1e-2)


@pytest.mark.parametrize(("rho_0", "overlaps"), PLACES)
def test_three_rules_agree(rho_0, overlaps):
    for channel in (ps.PairComparison(1.0, 1.4), ps.Huber(1, 0.6)):
        fine = Trapezoid(120).averages(channel, rho_0, overlaps)
        product = GaussHermite(80).averages(channel, rho_0, overlaps)
        random = Sobol(1024, 8, seed=1).averages(channel, rho_0, overlaps)
        for name in ("stein_z", "stein_z_0", "square", "train_error", "test_error"):
            value, column = getattr(fine, name)[0], getattr(random, name)
            assert getattr(product, name)[0] == pytest.approx(value, rel=2e-3), name
            assert abs(column.mean() - value) < 4 * column.std(ddof=1) / sqrt(8) + 1e-9, name


class Lopsided(ps.Channel):
    """Two directions, of which one may change its sign."""

    n_tokens = 2

    def output(self, z):
        R = self.matrix(z)
        return np.stack([np.tanh(R[..., 0, 1]), np.exp(0.3 * (R[..., 0, 0] + R[..., 1, 1]))], axis=-1)

    def loss(self, label, output):
        return np.sum((label - output) ** 2, axis=-1)


@pytest.mark.parametrize("channel", [OwnSoftmax(2, 1.0, 1.2), Lopsided()], ids=["softmax", "lopsided"])
def test_folded_nodes_are_enough(channel):
    gaussian = gaussian_of(1.75, Overlaps(1.2, 1.5, 0.3), None)
    folds = channel.traits.folds
    whole = product_nodes(2, 6, 0.3, 0.0)
    part = product_nodes(2, 6, 0.3, 0.0, folds)
    assert len(part[0]) * 2 ** len(folds) == len(whole[0])
    np.testing.assert_allclose(sums(channel, *gaussian, 0.3, *part), sums(channel, *gaussian, 0.3, *whole), rtol=1e-5)


def test_a_users_softmax_has_the_averages_of_the_built_in_one():
    rho_0, overlaps = 1.75, Overlaps(1.38, 1.46, 2.3)
    ours = GaussHermite(14).averages(OwnSoftmax(2, 1.0, 1.2), rho_0, overlaps)
    theirs = GaussHermite(40).averages(ps.Softmax(2, 1.0, 1.2), rho_0, overlaps)
    for name in AVERAGED:
        assert getattr(ours, name) == pytest.approx(getattr(theirs, name), rel=1e-3), name
    assert max(ours.jumps, theirs.jumps) < 1e-3


def test_a_written_basis_is_used():
    class Told(OwnSoftmax):
        @property
        def active_basis(self):
            return np.array([[1.0, 1.0], [0.0, -sqrt(2)], [-1.0, 1.0]]) / np.array([sqrt(2), 2.0])

    rho_0, overlaps = PLACES[0]
    told, found = (GaussHermite(10).averages(channel, rho_0, overlaps) for channel in (Told(2), OwnSoftmax(2)))
    assert Told(2).traits.folds == ()
    for name in AVERAGED:
        np.testing.assert_allclose(getattr(told, name), getattr(found, name), rtol=1e-5, err_msg=name)


def within(ours: ps.Solution, theirs: ps.Solution, names: tuple[str, ...] = ("test_error", "train_loss", "rank")):
    for name in (*names, "estimation_error"):
        bar = ours.error_bars[name] + theirs.error_bars[name]
        assert abs(getattr(ours, name) - getattr(theirs, name)) < 1.5 * bar, name


@pytest.mark.parametrize("n_tokens", [1, 2])
def test_a_users_linear_channel_has_the_explicit_solution(n_tokens):
    exact = ps.linear_attention(TARGET, alpha=0.5, weight_decay=0.1, noise=0.5, n_tokens=n_tokens)
    ours = ps.solve(exact.replace(channel=OwnLinear(n_tokens)))
    within(ours, ps.solve(exact))
    assert ours.error_bars["test_error"] < 3e-3 * ours.test_error
    assert ours.replicon == pytest.approx(ps.solve(exact).replicon, rel=1e-2)


def test_a_users_softmax_has_the_built_in_solution():
    ours = ps.solve(ATTENTION.replace(channel=OwnSoftmax(2)), solver=ps.StateEvolution(accuracy=1e-3))
    theirs = ps.solve(ATTENTION)
    within(ours, theirs)
    assert ours.error_bars["test_error"] < 2e-3 * ours.test_error
    assert ours.replicon == pytest.approx(theirs.replicon, abs=2 * ours.error_bars["replicon"])


@pytest.mark.slow
def test_a_users_softmax_of_three_tokens_has_the_built_in_solution():
    problem = ATTENTION.replace(n_tokens=3)
    within(ps.solve(problem.replace(channel=OwnSoftmax(3))), ps.solve(problem))


def test_a_wide_huber_loss_is_the_square():
    square = ps.quadratic_network(TARGET, alpha=1.0, weight_decay=0.1, noise=0.5)
    within(ps.solve(ROBUST.replace(threshold=100.0)), ps.solve(square))


def test_a_weak_penalty_and_a_strong_one():
    strong = ps.solve(COMPARISON.replace(weight_decay=5.0))
    assert strong.rank == 0.0
    assert strong.test_error == pytest.approx(np.log(2), rel=1e-9)
    assert "zero" in strong.message
    weak = ps.solve(COMPARISON.replace(alpha=40.0, weight_decay=1e-3, noise=0.0))
    assert weak.estimation_error < 0.05 * TARGET.second_moment


def test_labels_that_move_by_steps_are_the_limit_of_sharp_likelihoods():
    signs = ps.solve(COMPARISON.replace(channel=Signs(), weight_decay=0.2), solver=ps.StateEvolution(accuracy=2e-3))
    sharp = ps.solve(COMPARISON.replace(beta_0=100.0, weight_decay=0.2), solver=ps.StateEvolution(accuracy=2e-3))
    for name in ("test_error", "train_loss", "rank"):
        assert getattr(signs, name) == pytest.approx(getattr(sharp, name), rel=1e-2), name


def test_an_even_output_says_that_nothing_was_found():
    class Even(Tanh):
        def output(self, z):
            return np.asarray(z)[..., 0] ** 2

        slope = ps.Channel.slope

    with pytest.raises(ps.SolveError, match=r"no fixed point.*check_channel\(channel\).*even in z"):
        ps.solve(COMPARISON.replace(channel=Even(), alpha=0.2, weight_decay=5.0))


# Training.


@pytest.mark.parametrize(
    ("problem", "own"),
    [
        (ps.linear_attention(TARGET, alpha=0.6, weight_decay=0.1, noise=0.5, n_tokens=2), OwnLinear(2)),
        (ATTENTION, OwnSoftmax(2)),
        (ps.unfactorized_attention(TARGET, alpha=0.6, ridge=0.05, noise=0.5, n_tokens=3), OwnSoftmax(3)),
    ],
    ids=["linear", "softmax", "unfactorized"],
)
def test_a_users_channel_is_trained_as_the_built_in_one_on_the_same_data(problem, own):
    d = 16
    built_in, users = objective_of(problem, d, 0), objective_of(problem.replace(channel=own), d, 0)
    np.testing.assert_array_equal(built_in.samples.labels, users.samples.labels)
    rng = np.random.default_rng(1)
    S, W = rng.standard_normal((d, d)), rng.standard_normal((d, d))
    for here, there in ((users.at_S(S + S.T), built_in.at_S(S + S.T)), (users.at_W(W), built_in.at_W(W))):
        assert here.value == pytest.approx(there.value, rel=1e-8)  # blind directions are known to 1e-9
        np.testing.assert_allclose(here.gradient, there.gradient, atol=1e-6 * np.abs(there.gradient).max())
    for trainer in (ps.LBFGS(), ps.AMP()):
        fit, other = trainer.fit(users, np.random.default_rng(2)), trainer.fit(built_in, np.random.default_rng(2))
        assert fit.converged
        assert fit.loss == pytest.approx(other.loss, rel=1e-8)
        np.testing.assert_allclose(fit.S, other.S, atol=2e-4 * np.abs(other.S).max())


@pytest.mark.parametrize("problem", [COMPARISON, ROBUST, ROBUST.replace(n_tokens=2, alpha=0.5)], ids=called)
def test_every_trainer_ends_at_one_minimum(problem):
    objective = objective_of(problem, 40, 3)
    passing, gradient = (trainer.fit(objective, np.random.default_rng(4)) for trainer in (ps.AMP(), ps.LBFGS()))
    assert passing.converged
    assert gradient.converged
    assert passing.loss == pytest.approx(gradient.loss, rel=1e-8)
    assert passing.certificate.rank == gradient.certificate.rank
    assert passing.certificate.residual < 1e-4
    np.testing.assert_allclose(passing.S, gradient.S, atol=1e-3 * np.abs(gradient.S).max())
    if problem.channel.n_tokens == 1:
        slow = ps.Adam(lr=0.05, steps=400).fit(objective, np.random.default_rng(4))
        assert gradient.loss <= slow.loss < 1.02 * gradient.loss


def test_random_labels_reach_the_training():
    objective = objective_of(COMPARISON, 20, 5)
    assert objective.samples.labels.shape == (400,)
    assert set(objective.samples.labels) == {-1.0, 1.0}
    assert objective.samples.n_tokens == 2
    ensemble = ps.simulate(COMPARISON, d=12, seeds=2, n_test=500, processes=1, centring="mean", dtype="float32")
    assert not ensemble.failures


def test_a_channel_goes_to_other_processes_whole():
    channel = OwnSoftmax(2)
    again = pickle.loads(pickle.dumps((channel, channel.traits, channel)))[0]
    assert again == channel
    np.testing.assert_array_equal(again.active_basis, channel.active_basis)


def compared(problem, sizes, seeds):
    networks = [ps.simulate(problem, d=d, seeds=seeds, n_test=4000, processes=1) for d in sizes]
    return networks, ps.compare(ps.solve(problem), *networks)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [COMPARISON, ROBUST], ids=["comparison", "robust"])
def test_networks_do_what_is_predicted(problem):
    networks, comparison = compared(problem, (20, 36), 4)
    assert all(ensemble.converged.all() for ensemble in networks)
    for row in comparison.rows:
        assert abs(row.z) < 4, row.sentence


def test_a_prediction_for_another_loss_is_caught():
    """Negative control of the test above: networks trained with the Huber loss, predicted with the square."""
    network = ps.simulate(ROBUST, d=40, seeds=4, n_test=4000, processes=1)
    square = ps.solve(ps.quadratic_network(TARGET, alpha=1.0, weight_decay=0.1, noise=0.5))
    for name in ("test_error", "train_loss"):
        measured = getattr(network, name)
        assert abs(measured.mean() - getattr(square, name)) > 6 * measured.std(ddof=1) / 2, name


@pytest.mark.slow
def test_a_channel_and_a_penalty_of_ones_own_go_together():
    problem = ROBUST.replace(penalty=ps.ElasticSpectral(0.1, 0.02))
    networks, comparison = compared(problem, (20, 36), 4)
    assert max(ensemble.residual.max() for ensemble in networks) < 1e-4
    for row in comparison.rows:
        assert abs(row.z) < 4, row.sentence


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [
        COMPARISON,
        COMPARISON.replace(beta_0=0.5, alpha=3.0, kappa=0.8),
        ROBUST,
        ROBUST.replace(n_tokens=2, alpha=0.5),
        ROBUST.replace(channel=Tanh()),
        ROBUST.replace(channel=Probit(), alpha=2.0),
        ROBUST.replace(channel=Choice()),
        COMPARISON.replace(channel=Signs(), weight_decay=0.2),
    ],
    ids=called,
)
def test_larger_networks_do_what_is_predicted(problem):
    _, comparison = compared(problem, (30, 60), 8)
    for row in comparison.rows:
        assert abs(row.z) < 4, row.sentence


# What is refused, and how.


class Step(ps.Channel):
    n_tokens = 1

    def output(self, z):
        return np.sign(np.asarray(z)[..., 0])

    def loss(self, label, output):
        return (label - output) ** 2


def test_a_flat_output_is_refused_in_words():
    problem = ROBUST.replace(channel=Step())
    for act in (ps.solve, lambda problem: ps.simulate(problem, d=10, seeds=1)):
        with pytest.raises(ValueError, match=r"`channel` must have an output that changes smoothly.*np\.tanh"):
            act(problem)


def test_a_sequence_task_is_refused_in_words():
    with pytest.raises(ValueError, match=r'`task` must be "label" for a channel of your own'):
        ps.simulate(COMPARISON, d=10, task="sequence")


def test_a_trainer_for_convex_problems_is_refused_in_words():
    with pytest.raises(ValueError, match=r"`trainer` must be LBFGS, Adam or AMP for this channel"):
        ps.simulate(ROBUST, d=10, seeds=1, trainer=ps.ProximalGradient(), processes=1)


def test_random_labels_need_a_likelihood_and_their_prox_a_label():
    class Forgot(Tanh):
        labels = (0.0, 1.0)

    with pytest.raises(ValueError, match=r"`likelihood` must be written where a channel has `labels`"):
        ps.solve(ROBUST.replace(channel=Forgot()))
    with pytest.raises(ValueError, match=r"`prox` must be asked for with a label where labels are random"):
        ps.PairComparison().prox(np.zeros(3), np.zeros(3), 1.0)


def test_a_loss_of_the_wrong_shape_is_refused_in_words():
    class Mean(Tanh):
        def loss(self, label, output):
            return np.mean((label - output) ** 2)

        slope = ps.Channel.slope

    with pytest.raises(ValueError, match=r"`channel` must have one finite loss for each sample.*check_channel"):
        ps.solve(ROBUST.replace(channel=Mean()))


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: ps.Huber(1, 0.0), "threshold"),
        (lambda: ps.Huber(0), "n_tokens"),
        (lambda: ps.PairComparison(-1.0), "beta"),
        (lambda: ps.PairComparison(1.0, np.nan), "beta_0"),
        (lambda: Trapezoid(2), "nodes"),
        (lambda: Trapezoid(40).averages(OwnSoftmax(2), 1.0, PLACES[0][1]), "rule"),
        (lambda: GaussHermite(8).averages(OwnSoftmax(3), 1.0, PLACES[0][1]), "rule"),
    ],
)
def test_bad_numbers_are_refused(build, name):
    with pytest.raises(ValueError, match=f"`{name}` must"):
        build()


class Relu(ps.Channel):
    """An output with a kink: the loss of a positive label has two minima, and no curvature shows it."""

    n_tokens = 1

    def output(self, z):
        return np.maximum(np.asarray(z)[..., 0], 0.0)

    def loss(self, label, output):
        return (label - output) ** 2


@pytest.mark.parametrize("Sigma", [0.3, 3.0, 10.0])
def test_prox_across_a_kink(Sigma):
    rng = np.random.default_rng(4)
    z_0, z = 1.5 * rng.standard_normal((2, 300, 1))
    channel = Relu()
    p = channel.prox(z_0, z, Sigma)
    grid = np.linspace(-8.0, 8.0, 16001)
    label = np.maximum(z_0, 0.0)
    best = ((grid - z) ** 2 / (2 * Sigma) + (label - np.maximum(grid, 0.0)) ** 2).min(axis=1)
    found = ((p - z) ** 2 / (2 * Sigma) + (label - np.maximum(p, 0.0)) ** 2)[:, 0]
    assert (found <= best + 1e-5).mean() > 0.99


def test_a_loss_that_is_not_written_says_so():
    class Scalar(ps.Channel):
        n_tokens = 1

        def output(self, z):
            return np.tanh(np.asarray(z)[..., 0])

    with pytest.raises(ValueError, match=r"`loss` must be written where outputs are not T x T"):
        ps.solve(ps.Problem(ps.MarchenkoPastur(0.5), Scalar(), ps.NuclearPSD(0.1), alpha=0.5))
