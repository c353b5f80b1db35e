"""The replicon: its weight side against a matrix and another grid, and what it is for a linear channel."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import presage as ps
from presage.models.attention.channels.pair_prox import pairs_prox
from presage.models.attention.channels.prox_report import REPORTED
from presage.models.attention.theory.order_parameters import Overlaps
from presage.models.attention.theory.replicon import jump_term, separation, weight_factor
from presage.models.attention.theory.rules.cut_lines import CutLines

MP = ps.MarchenkoPastur
PLACES = [(MP(1.5), 0.7, 0.4), (MP(0.5), 0.9, 0.2), (MP(0.5), 0.9, 1.0), (MP(0.3), 2.0, 3.0)]


def by_graded_grid(law: ps.SpectralLaw, delta: float, c: float, nodes: int = 400) -> float:
    """The same integral for a single band: Gauss-Legendre in the fourth root of the distance from the cutoff."""
    free = ps.FreeConvolution(law, delta)
    ((left, right),) = free.support
    abscissae, weights = np.polynomial.legendre.leggauss(nodes)
    angle, weights = 0.25 * np.pi * (1 + abscissae), 0.25 * np.pi * weights
    distance = np.sin(angle) ** 4
    element = weights * 4 * np.sin(angle) ** 3 * np.cos(angle)
    a, b = (right - c) * distance, (c - left) * distance
    mass_above = (right - c) * element * free.density(c + a)
    mass_below = (c - left) * element * free.density(c - b)
    mixed = mass_above @ (a[:, None] / (a[:, None] + b)) ** 2 @ mass_below
    return float(mass_above.sum() ** 2 + 2 * mixed)


@pytest.mark.parametrize(("law", "delta", "c"), PLACES)
def test_weight_factor_agrees_with_another_grid(law, delta, c):
    assert weight_factor(law, delta, c) == pytest.approx(by_graded_grid(law, delta, c), rel=1e-12)


@pytest.mark.parametrize(("law", "delta", "c"), PLACES[1:3])
def test_weight_factor_agrees_with_a_sampled_matrix(law, delta, c):
    """Divided differences of (x - c)_+ over pairs of eigenvalues of S_0 + delta GOE, d = 1500."""
    x = ps.FreeConvolution(law, delta).sample(1500, np.random.default_rng(21))
    y = np.maximum(x - c, 0.0)
    gaps = x[:, None] - x
    slopes = np.divide(y[:, None] - y, gaps, where=gaps != 0, out=np.diag((x > c).astype(float)))
    assert weight_factor(law, delta, c) == pytest.approx(np.mean(slopes**2), rel=4e-3)


@pytest.mark.parametrize(("law", "delta", "c"), [*PLACES, (ps.PowerLaw(1.2, 60), 0.3, 0.5), (MP(0.2), 0.1, 0.5)])
def test_divided_differences_lie_between_zero_and_one(law, delta, c):
    """So their mean square lies between the square of their mean and their mean, which is 2 I."""
    mean = 2 * ps.functionals(law, delta, c).I
    assert mean**2 < weight_factor(law, delta, c) < mean


def test_a_cutoff_in_a_gap_or_outside_is_no_trouble():
    law = ps.PointMasses([0.0, 3.0], [0.6, 0.4])
    assert weight_factor(law, 0.5, -10.0) == pytest.approx(1.0, rel=1e-12)
    assert weight_factor(law, 0.5, 10.0) == 0.0
    narrow = weight_factor(law, 1e-3, 1.0)  # two atoms: (2/3)^2 for each mixed pair
    assert narrow == pytest.approx(0.4**2 + 2 * 0.6 * 0.4 * (2 / 3) ** 2, rel=1e-5)
    jump = weight_factor(law, 1e-3, -1.0, start=1.5)  # a narrow student: from 0 to 4 over a distance of 3
    assert jump == pytest.approx(0.4**2 + 2 * 0.6 * 0.4 * (4 / 3) ** 2, rel=1e-5)


@pytest.mark.parametrize("n_tokens", [1, 3])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 5.0])
def test_replicon_of_a_linear_channel(alpha, n_tokens):
    """weight_factor/(2 alpha L), below one always: the loss is convex."""
    problem = ps.linear_attention(MP(0.3), alpha=alpha, weight_decay=0.02, noise=0.5, n_tokens=n_tokens)
    s = ps.solve(problem)
    expected = weight_factor(problem.target, s.delta, s.cutoff) / (2 * alpha * problem.channel.n_in)
    assert s.replicon == pytest.approx(expected, rel=1e-11)
    assert 0 < s.replicon < 1


def test_replicon_of_a_ridge_is_the_product_of_two_slopes():
    """Sigma^2 times 2 alpha E |df/dz|^2 = 32 alpha L/(1 + 4 Sigma)^2 for a linear channel."""
    s = ps.solve(ps.Problem(MP(0.3), ps.Linear(2), ps.Frobenius(0.1), 0.4, 0.5))
    Sigma = s.overlaps.Sigma
    assert s.replicon == pytest.approx(32 * 0.4 * 3 * (Sigma / (1 + 4 * Sigma)) ** 2, rel=1e-13)
    assert s.replicon < 1


def test_a_matrix_that_is_zero_is_stable():
    network = ps.solve(ps.quadratic_network(MP(0.3), alpha=0.1, weight_decay=10.0, noise=0.5))
    attention = ps.solve(ps.attention(MP(0.3), alpha=0.1, weight_decay=10.0, noise=0.5))
    assert network.rank == attention.rank == 0.0
    assert network.replicon == attention.replicon == 0.0


def test_an_unstable_prediction_says_so():
    s = ps.solve(ps.attention(MP(0.5), alpha=0.5, weight_decay=0.01, noise=0.5))
    assert 0 < s.replicon < 1
    assert not any("unstable" in line for line in s.caveats)
    steeper = dataclasses.replace(s, square_slope=s.square_slope * 1.001 / s.replicon)
    assert steeper.replicon == pytest.approx(1.001, rel=1e-12)
    assert any("the replicon is 1, not below 1" in line and "unstable" in line for line in steeper.caveats)


def test_two_copies_move_apart_at_jumps():
    """E |f - f'|^2 of two copies at a distance eta: eta |df/dz|^2 and, with the root of eta, what jumps add."""
    rho_0, overlaps = 1.75, Overlaps(1.2, 2.5, 50.0)
    found = CutLines(80).averages(ps.Softmax(2), rho_0, overlaps)
    rng = np.random.default_rng(11)
    n, eta = 400_000, 1e-4
    z_0 = np.sqrt(rho_0) * rng.standard_normal((n, 3))
    z = overlaps.m / rho_0 * z_0 + np.sqrt(overlaps.q - overlaps.m**2 / rho_0) * rng.standard_normal((n, 3))
    f, other, report = np.empty_like(z), np.empty_like(z), np.empty((n, REPORTED))
    pairs_prox(z_0, z, overlaps.Sigma, 1.0, f, report)
    pairs_prox(z_0, z + np.sqrt(eta) * rng.standard_normal(z.shape), overlaps.Sigma, 1.0, other, report)
    apart = np.sum((f - other) ** 2, axis=1)
    assert found.jump_square is not None
    # With 2 alpha = 1 and a weight factor of one, the jump term is that of E |f - f'|^2 itself.
    predicted = eta * found.square_slope[0] + np.sqrt(eta) * jump_term(0.5, found.jump_square, 1.0)
    assert apart.mean() == pytest.approx(predicted, abs=4 * apart.std() / np.sqrt(n))
    assert eta * found.square_slope[0] < 0.9 * predicted


def test_copies_stay_where_they_neither_meet_nor_part():
    eta = separation(0.8, 0.02)
    assert eta == pytest.approx(0.8 * eta + 0.02 * np.sqrt(eta), rel=1e-12)
    assert separation(1.2, 0.02) == np.inf
    jumping = ps.solve(ps.attention(MP(0.5), alpha=0.2272, weight_decay=1e-4, noise=0.5), accuracy=1e-3)
    assert jumping.separation is not None
    assert jumping.jump_term is not None
    assert jumping.separation == pytest.approx(separation(jumping.replicon, jumping.jump_term))
    assert any("two runs of message passing part" in line for line in jumping.caveats)
    smooth = ps.solve(ps.attention(MP(0.5), alpha=2.0, weight_decay=0.1, noise=0.5), accuracy=1e-3)
    assert smooth.separation is None
    assert not any("part" in line for line in smooth.caveats)
