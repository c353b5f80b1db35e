"""Channels: outputs, losses, and proximal maps that find the lowest of several minima."""

from __future__ import annotations

from itertools import product
from math import sqrt

import numpy as np
import pytest
from scipy.optimize import minimize

from presage import Linear, Softmax
from presage.models.attention.channels.pair_prox import pair_prox, scan_space
from presage.models.attention.channels.prox_report import (
    LOSS_AT_P,
    LOSS_AT_Z,
    REPORTED,
    SQUARE_Z,
    TRACE_ANCHOR,
    TRACE_Z,
)
from presage.models.attention.channels.softmax import blind_direction
from presage.models.attention.channels.tokens_newton import descend, labels_and_losses
from presage.models.attention.channels.tokens_prox import tokens_prox

SOFTMAX = [Softmax(2), Softmax(2, 2.0, 0.7), Softmax(3, 0.5), Softmax(5, 1.5, 1.0)]


def draw(channel, count, seed, size=1.3):
    """Target and centre of the proximal map, components independent."""
    rng = np.random.default_rng(seed)
    return size * rng.standard_normal((2, count, channel.n_in))


def blind(T):
    """The direction that softmax does not see: 1/sqrt(1 + delta_ab)."""
    rows, columns = np.triu_indices(T)
    return np.where(rows == columns, 1 / sqrt(2), 1.0)


def loss_gradient(channel, label, h):
    """Gradient of the loss in the components of h, from the definition of the softmax."""
    s = channel.output(h)
    residual = s - label
    row = 2 * channel.beta * s * (residual - np.sum(s * residual, axis=-1, keepdims=True))
    rows, columns = np.triu_indices(channel.n_tokens)
    both = row[..., rows, columns] + row[..., columns, rows]
    return np.where(rows == columns, both / sqrt(2), both)


def objective(channel, z_0, z, Sigma, h):
    return 0.5 * np.sum((h - z) ** 2, axis=-1) + Sigma * channel.loss_at(z_0, h)


def polish(channel, z_0, z, Sigma, start):
    def value(h):
        return objective(channel, z_0, z, Sigma, h)

    return minimize(value, start, method="BFGS")


def solve_tokens(channel, anchor, z, Sigma):
    f, report = np.empty_like(z), np.empty((len(z), REPORTED))
    tokens_prox(np.ascontiguousarray(anchor), np.ascontiguousarray(z), Sigma, channel.beta, channel.n_tokens, f, report)
    return f, report


# Rows: the two directions of (z11, z12, z22) that two tokens see, e1 and e2.
ACTIVE = np.array([[1 / sqrt(2), 0.0, -1 / sqrt(2)], [0.5, -1 / sqrt(2), 0.5]])


def pairs(channel, anchor, z, Sigma):
    """`pair_prox` of each sample, back in the three components."""
    scan, report = scan_space(), np.empty((len(z), REPORTED))
    rows = zip(anchor @ ACTIVE.T, z @ ACTIVE.T, report, strict=True)
    f = [pair_prox(a[0], a[1], centre[0], centre[1], Sigma, channel.beta, row, scan) for a, centre, row in rows]
    return np.array(f) @ ACTIVE, report


def test_matrix_of_the_components():
    np.testing.assert_allclose(Linear(2).matrix([1.0, 2.0, 3.0]), [[sqrt(2), 2.0], [2.0, 3 * sqrt(2)]])
    for T in (1, 2, 3, 5):
        channel = Linear(T)
        z = np.random.default_rng(0).standard_normal((4, channel.n_in))
        R = channel.matrix(z)
        assert channel.n_in == T * (T + 1) // 2
        np.testing.assert_array_equal(R, np.swapaxes(R, -1, -2))
        np.testing.assert_allclose(np.sum(R**2, axis=(-2, -1)), 2 * np.sum(z**2, axis=-1), rtol=1e-14)
    assert (Linear(3).n_active, Softmax(3).n_active) == (6, 5)


@pytest.mark.parametrize("channel", SOFTMAX, ids=repr)
def test_softmax_rows_sum_to_one(channel):
    z_0, z = draw(channel, 50, 1, size=30.0)
    for output in (channel.target_output(z_0), channel.output(z)):
        assert output.shape == (50, channel.n_tokens, channel.n_tokens)
        assert (output >= 0).all()
        np.testing.assert_allclose(output.sum(axis=-1), 1, rtol=1e-14)
    logits = channel.target_beta * channel.matrix(z_0 / 30)
    weights = np.exp(logits)
    expected = weights / weights.sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(channel.target_output(z_0 / 30), expected, rtol=1e-13)


def test_the_target_takes_the_temperature_of_the_learner_unless_told():
    assert Softmax(2, 1.7) == Softmax(2, 1.7, 1.7)
    z = np.array([0.3, -0.2, 1.0])
    np.testing.assert_allclose(Softmax(2, 1.0, 2.0).target_output(z), Softmax(2, 1.0).output(2 * z), rtol=1e-14)


@pytest.mark.parametrize("channel", [*SOFTMAX, Linear(1), Linear(3)], ids=repr)
def test_loss_is_the_squared_distance_over_all_entries(channel):
    z_0, z = draw(channel, 20, 2)
    entries = channel.target_output(z_0) - channel.output(z)
    expected = [np.linalg.norm(entry) ** 2 for entry in entries]
    np.testing.assert_allclose(channel.loss_at(z_0, z), expected, rtol=1e-13)
    assert channel.loss_at(z_0[0], z[0]) == pytest.approx(expected[0], rel=1e-13)
    ratio = getattr(channel, "target_beta", 1.0) / getattr(channel, "beta", 1.0)
    np.testing.assert_allclose(channel.loss_at(z_0, ratio * z_0), 0, atol=1e-28)


def test_two_tokens_are_two_sigmoids():
    channel = Softmax(2, 1.4)
    z_0, z = draw(channel, 50, 3)

    def rows(h):
        e1, e2 = ACTIVE @ h.T
        return 1 / (1 + np.exp(-1.4 * np.array([sqrt(2) * e2 + e1, sqrt(2) * e2 - e1])))

    expected = 2 * np.sum((rows(z) - rows(z_0)) ** 2, axis=0)
    np.testing.assert_allclose(channel.loss_at(z_0, z), expected, rtol=1e-12)


@pytest.mark.parametrize("T", [1, 3])
def test_prox_of_the_linear_channel_is_a_weighted_mean(T):
    channel, Sigma = Linear(T), 0.7
    z_0, z = draw(channel, 5, 4)
    p = channel.prox(z_0, z, Sigma)
    np.testing.assert_allclose(p - z, 4 * Sigma * (z_0 - z) / (1 + 4 * Sigma), rtol=1e-14)
    for lowest_point, label, centre in zip(p, z_0, z, strict=True):
        found = polish(channel, label, centre, Sigma, np.zeros(channel.n_in))
        np.testing.assert_allclose(found.x, lowest_point, rtol=0, atol=1e-5)


@pytest.mark.parametrize("T", [2, 3, 5])
def test_the_blind_direction_is_a_common_shift(T):
    channel, u = Softmax(T), blind_direction(T)
    np.testing.assert_array_equal(u, blind(T))
    np.testing.assert_allclose(channel.matrix(u), np.ones((T, T)), rtol=1e-15)
    with pytest.raises(ValueError, match="read-only"):
        u += 1.0


@pytest.mark.parametrize("Sigma", [0.3, 30.0])
@pytest.mark.parametrize("channel", SOFTMAX, ids=repr)
def test_the_blind_direction_passes_through_the_prox(channel, Sigma):
    z_0, z = draw(channel, 30, 5)
    u = blind(channel.n_tokens)
    assert u @ u == pytest.approx(channel.n_tokens**2 / 2)
    p = channel.prox(z_0, z, Sigma)
    np.testing.assert_allclose(p @ u, z @ u, rtol=0, atol=1e-12)
    np.testing.assert_allclose(channel.prox(z_0, z + 0.8 * u, Sigma), p + 0.8 * u, rtol=0, atol=1e-8)
    np.testing.assert_allclose(channel.prox(z_0 - 1.3 * u, z, Sigma), p, rtol=0, atol=1e-8)


@pytest.mark.parametrize("Sigma", [1e-6, 0.3, 3.0, 30.0])
@pytest.mark.parametrize("channel", SOFTMAX, ids=repr)
def test_f_is_minus_the_gradient_at_the_prox(channel, Sigma):
    z_0, z = draw(channel, 100, 6)
    anchor, label = z_0 * channel.target_beta / channel.beta, channel.target_output(z_0)
    solvers = (solve_tokens, pairs) if channel.n_tokens == 2 else (solve_tokens,)
    for f, report in (solve(channel, anchor, z, Sigma) for solve in solvers):
        p = z + Sigma * f
        np.testing.assert_allclose(f, -loss_gradient(channel, label, p), rtol=0, atol=1e-12)
        np.testing.assert_allclose(report[:, LOSS_AT_P], channel.loss_at(z_0, p), rtol=0, atol=1e-13)
        np.testing.assert_allclose(report[:, LOSS_AT_Z], channel.loss_at(z_0, z), rtol=0, atol=1e-13)
    np.testing.assert_allclose(channel.prox(z_0, z, Sigma), p, rtol=0, atol=1e-12)


@pytest.mark.parametrize("channel", SOFTMAX, ids=repr)
def test_without_coupling_f_is_minus_the_gradient_at_z(channel):
    z_0, z = draw(channel, 100, 7)
    limit = -loss_gradient(channel, channel.target_output(z_0), z)
    for Sigma in (1e-12, 1e-6):
        f, _ = solve_tokens(channel, z_0 * channel.target_beta / channel.beta, z, Sigma)
        np.testing.assert_allclose(f, limit, rtol=0, atol=30 * Sigma + 1e-14)


@pytest.mark.parametrize(("Sigma", "beta"), [(0.3, 0.5), (0.3, 1.0), (3.0, 1.0), (3.0, 2.0), (30.0, 1.0), (30.0, 2.0)])
def test_prox_of_pairs_is_that_of_tokens(Sigma, beta):
    channel = Softmax(2, beta)
    anchor, z = draw(channel, 1000, 8)
    (f, report), (f_tokens, report_tokens) = (solve(channel, anchor, z, Sigma) for solve in (pairs, solve_tokens))
    fields = [TRACE_Z, TRACE_ANCHOR, SQUARE_Z, LOSS_AT_P, LOSS_AT_Z]
    # The map for any number of tokens looks less closely: where it ends elsewhere, it ends higher.
    ours, theirs = (objective(channel, anchor, z, Sigma, z + Sigma * slope) for slope in (f, f_tokens))
    same = np.abs(ours - theirs) < 1e-10
    assert (ours <= theirs + 1e-10).all()
    assert same.mean() >= 0.98
    np.testing.assert_allclose(f[same], f_tokens[same], rtol=0, atol=1e-11)
    np.testing.assert_allclose(report[same][:, fields], report_tokens[same][:, fields], rtol=0, atol=1e-10)


@pytest.mark.parametrize("T", [2, 3, 5])
@pytest.mark.parametrize(("Sigma", "beta"), [(0.3, 0.5), (3.0, 1.0), (30.0, 2.0)])
def test_reported_derivatives_agree_with_differences(T, Sigma, beta):
    channel = Softmax(T, beta)
    anchor, z = draw(channel, 10, 9)
    for solve in (solve_tokens, pairs) if T == 2 else (solve_tokens,):
        for a, centre in zip(anchor, z, strict=True):
            zero, step = np.zeros((channel.n_in, channel.n_in)), 1e-4 * np.eye(channel.n_in)

            def slope(da, dz, solve=solve, a=a, centre=centre):
                near = solve(channel, a + da, centre + dz, Sigma)[0] - solve(channel, a - da, centre - dz, Sigma)[0]
                da, dz = 2 * da, 2 * dz
                far = solve(channel, a + da, centre + dz, Sigma)[0] - solve(channel, a - da, centre - dz, Sigma)[0]
                return (8 * near - far) / 12e-4

            df_dz, df_da = slope(zero, step), slope(step, zero)
            report = solve(channel, a[None], centre[None], Sigma)[1][0]
            expected = np.trace(df_dz), np.trace(df_da), np.sum(df_dz**2)
            np.testing.assert_allclose(report[[TRACE_Z, TRACE_ANCHOR, SQUARE_Z]], expected, rtol=0, atol=1e-10)


def lowest(channel, z_0, z, Sigma, p):
    """Lowest value that gradient descent from many starts finds, polished by scipy where it is not where `p` is.

    The starts lie between z and the nearest point of zero loss: for each set of tokens by itself, and at random.
    """
    T, u = channel.n_tokens, blind(channel.n_tokens)
    anchor = z_0 * channel.target_beta / channel.beta
    line = anchor + ((z - anchor) @ u)[:, None] * u / (u @ u) - z
    rows, columns = np.triu_indices(T)
    chosen = np.array([*product([0.0, 1.0], repeat=T)])
    corners = [np.minimum(chosen[:, rows], chosen[:, columns]), np.maximum(chosen[:, rows], chosen[:, columns])]
    mixture = np.concatenate([*corners, np.random.default_rng(0).random((40 if T == 2 else 16, channel.n_in))])
    target, centre = z_0[:, None], z[:, None]
    h = centre + np.unique(mixture, axis=0) * line[:, None]
    label = channel.target_output(target)
    step = 1 / (1 + 3 * Sigma * channel.beta**2)
    for _ in range(60):
        h = h - step * (h - centre + Sigma * loss_gradient(channel, label, h))
    value = objective(channel, target, centre, Sigma, h)
    best = h[np.arange(len(z)), value.argmin(axis=1)]
    found = value.min(axis=1)
    for i in np.flatnonzero(np.linalg.norm(best - p, axis=1) > 0.1):
        polished = polish(channel, z_0[i], z[i], Sigma, best[i])
        found[i] = min(found[i], polished.fun)
    return found


def missed(channel, z_0, z, Sigma, p):
    return int(np.sum(objective(channel, z_0, z, Sigma, p) > lowest(channel, z_0, z, Sigma, p) * (1 + 1e-9) + 1e-12))


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    ("T", "Sigma", "count"),
    [(2, 0.3, 400), (2, 3.0, 400), (2, 30.0, 400), (3, 0.3, 100), (3, 3.0, 100), (5, 0.3, 40), (5, 3.0, 40)],
)
def test_prox_is_the_lowest_minimum(T, Sigma, count, beta):
    channel = Softmax(T, beta)
    z_0, z = draw(channel, count, 10, size=1.5)
    assert missed(channel, z_0, z, Sigma, channel.prox(z_0, z, Sigma)) == 0


@pytest.mark.parametrize(("T", "beta", "Sigma"), [(3, 2.0, 4.0), (3, 4.0, 5.0), (3, 4.0, 50.0), (4, 4.0, 5.0)])
def test_prox_is_as_low_as_many_starts_lead(T, beta, Sigma):
    """At overlaps as solutions have them, 100 random starts find nothing lower, and z alone misses some."""
    channel, count = Softmax(T, beta), 400
    first, second = draw(channel, count, 14, size=1.0)
    z_0, z = 1.32 * first, 1.1 * first + 0.83 * second
    A, Z, label = channel.matrix(z_0), channel.matrix(z), channel.target_output(z_0)
    rng = np.random.default_rng(15)
    sample = np.repeat(np.arange(count), 100)
    mixture, kick = rng.random((len(sample), T, T)), rng.standard_normal((len(sample), T, T))
    start = Z[sample] + mixture * (A - Z)[sample] + rng.random((len(sample), 1, 1)) * kick
    points, values = np.ascontiguousarray(0.5 * (start + np.swapaxes(start, 1, 2))), np.empty(len(sample))
    descend(points, sample, Z, label, Sigma, beta, values)
    least = values.reshape(count, 100).min(axis=1) * (1 + 1e-9) + 1e-11
    assert (objective(channel, z_0, z, Sigma, channel.prox(z_0, z, Sigma)) <= least).all()
    points, from_z = Z.copy(), np.empty(count)
    descend(points, np.arange(count), Z, label, Sigma, beta, from_z)
    assert (from_z > least).any()


def test_vectors_of_exponentials_are_exponentials():
    """The softmax of the lanes is the softmax, from weights that are equal to weights that are nothing."""
    channel = Softmax(4, 1.7)
    R = channel.matrix(8.0 * np.random.default_rng(16).standard_normal((50, channel.n_in)))
    found, losses = np.empty_like(R), np.empty(len(R))
    labels_and_losses(R, np.zeros_like(R), 1.7, found, losses)
    weights = np.exp(1.7 * (R - R.max(axis=-1, keepdims=True)))
    np.testing.assert_allclose(found, weights / weights.sum(axis=-1, keepdims=True), rtol=2e-15, atol=1e-18)
    np.testing.assert_allclose(losses, np.sum((found - 0.25) ** 2, axis=(1, 2)), rtol=1e-14)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("Sigma", [0.3, 3.0, 30.0])
def test_prox_of_pairs_is_the_lowest_minimum(Sigma, beta):
    channel = Softmax(2, beta)
    anchor, z = draw(channel, 400, 12, size=1.5)
    assert missed(channel, anchor, z, Sigma, z + Sigma * pairs(channel, anchor, z, Sigma)[0]) == 0


@pytest.mark.parametrize("T", [2, 3])
def test_a_prox_that_looks_into_one_basin_only_is_caught(T):
    """Negative control of the two tests above: descend from z alone."""
    channel, Sigma = Softmax(T, 2.0), 3.0
    z_0, z = draw(channel, 100, 13, size=1.5)
    label, h = channel.target_output(z_0), z
    for _ in range(500):
        h = h - (h - z + Sigma * loss_gradient(channel, label, h)) / (1 + 12 * Sigma)
    assert missed(channel, z_0, z, Sigma, h) > 5


@pytest.mark.parametrize(
    ("beta", "Sigma", "anchor", "z", "lower"),
    [
        (1.0, 30.0, (0.0937, 0.9566), (2.1006, 1.9260), (0.6162, 1.2367)),
        (2.0, 30.0, (0.8403, -0.2188), (1.6792, -0.8218), (1.0544, -0.3640)),
        (1.0, 30.0, (1.6676, -2.2838), (-2.4863, -0.8714), (-0.8273, -2.0497)),
    ],
)
def test_prox_finds_a_narrow_basin(beta, Sigma, anchor, z, lower):
    """Points in the two active directions where a coarse look at the objective sees one basin of two."""
    channel = Softmax(2, beta)
    anchor, z, lower = (np.array([point]) @ ACTIVE for point in (anchor, z, lower))
    bound = objective(channel, anchor, z, Sigma, lower)
    for p in (channel.prox(anchor, z, Sigma), z + Sigma * pairs(channel, anchor, z, Sigma)[0]):
        assert objective(channel, anchor, z, Sigma, p) <= bound
