"""Averages over a sample: two forms of every slope, two rules, the blind direction, the linear limit, and jumps."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import presage as ps
from presage.models.attention.channels.pair_prox import pair_prox, scan_space
from presage.models.attention.channels.prox_report import LOSS_AT_P, REPORTED
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules import token_sums
from presage.models.attention.theory.rules.cut_lines import CutLines
from presage.models.attention.theory.rules.exact import Exact
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.pair_lines import pair_lines
from presage.models.attention.theory.rules.pair_places import Setting
from presage.models.attention.theory.rules.rule import Averages, Rule, gaussian_of
from presage.models.attention.theory.rules.sample_sums import SQUARE, WEIGHT
from presage.models.attention.theory.rules.sobol import Sobol, scattered_points

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


def test_lines_cut_at_jumps_agree_with_scattered_points():
    """A hundred times as many points, by another rule and with no cut: within four of their standard errors."""
    lines = CutLines(56).averages(ps.Softmax(2), 1.75, JUMPY)
    random = Sobol(2**15, 16, seed=7).averages(ps.Softmax(2), 1.75, JUMPY)
    for name in ("stein_z", "stein_z_0", "square", "train_error", "test_error"):
        column = getattr(random, name)
        assert abs(getattr(lines, name)[0] - column.mean()) < 4 * spread(column), name
    assert lines.jumps == pytest.approx(random.jumps, rel=0.2)  # looked for at some nodes only


@pytest.mark.parametrize(("rho_0", "overlaps"), [*PLACES, (1.75, Overlaps(1.38, 1.46, 2.3))])
def test_lines_without_jumps_are_a_product_rule(rho_0, overlaps):
    lines, plane = (rule.averages(ps.Softmax(2), rho_0, overlaps) for rule in (CutLines(64), GaussHermite(40)))
    for name in (*FIELDS, "stein_z", "stein_z_0"):
        assert differ(getattr(lines, name), getattr(plane, name)) < (1e-3 if name == "square_slope" else 2e-5), name


@pytest.mark.parametrize("channel", [ps.Softmax(2), ps.Softmax(2, beta=0.8, beta_0=1.3)])
def test_slopes_with_their_jumps_are_those_of_steins_lemma(channel):
    """What the Hessian misses is the integral over the surface where p jumps: lines that are cut there have it."""
    averages = CutLines(80).averages(channel, 1.75, JUMPY)
    assert averages.jumps > 5e-4
    assert differ(averages.slope_z, averages.stein_z) < 5e-4
    assert differ(averages.slope_z_0, averages.stein_z_0) < 1e-3


def test_a_line_is_cut_where_it_jumps():
    """One line whose samples jump, beside the lowest minimum at many points of it."""
    root_rho, mean, sigma, Sigma = np.sqrt(1.75), 1.5464, 1.6138, 100.2
    a1, b1, a2 = 0.48, 2.26, 0.16
    x, w = np.polynomial.hermite_e.hermegauss(16)
    pieces = np.zeros((2, 31, 30))
    for m in range(1, 31):
        nodes, weights = np.polynomial.legendre.leggauss(m)
        pieces[0, m, :m], pieces[1, m, :m] = 0.5 * (1 + nodes), 0.5 * weights
    setting = Setting(root_rho, mean, sigma, Sigma, 1.0, 0.0, 1.0)
    outer = np.array([[a1, b1, a2, 0.0, 1.0]])
    inside = np.abs(x) < 6.5
    total, jumped = pair_lines(outer, 1e-12, x[inside], w[inside] / w.sum(), pieces, 3.0, setting)

    t = np.linspace(-6.5, 6.5, 40_001)
    density = np.exp(-0.5 * t**2) / np.sqrt(2 * np.pi) * (t[1] - t[0])
    report, scan = np.empty(REPORTED), scan_space()
    losses, squares = np.empty(t.size), np.empty(t.size)
    for k, b2 in enumerate(t):
        z = mean * a1 + sigma * b1, mean * a2 + sigma * b2
        f = pair_prox(root_rho * a1, root_rho * a2, *z, Sigma, 1.0, report, scan)
        losses[k], squares[k] = report[LOSS_AT_P], f[0] ** 2 + f[1] ** 2
    assert np.abs(np.diff(losses)).max() > 0.1  # it does jump
    assert total[WEIGHT] == pytest.approx(1.0, abs=1e-9)
    assert total[LOSS_AT_P] == pytest.approx(density @ losses, rel=3e-4)
    assert total[SQUARE] == pytest.approx(density @ squares, rel=1e-5)
    assert jumped[0] > 0.0


@pytest.mark.parametrize(
    ("rule", "channel", "overlaps", "close"),
    [
        (GaussHermite(24), ps.Softmax(2), Overlaps(1.2, 1.5, 0.5), 1e-5),
        (GaussHermite(24), ps.Softmax(2, beta=0.8, beta_0=1.3), Overlaps(1.2, 1.5, 0.5), 1e-5),
        (CutLines(32), ps.Softmax(2), Overlaps(1.2, 1.5, 0.5), 1e-5),
        (CutLines(56), ps.Softmax(2), JUMPY, 2e-2),
        (Exact(), ps.Linear(3), Overlaps(1.2, 1.5, 0.5), 1e-7),
    ],
    ids=["product", "temperatures", "lines", "jumps", "linear"],
)
def test_derivatives_of_averages_are_those_of_differences(rule: Rule, channel, overlaps, close):
    """In mean, sigma and Sigma, each by a small step; at jumps |df/dz|^2 is too rough to be differenced."""
    rho_0, names = 1.75, ("stein_z", "stein_z_0", "square", "train_error", "square_slope", "test_error")
    root = np.sqrt(rho_0)
    place = np.array([overlaps.m / root, np.sqrt(overlaps.q - overlaps.m**2 / rho_0), overlaps.Sigma])

    def at(mean: float, sigma: float, Sigma: float) -> np.ndarray:
        found = rule.averages(channel, rho_0, Overlaps(mean * root, mean**2 + sigma**2, Sigma), sigma)
        return np.array([getattr(found, name)[0] for name in names])

    derivatives = rule.averages(channel, rho_0, overlaps).derivatives
    assert derivatives is not None
    for k in range(3):
        step = 1e-4 * place[k] * np.eye(3)[k]
        slope = (at(*(place + step)) - at(*(place - step))) / (2 * step[k])
        size = np.abs(at(*place)) / place[k]
        for name, mine, other, scale in zip(names, derivatives[:, k], slope, size, strict=True):
            if overlaps is not JUMPY or name != "square_slope":
                assert mine == pytest.approx(other, abs=close * (abs(other) + scale)), (name, k)


def test_lines_are_for_two_tokens_of_a_softmax():
    for channel in (ps.Softmax(3), ps.Linear(2)):
        with pytest.raises(ValueError, match=r"`rule` must fit the channel.*Sobol\(\)"):
            CutLines(8).averages(channel, 1.0, PLACES[0][1])
    with pytest.raises(ValueError, match="`nodes` must be even"):
        CutLines(9)


@pytest.mark.parametrize(
    ("channel", "overlaps", "gain"),
    [
        (ps.Softmax(3), Overlaps(1.35, 1.41, 3.5), 2.0),
        (ps.Softmax(3, beta=4.0), Overlaps(1.41, 1.82, 5.2), 0.6),
        (ps.Softmax(5, beta=1.0, beta_0=0.7), Overlaps(1.2, 1.5, 0.5), 2.0),
    ],
)
def test_controls_leave_the_mean(channel, overlaps, gain):
    """Averages with the help of guesses and rows are those of the points alone, but closer together."""
    sets, nodes, rho_0 = 16, 512, 1.75
    gaussian = gaussian_of(rho_0, overlaps, None)
    guessed, single = token_sums.points_needed(channel.n_tokens, nodes)
    points = [scattered_points(2 * channel.n_active, guessed, 100 + k) for k in range(sets)]
    rows = [scattered_points(2 * (channel.n_tokens - 1), single, 200 + k) for k in range(sets)]
    found = token_sums.token_sums(channel, gaussian, overlaps.Sigma, nodes, points, rows)
    values = [token_sums._values(channel, gaussian, overlaps.Sigma, x[:nodes]) for x in points]
    plain = np.array([x.mean(axis=0) for x in values])
    for k in range(found.shape[1]):
        gap = found[:, k] - plain[:, k]
        assert abs(gap.mean()) <= 3.5 * spread(gap), k
    for k in (4, 6, 7, 8):  # test error, |f|^2, f.a, f.b
        assert spread(plain[:, k]) > gain * spread(found[:, k]), k


@pytest.mark.parametrize("n_tokens", [3, 5])
def test_a_sample_has_the_mean_of_one_row_times_their_number(n_tokens):
    channel = ps.Softmax(n_tokens, beta=1.5, beta_0=1.0)
    gaussian = gaussian_of(1.75, Overlaps(1.2, 1.5, 0.5), None)
    points = [scattered_points(2 * channel.n_active, 4096, k) for k in range(16)]
    rows = [scattered_points(2 * (n_tokens - 1), 4096, 50 + k) for k in range(16)]
    of_samples = np.array([token_sums._guessed(channel, gaussian, 0.5, x)[:, 4:].mean(axis=0) for x in points])
    of_rows = token_sums._expected_rows(channel, gaussian, rows)
    for sample, row in zip(of_samples.T, of_rows.T, strict=True):
        assert abs(sample.mean() - row.mean()) < 3.5 * np.hypot(spread(sample), spread(row))
        assert np.hypot(spread(sample), spread(row)) < 0.02 * abs(row.mean())


@pytest.mark.parametrize("dropped", [1e-7, 1e-8])
def test_samples_left_out_are_in_what_a_rule_says_of_its_rounding(dropped):
    rule, channel = GaussHermite(24, dropped=dropped), ps.Softmax(2, 1.0)
    off = []
    for rho_0, overlaps in PLACES:
        some, all_of_them = (r.averages(channel, rho_0, overlaps) for r in (rule, GaussHermite(24, dropped=0.0)))
        off += [abs(getattr(some, name)[0] / getattr(all_of_them, name)[0] - 1.0) for name in FIELDS]
    assert 0.02 * rule.rounding < max(off) <= rule.rounding


def test_points_resolve_the_map_as_well_as_jumps_can_be_counted():
    """At overlaps where many samples jump, conjugates by other scrambles differ by about twice the resolution."""
    channel, overlaps = ps.Softmax(3, 2.0), Overlaps(2.2, 5.1, 40.0)
    found = [Sobol(1024, 1, seed).averages(channel, 1.75, overlaps) for seed in range(6)]
    spread = np.std([np.log(x.square[0]) for x in found], ddof=1)
    jumps = np.mean([x.jumps for x in found])
    assert jumps > 0.05
    assert 0.3 < spread / (2.0 * Sobol(1024, 1).resolution(float(jumps))) < 3.0
    assert Sobol(1024, 16).resolution(0.1) == pytest.approx(0.25 * Sobol(1024, 1).resolution(0.1))
    assert GaussHermite(24).resolution(0.1) == 0.0
