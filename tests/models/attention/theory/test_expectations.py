"""Averages over a sample: two forms of every slope, two rules, the blind direction, the linear limit, and jumps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import presage as ps
from presage.models.attention.channels.pair_prox import pair_prox, scan_space
from presage.models.attention.channels.prox_report import REPORTED
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.rule import Averages
from presage.models.attention.theory.rules.sobol import Sobol

FIELDS = ("slope_z", "slope_z_0", "square", "square_slope", "train_error", "test_error")
PLACES = [(1.75, Overlaps(1.2, 1.5, 0.5)), (1.0, Overlaps(0.3, 0.9, 0.1)), (2.5, Overlaps(2.0, 1.9, 0.58))]
# Components (z11, z12, z22) of the two directions that the softmax of two tokens sees.
ACTIVE = np.array([[1.0, 0.0, -1.0], [1.0, -np.sqrt(2.0), 1.0]]) / np.sqrt([[2.0], [4.0]])
JUMPY = Overlaps(1.2, 2.5, 50.0)


def spread(column: np.ndarray) -> float:
    """Standard error of the mean of independent estimates."""
    return float(column.std(ddof=1) / np.sqrt(column.size))


def differ(first: np.ndarray, second: np.ndarray) -> float:
    return float(abs(first.mean() - second.mean()) / abs(second.mean()))


@pytest.mark.parametrize(("rho_0", "overlaps"), PLACES)
@pytest.mark.parametrize("channel", [ps.Softmax(2), ps.Softmax(2, beta=1.0, beta_0=0.7), ps.Softmax(2, beta=0.4)])
def test_stein_and_hessian_forms_agree(channel, rho_0, overlaps):
    """Where the proximal problem is convex, Sigma beta^2 < 0.6."""
    averages = GaussHermite(72, dropped=1e-12).averages(channel, rho_0, overlaps)
    assert differ(averages.stein_z, averages.slope_z) < 1e-6
    assert differ(averages.stein_z_0, averages.slope_z_0) < 1e-6
    assert averages.jumps == 0.0


@pytest.mark.parametrize(("rho_0", "overlaps"), PLACES)
def test_stein_and_hessian_forms_agree_for_three_tokens(rho_0, overlaps):
    averages = Sobol(1024, 16, seed=3).averages(ps.Softmax(3), rho_0, overlaps)
    for name in ("z", "z_0"):
        gap = getattr(averages, f"stein_{name}") - getattr(averages, f"slope_{name}")
        assert abs(gap.mean()) < 3 * spread(gap)
        assert spread(gap) < 0.02 * abs(getattr(averages, f"slope_{name}").mean())


@pytest.mark.parametrize(("rho_0", "overlaps"), [*PLACES, (1.75, Overlaps(1.38, 1.46, 2.3))])
def test_product_rule_and_random_points_agree(rho_0, overlaps):
    fine = GaussHermite(40).averages(ps.Softmax(2), rho_0, overlaps)
    other = GaussHermite(36, -0.6).averages(ps.Softmax(2), rho_0, overlaps)
    random = Sobol(4096, 16, seed=1).averages(ps.Softmax(2), rho_0, overlaps)
    for name in (*FIELDS, "stein_z", "stein_z_0"):
        column = getattr(random, name)
        value = getattr(fine, name)[0]
        own = abs(value - getattr(other, name)[0])
        assert abs(column.mean() - value) < 4 * spread(column) + 3 * own, name


@pytest.mark.parametrize("Sigma", [0.5, 2.3])
def test_half_planes_are_enough_for_two_tokens(Sigma):
    """The rule with its symmetries is the full product rule over both active directions, through Channel.prox."""
    channel, rho_0, m, q = ps.Softmax(2, beta=0.9, beta_0=1.2), 1.75, 1.2, 1.5
    x, w = np.polynomial.hermite_e.hermegauss(6)
    nodes = np.array(list(product(x, repeat=4)))
    weights = np.prod(list(product(w / w.sum(), repeat=4)), axis=1)
    a, b = nodes[:, :2], nodes[:, 2:]
    mean, sigma = m / np.sqrt(rho_0), np.sqrt(q - m**2 / rho_0)
    z_0, z = np.sqrt(rho_0) * a @ ACTIVE, (mean * a + sigma * b) @ ACTIVE
    f = (channel.prox(z_0, z, Sigma) - z) / Sigma
    ours = GaussHermite(6, angle=0.0, dropped=0.0).averages(channel, rho_0, Overlaps(m, q, Sigma))
    assert ours.square[0] == pytest.approx(weights @ np.sum(f**2, axis=1), rel=1e-9)
    assert ours.train_error[0] == pytest.approx(weights @ channel.loss_at(z_0, z + Sigma * f), rel=1e-9)
    assert ours.test_error[0] == pytest.approx(weights @ channel.loss_at(z_0, z), rel=1e-12)
    assert ours.stein_z[0] == pytest.approx(weights @ np.sum(f * (b @ ACTIVE), axis=1) / sigma, rel=1e-9)


@pytest.mark.parametrize(
    ("Sigma", "z_0", "z"),
    [
        (2.3, [-1.27587556, 0.03310744, 1.22905457], [1.95114101, -1.26308362, -0.16487102]),
        (10.0, [-1.72404571, 0.80577837, 0.58450301], [-0.23024946, 1.89439065, -2.4488235]),
        (50.0, [3.10375746, -1.79991978, -0.55828649], [0.6745302, -2.40646963, 2.7287318]),
    ],
)
def test_both_proximal_maps_find_the_lower_of_two_minima(Sigma, z_0, z):
    """Samples with two basins: the map of two tokens and the map of any number against a fine grid."""
    channel = ps.Softmax(2, beta=0.9, beta_0=1.2)
    label, centre = np.array(z_0), np.array(z)
    e_0, e = ACTIVE @ label, ACTIVE @ centre

    def objective(p):
        return np.sum((p - centre) ** 2, axis=-1) / (2 * Sigma) + channel.loss_at(label, p)

    line = np.linspace(-6.0, 6.0, 481)
    grid = objective(centre + np.array(list(product(line, repeat=2))) @ ACTIVE).min()
    f = np.array(pair_prox(*(e_0 * 1.2 / 0.9), *e, Sigma, 0.9, np.empty(REPORTED), scan_space()))
    assert objective(centre + Sigma * f @ ACTIVE) <= grid
    assert objective(channel.prox(label, centre, Sigma)) <= grid


@pytest.mark.parametrize("n_tokens", [2, 3, 4])
def test_softmax_is_blind_to_a_common_shift(n_tokens):
    channel = ps.Softmax(n_tokens, beta=1.3)
    rows, columns = np.triu_indices(n_tokens)
    blind = np.where(rows == columns, 1 / np.sqrt(2), 1.0)
    rng = np.random.default_rng(8)
    z_0, z = rng.standard_normal((2, 50, channel.n_in))
    shift = rng.standard_normal((50, 1)) * blind
    p = channel.prox(z_0, z, 0.3)
    np.testing.assert_allclose((p - z) @ blind, 0.0, atol=1e-12)
    np.testing.assert_allclose(channel.loss_at(z_0, z + shift), channel.loss_at(z_0, z), atol=1e-13)
    np.testing.assert_allclose(channel.prox(z_0 + shift, z, 0.3), p, atol=1e-9)
    np.testing.assert_allclose(channel.prox(z_0, z + shift, 0.3), p + shift, atol=1e-9)


def test_averages_over_the_active_directions_are_those_over_all_components():
    """Three tokens, six independent components, five of them active: plain Monte Carlo against the rule."""
    channel, rho_0, overlaps = ps.Softmax(3), 1.75, Overlaps(1.2, 1.5, 0.5)
    rng = np.random.default_rng(9)
    a, b = rng.standard_normal((2, 40_000, channel.n_in))
    sigma = np.sqrt(overlaps.q - overlaps.m**2 / rho_0)
    z_0, z = np.sqrt(rho_0) * a, overlaps.m / np.sqrt(rho_0) * a + sigma * b
    f = (channel.prox(z_0, z, overlaps.Sigma) - z) / overlaps.Sigma
    rule = Sobol(1024, 16, seed=2).averages(channel, rho_0, overlaps)
    for name, sample in {
        "square": np.sum(f**2, axis=1),
        "train_error": channel.loss_at(z_0, z + overlaps.Sigma * f),
        "test_error": channel.loss_at(z_0, z),
        "slope_z": np.sum(f * b, axis=1) / sigma,
    }.items():
        column = getattr(rule, name)
        assert abs(column.mean() - sample.mean()) < 3 * np.hypot(spread(column), spread(sample)), name


def curvatures(n_tokens: int, beta: float) -> np.ndarray:
    """Eigenvalues of the Hessian of the softmax loss at zero output error and zero logits."""
    channel = ps.Softmax(n_tokens)
    R = channel.matrix(np.eye(channel.n_in))
    rows = (R - R.mean(axis=-1, keepdims=True)).reshape(channel.n_in, -1) / n_tokens
    return 2.0 * beta**2 * np.linalg.eigvalsh(rows @ rows.T)


def test_curvatures_of_two_tokens_at_zero():
    """Two sigmoids: loss = (beta^2/4) (e_1^2 + 2 e_2^2) to second order, and nothing along the shift."""
    np.testing.assert_allclose(curvatures(2, 0.7), [0.0, 0.7**2 / 2, 0.7**2], atol=1e-15)


@pytest.mark.parametrize("n_tokens", [2, 3])
def test_a_cold_softmax_is_a_linear_channel_with_scaled_curvatures(n_tokens):
    """For beta -> 0, f = -H/(1 + Sigma H) (z - (beta_0/beta) z_0) in each direction of curvature H."""
    beta, ratio, rho_0, m, q = 3e-4, 1.5, 1.75, 1.2, 1.5
    Sigma = 2.0 / beta**2
    H = curvatures(n_tokens, beta)
    slope = H / (1 + Sigma * H)
    power = q - 2 * ratio * m + ratio**2 * rho_0
    rule = GaussHermite(12, dropped=0.0) if n_tokens == 2 else Sobol(1024, 16, seed=4)
    found = rule.averages(ps.Softmax(n_tokens, beta, ratio * beta), rho_0, Overlaps(m, q, Sigma))
    expected = {
        "slope_z": -slope.sum(),
        "slope_z_0": ratio * slope.sum(),
        "square_slope": np.sum(slope**2),
        "square": np.sum(slope**2) * power,
        "train_error": 0.5 * np.sum(H / (1 + Sigma * H) ** 2) * power,
        "test_error": 0.5 * np.sum(H) * power,
    }
    for name, value in expected.items():
        column = getattr(found, name)
        noise = 4 * spread(column) if n_tokens == 3 else 0.0
        assert abs(column.mean() / value - 1) < 1e-6 + noise / abs(value), name


def envelope(averages: Averages, Sigma: float) -> np.ndarray:
    """M = E min_h |h-z|^2/(2 Sigma) + l(h), one entry an estimate."""
    return averages.train_error + 0.5 * Sigma * averages.square


@pytest.mark.parametrize("overlaps", [Overlaps(1.2, 1.5, 0.5), Overlaps(1.38, 1.46, 2.3), JUMPY])
def test_steins_lemma_differentiates_the_envelope(overlaps):
    """2 dM/dq = -E tr df/dz and dM/dm = -E tr df/dz_0, jumps included; common points, so differences are smooth."""
    channel, rho_0 = ps.Softmax(2), 1.75
    rule = Sobol(4096, 16, seed=5)
    m, q, Sigma = overlaps

    def change(**steps: float) -> np.ndarray:
        moved = Overlaps(m + steps.get("m", 0.0), q + steps.get("q", 0.0), Sigma + steps.get("Sigma", 0.0))
        back = Overlaps(*(2 * x - y for x, y in zip(overlaps, moved, strict=True)))
        there, here = rule.averages(channel, rho_0, moved), rule.averages(channel, rho_0, back)
        return (envelope(there, moved.Sigma) - envelope(here, back.Sigma)) / (2 * sum(steps.values()))

    averages = rule.averages(channel, rho_0, overlaps)
    for gap, size in (
        (2 * change(q=1e-3) + averages.stein_z, averages.stein_z),
        (change(m=1e-3) + averages.stein_z_0, averages.stein_z_0),
        (change(Sigma=1e-3 * Sigma) + 0.5 * averages.square, averages.square),
    ):
        assert spread(gap) < 2e-3 * abs(size.mean())
        assert abs(gap.mean()) < 3 * spread(gap) + 1e-4 * abs(size.mean())


def test_at_jumps_the_hessian_form_misses_what_steins_lemma_sees():
    """Negative control: with Sigma beta^2 = 50 the proximal map jumps, and its derivative is not the whole slope."""
    averages = GaussHermite(40).averages(ps.Softmax(2), 1.75, JUMPY)
    random = Sobol(4096, 16, seed=6).averages(ps.Softmax(2), 1.75, JUMPY)
    assert averages.jumps > 1e-3
    for rule in (averages, random):
        assert differ(rule.slope_z, rule.stein_z) > 1e-3
    gap = random.slope_z - random.stein_z
    assert abs(gap.mean()) > 5 * spread(gap)
