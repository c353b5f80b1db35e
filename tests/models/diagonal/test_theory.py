"""The theory of the diagonal network: closed forms, derivatives, limits, and published numbers."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import presage as ps
from presage.models.diagonal.theory.explicit_map import averages, diagonal_map
from presage.models.diagonal.theory.soft_threshold import fixed_entries

SPARSE = ps.PointMasses([-2.0, 0.0, 1.0], [0.1, 0.8, 0.1])
POWER = ps.PowerLaw(1.25, 200)
SMOOTH = ps.Semicircle(1.0)
PLAIN = ps.PointMasses(sqrt(800) / np.arange(1, 801))  # sqrt(d) i^-gamma: second moment Z, not one
LAWS = [SPARSE, POWER, SMOOTH]
DRAWS: list[Any] = ["fixed", "gaussian"]


@pytest.mark.parametrize(
    ("draw", "alpha", "decay", "risk", "active"),
    [
        ("fixed", 1.865245356, 0.366568272, 0.171488328, 0.643351115),
        ("gaussian", 1.853338204, 0.364640543, 0.167201754, 0.637869727),
    ],
)
def test_map_has_the_check_values(draw, alpha, decay, risk, active):
    """At (delta, c) = (.6, .3), d = 800, gamma = 1, Delta = .5, entries (or deviations) ``sqrt(d) i^-gamma``."""
    assert diagonal_map(PLAIN, 0.5, 0.6, 0.3, draw=draw) == pytest.approx((alpha, decay), abs=6e-10)
    f = averages(PLAIN, draw)(0.6, 0.3)
    assert (f.risk, f.I) == pytest.approx((risk, active), abs=6e-10)
    s = ps.solve(ps.diagonal_network(PLAIN, alpha=alpha, weight_decay=decay, noise=0.5, draw=draw))
    assert (s.delta, s.cutoff, s.estimation_error) == pytest.approx((0.6, 0.3, risk), abs=2e-9)


@pytest.mark.parametrize(
    ("gamma", "d", "alpha", "decay", "noise", "fixed", "gaussian"),
    [
        (0.75, 600, 0.3, 0.5, 0.5, 0.4239, 0.3447),
        (1.5, 800, 0.25, 2.0, 0.1, 0.2276, 0.1719),
        (1.25, 400, 3.0, 0.01, 0.5, 0.2444, 0.2443),
    ],
)
def test_errors_of_power_laws(gamma, d, alpha, decay, noise, fixed, gaussian):
    problem = ps.diagonal_network(ps.PowerLaw(gamma, d), alpha=alpha, weight_decay=decay, noise=noise)
    found = [ps.solve(problem.replace(draw=draw)).estimation_error for draw in DRAWS]
    assert found == pytest.approx([fixed, gaussian], abs=6e-5)


def test_a_power_law_has_its_normalisation():
    """``PowerLaw(gamma, d)`` is ``sqrt(d/Z) i^-gamma``, and without normalisation ``i^-gamma``."""
    i = np.arange(1, 51)
    Z = np.sum(i**-2.0)
    for law, scale in ((ps.PowerLaw(1.0, 50), sqrt(50 / Z)), (ps.PowerLaw(1.0, 50, normalized=False), 1.0)):
        listed = ps.PointMasses(scale / i)
        assert diagonal_map(law, 0.2, 0.7, 0.4) == pytest.approx(diagonal_map(listed, 0.2, 0.7, 0.4), rel=1e-13)
    # Entries a times as large with a^2 times the noise and a times the weight decay: the same problem, scaled.
    a, unit = 3.0, ps.diagonal_network(ps.PowerLaw(1.0, 50), alpha=0.6, weight_decay=0.3, noise=0.2)
    larger = ps.diagonal_network(
        ps.PointMasses(a * sqrt(50 / Z) / i), alpha=0.6, weight_decay=a * 0.3, noise=a**2 * 0.2
    )
    assert ps.solve(larger).estimation_error == pytest.approx(a**2 * ps.solve(unit).estimation_error, rel=1e-10)
    assert ps.solve(larger).nonzero == pytest.approx(ps.solve(unit).nonzero, rel=1e-10)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("delta", "c"), [(0.6, 0.3), (0.3, 1.2), (2.0, 0.05)])
def test_averages_are_those_of_the_scalar_channel(law, draw, delta, c):
    """Against entries, noise and soft thresholds that are drawn."""
    rng, count = np.random.default_rng(0), 400_000
    theta = np.repeat(law.quantile((np.arange(400) + 0.5) / 400), count // 400)
    theta = theta * rng.standard_normal(count) if draw == "gaussian" else theta
    x = theta + delta * rng.standard_normal(count)
    soft = np.sign(x) * np.maximum(np.abs(x) - c, 0.0)
    f = averages(law, draw)(delta, c)
    for predicted, drawn in ((f.risk, (soft - theta) ** 2), (f.I, np.abs(x) > c), (f.first, np.abs(soft))):
        assert drawn.mean() == pytest.approx(predicted, abs=4.5 * drawn.std() / sqrt(count))


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("delta", "c"), [(0.6, 0.3), (0.3, 1.2), (2.0, 0.05)])
def test_derivatives_are_those_of_differences(law, draw, delta, c):
    of, h = averages(law, draw), 1e-5
    f = of(delta, c)
    up, down = of(delta + h, c), of(delta - h, c)
    assert ((up.risk - down.risk) / (2 * h), (up.I - down.I) / (2 * h)) == pytest.approx(
        (f.drisk_ddelta, f.dI_ddelta), rel=1e-7, abs=1e-9
    )
    up, down = of(delta, c + h), of(delta, c - h)
    assert ((up.risk - down.risk) / (2 * h), (up.I - down.I) / (2 * h)) == pytest.approx(
        (f.drisk_dc, f.dI_dc), rel=1e-7, abs=1e-9
    )
    assert (up.first - down.first) / (2 * h) == pytest.approx(-f.I, rel=1e-7)  # |soft| falls by one where it is kept


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    law=st.sampled_from(LAWS),
    draw=st.sampled_from(DRAWS),
    noise=st.sampled_from([0.0, 0.1, 2.0]),
    log_alpha=st.floats(np.log(0.2), np.log(5.0)),
    log_decay=st.floats(np.log(1e-3), np.log(10.0)),
)
def test_map_inverts_solve(law, draw, noise, log_alpha, log_decay):
    alpha, decay = float(np.exp(log_alpha)), float(np.exp(log_decay))
    s = ps.solve(ps.diagonal_network(law, alpha=alpha, weight_decay=decay, noise=noise, draw=draw))
    # lambda is c times a small difference of alpha and I where the weight decay is weak.
    away = pytest.approx((alpha, decay), rel=1e-7, abs=1e-7 * s.cutoff * alpha)
    assert diagonal_map(law, noise, s.delta, s.cutoff, draw=draw) == away
    assert s.test_error == pytest.approx(alpha * s.delta**2, rel=1e-8)
    assert s.train_error <= s.test_error
    assert 0 <= s.nonzero <= min(1.0, alpha)
    assert all(0 <= bar < 1e-7 * (1 + abs(getattr(s, name))) for name, bar in s.error_bars.items())


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("law", LAWS)
def test_loss_grows_with_weight_decay_by_the_l1_norm(law, draw):
    """The minimum of the loss is stationary: its derivative in lambda is the penalty over lambda, ``2 |theta|_1/d``."""
    problem, step = ps.diagonal_network(law, alpha=0.6, weight_decay=0.3, noise=0.2, draw=draw), 1e-5
    up, down = (ps.solve(problem.replace(weight_decay=0.3 + sign * step)).train_loss for sign in (1, -1))
    s = ps.solve(problem)
    norm = averages(law, draw)(s.delta, s.cutoff).first
    assert (up - down) / (2 * step) == pytest.approx(2.0 * norm, rel=1e-7)
    assert s.train_loss == pytest.approx(0.6 * s.train_error + 0.3 * 2.0 * norm, rel=1e-12)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("law", LAWS)
def test_limits_of_the_weight_decay(law, draw):
    problem = ps.diagonal_network(law, alpha=0.5, weight_decay=0.0, noise=0.5, draw=draw)
    limit, small = ps.solve(problem), ps.solve(problem.replace(weight_decay=1e-7))
    assert limit.train_error == limit.train_loss == 0.0
    assert limit.nonzero == pytest.approx(0.5)  # an interpolator of least l1 norm has as many entries as samples
    assert small.estimation_error == pytest.approx(limit.estimation_error, rel=1e-4)
    least_squares = ps.solve(problem.replace(alpha=3.0))
    assert least_squares.estimation_error == pytest.approx(0.25)  # Delta/(alpha - 1)
    assert (least_squares.train_error, least_squares.nonzero) == pytest.approx((1 / 3, 1.0))
    nearly = ps.solve(problem.replace(alpha=3.0, weight_decay=1e-7))
    for name in ("estimation_error", "train_error", "train_loss", "nonzero"):
        assert getattr(nearly, name) == pytest.approx(getattr(least_squares, name), rel=1e-5)
    nothing = ps.solve(problem.replace(weight_decay=1e4))
    Q_0 = law.second_moment
    assert (nothing.nonzero, nothing.estimation_error, nothing.train_error, nothing.train_loss) == pytest.approx(
        (0.0, Q_0, Q_0 + 0.5, 0.5 * (Q_0 + 0.5))
    )
    assert nothing.cutoff == pytest.approx(1e4 / 0.5)


def test_the_peak_at_as_many_samples_as_entries():
    """At alpha = 1 the error diverges as ``(Delta^2 sqrt(pi/2)/(4 lambda))^(2/3)`` when the weight decay vanishes."""
    problem = ps.diagonal_network(POWER, alpha=1.0, weight_decay=1e-6, noise=0.5)
    s = ps.solve(problem)
    assert s.estimation_error == pytest.approx((0.25 * sqrt(np.pi / 2) / 4e-6) ** (2 / 3), rel=1e-3)
    assert s.error_bars["estimation_error"] < 1e-6 * s.estimation_error
    with pytest.raises(ps.SolveError, match=r"At alpha = 1 the error of least squares is infinite\. Use a positive"):
        ps.solve(problem.replace(weight_decay=0.0))


def test_a_neighbour_is_a_start():
    problem = ps.diagonal_network(SPARSE, alpha=0.5, weight_decay=0.1, noise=0.1)
    cold, near = ps.solve(problem), ps.solve(problem.replace(alpha=0.52))
    warm = ps.solve(problem, init=near)
    assert warm.test_error == pytest.approx(cold.test_error, rel=1e-11)
    assert warm.evaluations < cold.evaluations
    recovered = ps.solve(problem.replace(noise=0.0, weight_decay=0.0, alpha=0.9))
    assert ps.solve(problem, init=recovered).test_error == pytest.approx(cold.test_error, rel=1e-11)


def test_many_atoms_stand_for_a_continuous_law():
    count = 1000
    listed = ps.PointMasses(SMOOTH.quantile((np.arange(count) + 0.5) / count))
    for draw in DRAWS:
        problem = ps.diagonal_network(SMOOTH, alpha=0.7, weight_decay=0.2, noise=0.1, draw=draw)
        smooth, atoms = ps.solve(problem), ps.solve(problem.replace(target=listed))
        assert smooth.estimation_error == pytest.approx(atoms.estimation_error, rel=1e-4)
        assert smooth.nonzero == pytest.approx(atoms.nonzero, rel=1e-4)


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("law", [SPARSE, SMOOTH])
def test_entries_of_the_fit_are_a_law(law, draw):
    s = ps.solve(ps.diagonal_network(law, alpha=0.7, weight_decay=0.3, noise=0.1, draw=draw))
    t = np.linspace(-12.0, 12.0, 40_001)
    density = s.entries.density(t)
    assert np.trapezoid(density, t) == pytest.approx(s.nonzero, abs=1e-3)
    norm = averages(law, draw)(s.delta, s.cutoff).first
    assert np.trapezoid(density * np.abs(t), t) == pytest.approx(norm, rel=1e-5)
    assert s.entries.cdf(0.0) - s.entries.cdf(-1e-12) == pytest.approx(s.entries.zero) == pytest.approx(1 - s.nonzero)
    assert s.entries.cdf([-np.inf, np.inf]) == pytest.approx([0.0, 1.0])
    step = 1e-5
    for at in (-0.7, 0.4):
        slope = (s.entries.cdf(at + step) - s.entries.cdf(at - step)) / (2 * step)
        assert slope == pytest.approx(s.entries.density(at), rel=1e-6)


def test_one_large_entry_is_said():
    problem = ps.diagonal_network(ps.PowerLaw(1.5, 800), alpha=0.25, weight_decay=2.0, noise=0.1)
    assert "the largest entry alone makes 25% of the test error" in ps.solve(problem).caveats[0]
    assert ps.solve(problem.replace(alpha=5.0, weight_decay=0.1)).caveats == ()


def test_averages_resolve_a_noise_far_narrower_than_the_law():
    """At vanishing delta and c the error is ``delta^2 + c^2`` but for the few entries that they hide."""
    s = ps.solve(ps.diagonal_network(SMOOTH, alpha=5.0, weight_decay=1e-6))
    delta, c = s.delta, s.cutoff
    t = np.linspace(-60.0, 60.0, 20_001) * c
    missing = [fixed_entries(np.array([x]), np.ones(1), delta, c).risk - delta**2 - c**2 for x in t]
    hidden = np.trapezoid(missing, t) / np.pi  # the density of the semicircle at zero
    assert s.estimation_error - delta**2 - c**2 == pytest.approx(hidden, rel=1e-3)
    assert s.error_bars["estimation_error"] < 1e-8 * s.estimation_error


class Stairs(ps.SpectralLaw):
    """Entries uniform on (-1, x) and, twice as dense, on (x, 1): a jump that no panel ends at."""

    jump = 0.0037

    def stieltjes_pair(self, z):
        raise NotImplementedError

    @property
    def support(self):
        return np.array([[-1.0, 1.0]])

    def density(self, x):
        return np.where(np.asarray(x) > self.jump, 2.0, 1.0) / (3.0 - self.jump)


def test_a_failed_solve_says_what_to_do():
    problem = ps.diagonal_network(SPARSE, alpha=0.5, weight_decay=0.1, noise=0.1)
    partial = ps.solve(problem, tol=1e-30, throw=False)
    assert "The two equations are left with a residual of" in partial.caveats[-1]
    with pytest.raises(ps.SolveError, match=r"left with a residual of .* Use a larger weight_decay") as caught:
        ps.solve(problem, tol=1e-30)
    assert caught.value.partial.test_error == partial.test_error
    with pytest.raises(ps.SolveError, match=r"The law of the target is resolved to .* only, beside a noise of"):
        ps.solve(problem.replace(target=Stairs()), tol=1e-9)
    rough, listed = ps.solve(problem.replace(target=Stairs()), tol=1e-2), np.linspace(-1, 1, 20_001)
    masses = Stairs().density(listed)
    exact = ps.solve(problem.replace(target=ps.PointMasses(listed, masses / masses.sum())))
    assert rough.test_error == pytest.approx(exact.test_error, abs=3 * rough.error_bars["test_error"] + 1e-4)
