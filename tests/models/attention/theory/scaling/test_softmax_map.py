"""Softmax attention with many samples: floors, the quadratic network that it is, and the error that has a law."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.theory.explicit_map import solve_point
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.scaling.softmax_map import (
    WellSampled,
    clean_noise,
    cutoff,
    effective_network,
    error_at_the_edge,
    loss_above_floor,
    noise_level,
    r_prime,
    ridgeless_alpha,
    well_sampled,
)
from presage.models.attention.theory.scaling.softmax_pairs import grid_step, pair_averages
from presage.models.attention.theory.scaling.softmax_scaling import softmax_scaling
from presage.spectra.symmetric.functionals import functionals


def attention(gamma: float, d: int, n_eff: float, decay: float, noise: float = 0.5, **options: Any) -> ps.Problem:
    return ps.attention(ps.PowerLaw(gamma, d), alpha=n_eff / d, weight_decay=decay, noise=noise, **options)


def best(noise: float = 0.5) -> WellSampled:
    return well_sampled(Softmax(2), 1.0, noise)


# The three numbers of a channel


@pytest.mark.parametrize(
    ("noise", "scale", "floor", "V", "M", "off"),
    [
        (0.5, 0.8742972648, 0.0848514059, 0.1857989624, 0.7429985089, 1.1e-10),
        (0.1, 0.9701166, 0.0188307844, 0.0385567, 0.7681742, 5.1e-8),
        (0.0, 1.0, 0.0, 0.0, 0.7750907, 5.1e-8),
    ],
)
def test_floors_of_two_tokens(noise, scale, floor, V, M, off):
    found = best(noise)
    assert (found.scale, found.V, found.M) == pytest.approx((scale, V, M), abs=off)
    assert found.test_floor == pytest.approx(floor, abs=6e-11)
    assert found.estimation_floor == pytest.approx((1.0 - found.scale) ** 2, abs=1e-12)
    assert all(bar < 1e-7 for bar in found.bars.values())


@pytest.mark.slow
def test_floors_of_three_tokens():
    """By scrambled points; the numbers are good to one in their last digit."""
    found = well_sampled(Softmax(3), 1.0, 0.5)
    assert (found.scale, found.test_floor, found.V, found.M) == pytest.approx(
        (0.902, 0.1392, 0.0851, 1.177), abs=1.1e-3
    )
    assert found.test_floor == pytest.approx(0.1392, abs=1.1e-4 + found.bars["test_floor"])
    assert pytest.approx(0.0851, abs=1.1e-4 + found.bars["V"]) == found.V
    assert 1e-5 < found.bars["scale"] < 2e-3


def test_two_and_more_tokens_are_one_definition():
    """The rule of more tokens, on two of them, within its error bar of the grid."""
    from presage.models.attention.theory.scaling.softmax_map import _more_tokens

    grid, scattered = best(), _more_tokens(Softmax(2), 1.0, 0.5)
    for name in ("scale", "test_floor", "M", "V", "estimation_floor"):
        assert getattr(scattered, name) == pytest.approx(getattr(grid, name), abs=2.5 * scattered.bars[name])


@pytest.mark.parametrize(
    ("beta", "beta_0", "Q_0", "noise"), [(1.0, 1.0, 1.0, 0.5), (1.5, 0.7, 0.6, 0.3), (1.0, 2.0, 1.0, 1.0)]
)
def test_pair_averages_are_those_of_the_rules(beta, beta_0, Q_0, noise):
    """The grid of two logits beside the rules in four dimensions: loss, both Hessians and the squared gradient."""
    channel, s = Softmax(2, beta, beta_0), 0.8
    found = pair_averages(channel, Q_0, noise, s, grid_step(channel, Q_0, noise))
    rule = GaussHermite(48, dropped=1e-14).averages(channel, Q_0 + 0.5 * noise, Overlaps(s * Q_0, s**2 * Q_0, 0.0))
    four = (rule.test_error[0], rule.slope_z_0[0], -rule.slope_z[0], rule.square[0])
    assert tuple(found) == pytest.approx(four, rel=3e-6)


@pytest.mark.parametrize(
    ("beta", "beta_0", "Q_0", "noise"), [(1.0, 1.0, 1.0, 0.5), (2.0, 1.0, 0.5, 0.2), (1.0, 2.0, 1.0, 3.0)]
)
def test_scale_is_the_best_one(beta, beta_0, Q_0, noise):
    """Its loss is the least: the derivative in s, by samples of two rows that are drawn, changes sign there."""
    channel = Softmax(2, beta, beta_0)
    found = well_sampled(channel, Q_0, noise)
    step = grid_step(channel, Q_0, noise)

    def loss(s: float) -> float:
        return pair_averages(channel, Q_0, noise, s, step).loss

    least = scipy.optimize.minimize_scalar(loss, bounds=(0.2 * found.scale, 3.0 * found.scale), method="bounded")
    assert least.x == pytest.approx(found.scale, rel=1e-4)
    assert loss(found.scale) == pytest.approx(found.test_floor, rel=1e-9)
    assert loss(found.scale) <= least.fun + 1e-12
    # Drawn: rows of two logits, softmax of both.
    rng, count = np.random.default_rng(0), 400_000
    target = sqrt(3.0 * Q_0) * rng.standard_normal(count)
    label = target + sqrt(1.5 * noise) * rng.standard_normal(count)
    r = scipy.special.expit(beta * found.scale * target) - scipy.special.expit(beta_0 * label)
    assert np.mean(4.0 * r**2) == pytest.approx(found.test_floor, abs=4.5 * np.std(4.0 * r**2) / sqrt(count))


def test_sharper_labels_and_more_noise_shrink():
    scales = [well_sampled(Softmax(2), 1.0, noise).scale for noise in (0.0, 0.1, 0.5, 5.0)]
    assert scales == sorted(scales, reverse=True)
    assert scales[0] == pytest.approx(1.0, abs=1e-12)
    assert well_sampled(Softmax(2, 1.0, 2.0), 1.0, 0.0).scale == pytest.approx(2.0, rel=1e-10)


def test_clean_labels():
    """Without noise the noise of a sample is what is not learned: ``2 alpha delta^2/R'`` tends to a constant."""
    assert clean_noise(Softmax(2), 1.0) == pytest.approx(0.7810565, abs=6e-8)
    off = []
    for n_eff in (400.0, 40_000.0):
        found = ps.solve(attention(2.0, 200, n_eff, 0.05, 0.0))
        off.append(2.0 * found.problem.alpha * found.delta**2 / r_prime(found) / 0.7810565 - 1.0)
    assert abs(off[1]) < 0.2 * abs(off[0])
    assert off[1] == pytest.approx(0.0, abs=0.012)


# The map


def test_many_samples_have_this_map():
    """Noise level, cutoff and scale of a solution, the nearer the more samples: 1.017, 1.006 at n/d = 1000, 3000."""
    found, away = best(), []
    for n_eff, ratio in ((1000.0, 1.017), (3000.0, 1.006)):
        decay = 0.85 * found.M * sqrt(2.0 * found.V * n_eff / 1000)
        solution = ps.solve(attention(1.25, 1000, n_eff, decay))
        alpha = solution.problem.alpha
        assert (solution.delta / noise_level(found, alpha)) ** 2 == pytest.approx(ratio, abs=6e-4)
        assert 0.985 < solution.cutoff / cutoff(found, alpha, decay) < 0.993
        away.append((found.scale - solution.scale, solution.test_error - found.test_floor))
    assert 0.0 < away[1][0] < away[0][0] < 0.06
    assert 0.0 < away[1][1] < away[0][1]


def test_many_samples_are_a_quadratic_network():
    """The same noise level, cutoff and R' as the network at ``(alpha M/4, M V/2)`` and the same weight decay."""
    found, off = best(), []
    for alpha in (3.0, 30.0, 300.0):
        decay = 0.85 * found.M * sqrt(2.0 * found.V * alpha)
        solution = ps.solve(attention(1.25, 200, 200 * alpha, decay))
        samples, noise = effective_network(found, alpha)
        network = ps.solve(ps.quadratic_network(ps.PowerLaw(1.25, 200), alpha=samples, weight_decay=decay, noise=noise))
        off.append(
            [
                solution.delta / network.delta,
                solution.cutoff / network.cutoff,
                r_prime(solution) / network.estimation_error,
            ]
        )
    away = np.abs(np.array(off) - 1.0).max(axis=1)
    assert away[0] > away[1] > away[2]
    assert away[2] < 0.02
    assert noise == pytest.approx(0.5 * 0.7429985089 * 0.1857989624, rel=1e-8)
    assert pytest.approx(0.0929, abs=1e-4) == 0.5 * found.V  # against Delta/8 = .0625 in the limit of no weight decay


def test_ridgeless_is_that_of_a_quadratic_network():
    """n/d = 10, d = 400, T = 2: .24355673265, the quadratic network at alpha = .05."""
    problem = attention(1.25, 400, 10.0, 0.1)
    assert ridgeless_alpha(Softmax(2), problem.alpha) == pytest.approx(0.05)
    found = ps.ridgeless(problem)
    network = ps.ridgeless(ps.quadratic_network(ps.PowerLaw(1.25, 400), alpha=0.05, weight_decay=0.1, noise=0.5))
    assert found.estimation_error == pytest.approx(network.estimation_error, rel=1e-9)
    assert found.estimation_error == pytest.approx(0.24355673265, abs=6e-12)
    assert ridgeless_alpha(Softmax(3), 0.1) == pytest.approx(0.5)


def test_check_values_of_a_softmax():
    found = ps.solve(attention(1.25, 1000, 100.0, 0.01))
    assert found.test_error == pytest.approx(0.146919, abs=1.6e-6)
    numbers = (found.estimation_error, found.delta, found.cutoff, found.scale, found.rank)
    assert numbers == pytest.approx((0.17509, 1.12687, 0.72046, 0.90297, 0.31628), abs=6e-6)
    plain = ps.PowerLaw(1.25, 500, normalized=False)
    found = ps.solve(ps.attention(plain, alpha=0.1, weight_decay=0.01, noise=0.01))
    assert found.estimation_error == pytest.approx(0.00121704002, rel=3e-6)
    assert found.test_error == pytest.approx(0.0046138389, rel=3e-6)


# The error that has a law


def test_r_prime_is_the_risk_of_the_shrunk_matrix():
    """``|S/scale - S_0|^2/d`` from the overlaps, and from the spectrum of ``S_0 + delta GOE`` above the cutoff."""
    solution = ps.solve(attention(1.25, 400, 40.0, 0.05))
    risk = functionals(solution.problem.target, solution.delta, solution.cutoff).risk
    assert r_prime(solution) == pytest.approx(risk, rel=1e-6)
    assert abs(solution.estimation_error - risk) > 0.1 * risk  # the estimation error is another number
    # A quadratic network at (delta, c) has that error: its scale is one.
    network = ps.solve(ps.quadratic_network(ps.PowerLaw(1.25, 400), alpha=0.1, weight_decay=0.05, noise=0.5))
    assert r_prime(network) == pytest.approx(network.estimation_error, rel=1e-10)
    point = solve_point(network.problem.target, 0.5, 0.1, 0.05)
    assert r_prime(network) == pytest.approx(point.functionals.risk, rel=1e-8)


@pytest.mark.parametrize("gamma", [1.25, 2.0])
def test_laws_of_many_samples(gamma):
    """Laws of R' and of the test error: the first is .79 of the leading order, the second tends to it."""
    found, target = best(), ps.PowerLaw(gamma, 200)
    over = []
    for n_eff in (300.0, 3000.0, 30_000.0):
        solution = ps.solve(attention(gamma, 200, n_eff, 0.85 * found.M * sqrt(2.0 * found.V * n_eff / 200)))
        R = r_prime(solution)
        assert 0.7 < R / error_at_the_edge(found, target, n_eff / 200) < 0.82
        over.append((solution.test_error - found.test_floor) / loss_above_floor(found, R) - 1.0)
    assert over[0] > over[1] > over[2] > 0.0
    assert over[2] < 0.15


def test_what_is_reported():
    problem = attention(1.25, 200, 200.0, 0.3)
    solution = ps.solve(problem)
    found = softmax_scaling(problem, solution)
    numbers = best()
    assert found.R_prime == r_prime(solution)
    assert found.test_error_above_floor == pytest.approx(solution.test_error - numbers.test_floor)
    assert (found.scale_floor, found.test_floor) == (numbers.scale, numbers.test_floor)
    assert found.estimation_floor == pytest.approx((1.0 - numbers.scale) ** 2)
    assert found.effective == effective_network(numbers, 1.0)
    assert found.ridgeless_alpha == pytest.approx(2.0)
    assert found.well_sampled
    assert (found.noise_ratio, found.cutoff_ratio) == pytest.approx((1.0, 1.0), abs=0.05)
    assert set(found.local_exponents) == {"R_prime", "test_error_above_floor"}
    up, down = (ps.solve(problem.replace(alpha=problem.alpha * f)) for f in (3.0, 1.0 / 3.0))
    slope = log(r_prime(up) / r_prime(down)) / (2.0 * log(3.0))
    assert found.local_exponents["R_prime"]["n"] == pytest.approx(slope, abs=1e-4)
    assert set(found.local_exponents["R_prime"]) == {"n", "weight_decay"}
    assert "the estimation error has no scaling law: it tends to (1 - s)^2 Q_0 = 0.0158" in found.notes[0]
    assert 0.0 <= found.bars["R_prime"] < 1e-3 * found.R_prime
    few = softmax_scaling(problem.replace(alpha=0.05), ps.solve(problem.replace(alpha=0.05)), factor=None)
    assert not few.well_sampled
    assert few.local_exponents == {}
    assert "the first eigenvalue alone makes 75% of the target at any d" in few.notes[1]
    assert "there are not many samples yet" in few.notes[2]
    clean = problem.replace(noise=0.0)
    assert softmax_scaling(clean, ps.solve(clean), factor=None).noise_ratio == pytest.approx(1.0, abs=0.3)


def test_what_has_no_such_map_is_refused():
    network = ps.quadratic_network(ps.PowerLaw(1.25, 50), alpha=0.5, weight_decay=0.1, noise=0.5)
    with pytest.raises(ps.InputError, match="`channel` must be a Softmax: the map is that of a softmax"):
        softmax_scaling(network, ps.solve(network))
    with pytest.raises(ps.InputError, match="`channel` must be a Softmax"):
        well_sampled(network.channel, 1.0, 0.5)  # type: ignore[arg-type]
    ridge = ps.unfactorized_attention(ps.PowerLaw(1.25, 50), alpha=0.5, ridge=0.1, noise=0.5)
    with pytest.raises(ps.InputError, match="`penalty` must be a NuclearPSD: the laws are those of weight decay"):
        softmax_scaling(ridge, ps.solve(ridge))
    with pytest.raises(ps.InputError, match="`Q_0` must be positive: without a target"):
        well_sampled(Softmax(2), 0.0, 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gamma", "slopes", "above_floor"),
    [(1.25, (-0.604, -0.597, -0.597), -0.620), (2.0, (-0.739, -0.738, -0.739), -0.765)],
)
def test_slopes_at_a_cutoff_of_many_samples(gamma, slopes, above_floor):
    """R' along n/d = 300, 1000, 3000, 1e4 at ``lambda = .85 M sqrt(2 V alpha)``: ``-1 + 1/(2 gamma)``, within .012."""
    found, errors, tests, estimation = best(), [], [], []
    for n_eff in (300.0, 1000.0, 3000.0, 1e4):
        decay = 0.85 * found.M * sqrt(2.0 * found.V * n_eff / 1000)
        solution = ps.solve(attention(gamma, 1000, n_eff, decay))
        errors.append(r_prime(solution))
        tests.append(solution.test_error - found.test_floor)
        estimation.append(solution.estimation_error)
    steps = np.diff(np.log([300.0, 1000.0, 3000.0, 1e4]))
    assert np.diff(np.log(errors)) / steps == pytest.approx(slopes, abs=1.5e-3)
    assert np.diff(np.log(errors)) / steps == pytest.approx(-1.0 + 0.5 / gamma, abs=0.013)
    assert (np.diff(np.log(tests)) / steps).mean() == pytest.approx(above_floor, abs=0.01)
    assert (np.diff(np.log(estimation)) / steps).min() > -0.5  # no law: it tends to (1 - s)^2
