"""Linear channels: check values, the explicit map and its inverse, limits, and a small network that is trained."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory import ridge
from presage.models.attention.theory.explicit_map import explicit_map
from presage.models.attention.theory.state_evolution import weight_side
from presage.spectra.quadrature import UnresolvedError
from presage.spectra.symmetric.functionals import functionals

MP = ps.MarchenkoPastur
LAWS = {
    "low rank": MP(0.2),
    "full rank": MP(1.5),
    "power law": ps.PowerLaw(1.2, 60),
    "three atoms": ps.PointMasses([0.0, 0.7, 2.0], [0.5, 0.3, 0.2]),
    "semicircle": ps.Semicircle(1.0, 0.5),
    "eigenvalues": ps.Empirical([0.0, 0.1, 0.4, 1.0, 3.0]),
}


@pytest.mark.parametrize(
    ("alpha", "estimation_error", "rank", "train_loss"),
    [(0.1, 0.86628, 0.25355, 0.007408), (0.5, 0.34691, 0.56729, 0.10497), (2.0, 0.04762, 0.58827, 0.84493)],
)
def test_check_values(alpha, estimation_error, rank, train_loss):
    """[ETZK25] at kappa_0 = .2, noise = .5, lambda~ = .02, to the last printed digit."""
    s = ps.solve(ps.quadratic_network(MP(0.2), alpha=alpha, weight_decay=0.02, noise=0.5))
    assert s.estimation_error == pytest.approx(estimation_error, abs=0.5e-5)
    assert s.rank == pytest.approx(rank, abs=0.5e-5)
    assert s.train_loss == pytest.approx(train_loss, abs=0.5e-6 if alpha == 0.1 else 0.5e-5)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 2.0])
def test_observables_are_functions_of_delta_and_cutoff(alpha):
    """The closed forms of [ETZK25], whose epsilon is c/lambda~."""
    s = ps.solve(ps.quadratic_network(MP(0.2), alpha=alpha, weight_decay=0.02, noise=0.5))
    epsilon = s.cutoff / 0.02
    assert s.test_error == pytest.approx(2 * s.estimation_error + 0.5, rel=1e-14)
    assert s.estimation_error == pytest.approx(2 * alpha * s.delta**2 - 0.25, rel=1e-13)
    assert s.estimation_error == pytest.approx(1.2 - 2 * s.overlaps.m + s.overlaps.q, rel=1e-12)
    assert s.train_error == pytest.approx(s.delta**2 / (4 * epsilon**2 * alpha), rel=1e-12)
    penalty = 0.02 * functionals(MP(0.2), s.delta, s.cutoff).first
    assert s.train_loss == pytest.approx(s.delta**2 / (4 * epsilon**2) + penalty, rel=1e-13)
    assert s.scale == pytest.approx(1.0, rel=1e-14)


@pytest.mark.parametrize("name", LAWS)
def test_explicit_map_inverts_solve(name):
    rng = np.random.default_rng([5, *name.encode()])
    for trial in range(12):
        alpha = float(10 ** rng.uniform(np.log10(0.02), np.log10(50.0)))
        weight_decay = float(10 ** rng.uniform(-4.0, 0.0))
        noise = 0.0 if trial % 3 == 0 else float(rng.uniform(0.0, 2.0))
        s = ps.solve(ps.quadratic_network(LAWS[name], alpha=alpha, weight_decay=weight_decay, noise=noise), tol=1e-9)
        back = explicit_map(LAWS[name], noise, s.delta, s.cutoff)
        assert back == pytest.approx((alpha, weight_decay), rel=1e-8), s.problem


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_strong_weight_decay_cuts_everything(noise):
    s = ps.solve(ps.quadratic_network(MP(0.2), alpha=0.3, weight_decay=20.0, noise=noise))
    assert (s.rank, s.estimation_error) == (0.0, pytest.approx(1.2, rel=1e-12))
    assert explicit_map(MP(0.2), noise, s.delta, s.cutoff) == pytest.approx((0.3, 20.0), rel=1e-12)


@pytest.mark.parametrize(("alpha", "weight_decay"), [(2.0, 1e-3), (13.4, 1.8e-4), (48.5, 1e-4)])
def test_clean_labels_of_an_atomic_target_leave_the_shrinkage_alone(alpha, weight_decay):
    """Bands of vanishing width: rank = mass of the non-zero atoms and I = (1 - w_0^2)/2.

    Then MSE = c^2 rank + (1 - w_0^2) delta^2 with 2 alpha delta^2 = MSE.
    """
    law = ps.PointMasses([0.0, 0.7, 2.0], [0.5, 0.3, 0.2])
    s = ps.solve(ps.quadratic_network(law, alpha=alpha, weight_decay=weight_decay))
    assert s.rank == pytest.approx(0.5, abs=1e-10)
    assert s.cutoff == pytest.approx(weight_decay / (4 * (alpha - 0.375)), rel=1e-3)
    assert s.estimation_error == pytest.approx(0.5 * s.cutoff**2 / (1 - 0.375 / alpha), rel=1e-3)


def test_ridge_closed_form_is_a_fixed_point():
    """Going once around, penalty then linear channel, returns the conjugates."""
    rng = np.random.default_rng(6)
    for law in LAWS.values():
        for n_tokens in (1, 3):
            tau, noise = float(10 ** rng.uniform(-4, 0)), float(rng.uniform(0, 2))
            alpha = float(10 ** rng.uniform(-1.5, 1.5))
            problem = ps.Problem(law, ps.Linear(n_tokens), ps.Frobenius(tau), alpha, noise)
            samples = alpha * problem.channel.n_in
            conjugates = ridge.conjugates(problem, samples, tau)
            m, q, Sigma = weight_side(problem.penalty, law, 1.0, conjugates).overlaps
            m_hat = 8 * samples / (1 + 4 * Sigma)
            q_hat = m_hat**2 * (problem.rho_0 - 2 * m + q) / (2 * samples)
            assert conjugates == pytest.approx((m_hat, q_hat, m_hat), rel=1e-10)
            s = ps.solve(problem)
            assert s.conjugates == conjugates
            error = problem.Q_0 - 2 * m + q
            assert s.test_error == pytest.approx(problem.channel.n_in * (2 * error + noise), rel=1e-13)


@pytest.mark.parametrize("alpha", [0.1, 50.0])
def test_ridge_closed_form_keeps_its_digits_at_a_tiny_ridge(alpha):
    tau = 1e-12
    problem = ps.Problem(MP(0.2), ps.Linear(1), ps.Frobenius(tau), alpha, 0.5)
    m_hat = ridge.conjugates(problem, alpha, tau).m_hat
    Sigma = (8 * alpha / m_hat - 1) / 4
    assert 1 / Sigma == pytest.approx(m_hat + 4 * tau, rel=1e-10)


@pytest.mark.parametrize("alpha", [0.1, 0.3, 0.45])
def test_a_vanishing_ridge_without_noise_recovers_at_one_half(alpha):
    """|S - S_0|^2/d = Q_0 (1 - 2 alpha) below alpha = 1/2, and nothing is left above it."""
    problem = ps.Problem(MP(0.5), ps.Linear(1), ps.Frobenius(1e-6), alpha)
    assert ps.solve(problem).estimation_error == pytest.approx(1.5 * (1 - 2 * alpha), rel=1e-4)
    assert ps.solve(problem.replace(alpha=1 - alpha)).estimation_error < 1e-8


@pytest.mark.parametrize("n_tokens", [1, 2, 4])
def test_linear_attention_is_a_quadratic_network_with_more_data(n_tokens):
    problem = ps.linear_attention(MP(0.4), alpha=0.2, weight_decay=0.03, noise=0.7, n_tokens=n_tokens, kappa=0.8)
    components = n_tokens * (n_tokens + 1) // 2
    attention = ps.solve(problem)
    network = ps.solve(ps.quadratic_network(MP(0.4), alpha=0.2 * components, weight_decay=0.03, noise=0.7, kappa=0.8))
    for name in ("estimation_error", "rank", "train_loss", "delta", "cutoff"):
        assert getattr(attention, name) == pytest.approx(getattr(network, name), rel=1e-13), name
    assert attention.test_error == pytest.approx(components * network.test_error, rel=1e-13)


@pytest.mark.parametrize("name", LAWS)
def test_strong_weight_decay_collapses_the_rank(name):
    """S = 0 exactly when lambda~ >= 4 alpha times the right edge of S_0 + delta GOE, delta^2 = rho_0/(2 alpha)."""
    problem = ps.quadratic_network(LAWS[name], alpha=0.3, weight_decay=1.0, noise=0.5)
    edge = ps.FreeConvolution(LAWS[name], np.sqrt(problem.rho_0 / 0.6)).support[-1, 1]
    threshold = 4 * 0.3 * edge
    collapsed = ps.solve(problem.replace(weight_decay=threshold * (1 + 1e-9)))
    assert collapsed.overlaps == (0.0, 0.0, 0.0)
    assert collapsed.rank == 0.0
    assert collapsed.test_error == collapsed.train_error == pytest.approx(2 * problem.Q_0 + 0.5, rel=1e-14)
    assert collapsed.train_loss == pytest.approx(0.3 * collapsed.test_error, rel=1e-14)
    assert collapsed.spectrum.cdf(0.0) == 1.0
    assert ps.solve(problem.replace(weight_decay=0.99 * threshold)).rank > 0.0


@pytest.mark.parametrize("kappa_0", [0.2, 0.6, 1.5])
def test_with_infinite_data_the_noise_of_the_free_directions_is_left(kappa_0):
    """MSE/delta^2 -> (1 + 2k - k^2)/2 (1 from k = 1 on), 2 alpha delta^2 -> noise/2, c -> lambda~/(4 alpha).

    What is left falls like delta = sqrt(noise/(4 alpha)) = 3.5e-4.
    """
    alpha, weight_decay, noise = 1e6, 1e-3, 0.5
    s = ps.solve(ps.quadratic_network(MP(kappa_0), alpha=alpha, weight_decay=weight_decay, noise=noise))
    k = min(kappa_0, 1.0)
    assert s.estimation_error / s.delta**2 == pytest.approx(0.5 * (1 + 2 * k - k * k), rel=4e-4)
    assert 2 * alpha * s.delta**2 == pytest.approx(noise / 2, rel=1e-5)
    assert 4 * alpha * s.cutoff == pytest.approx(weight_decay, rel=1e-5)
    assert s.rank == pytest.approx(0.5 * (1 + k), abs=2e-4)  # half of the directions that hold noise alone
    assert s.train_error < noise < s.test_error
    assert s.train_error == pytest.approx(s.test_error, rel=1e-5)


@pytest.mark.parametrize("name", ["low rank", "power law"])
@pytest.mark.parametrize("alpha", [0.05, 0.4, 5.0])
def test_more_weight_decay_gives_a_smaller_norm_and_a_worse_fit(name, alpha):
    """For any convex loss; the rank falls too, which is seen rather than proved."""
    problem = ps.quadratic_network(LAWS[name], alpha=alpha, weight_decay=1.0, noise=0.5)
    path = [ps.solve(problem.replace(weight_decay=w)) for w in np.geomspace(1e-4, 3.0, 20)]
    trace = np.array([s.scale * functionals(LAWS[name], s.delta, s.cutoff).first for s in path])
    assert np.all(np.diff(trace) <= 0)
    assert np.all(np.diff([s.train_error for s in path]) >= 0)
    assert np.all(np.diff([s.rank for s in path]) <= 0)


def test_slopes_of_the_minimum_are_the_penalty_and_the_envelope():
    """Envelope theorem: dPhi/dlambda~ = Tr S/d, dPhi/dalpha = E l(p) + Sigma q_hat/(4 alpha)."""
    problem = ps.quadratic_network(MP(0.2), alpha=0.5, weight_decay=0.02, noise=0.5)
    s = ps.solve(problem)

    def slope(name: str, step: float) -> float:
        value = {"alpha": 0.5, "weight_decay": 0.02}[name]
        up, down = (ps.solve(problem.replace(**{name: value + sign * step})).train_loss for sign in (1.0, -1.0))
        return (up - down) / (2 * step)

    trace = functionals(MP(0.2), s.delta, s.cutoff).first
    assert slope("weight_decay", 1e-5) == pytest.approx(trace, rel=1e-5)
    envelope = s.train_error + s.overlaps.Sigma * s.conjugates.q_hat / (4 * problem.alpha)
    assert slope("alpha", 1e-4) == pytest.approx(envelope, rel=1e-5)


def test_width_enters_through_the_penalty_only():
    narrow = ps.solve(ps.quadratic_network(MP(0.2), alpha=0.5, weight_decay=0.04, noise=0.5, kappa=0.64))
    wide = ps.solve(ps.quadratic_network(MP(0.2), alpha=0.5, weight_decay=0.008, noise=0.5, kappa=16.0))
    for name in ("test_error", "train_loss", "rank", "delta", "cutoff", "replicon"):
        assert getattr(narrow, name) == pytest.approx(getattr(wide, name), rel=1e-12), name


def test_the_straightforward_method_agrees():
    """Iteration of state evolution with np.roots and quad, which shares no code with presage."""
    path = Path(__file__).resolve().parents[4] / "bench" / "straightforward.py"
    spec = importlib.util.spec_from_file_location("straightforward", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["straightforward"] = module  # its dataclasses look their module up
    spec.loader.exec_module(module)
    theirs = module.quadratic_point(0.2, 0.5, 2.0, 0.3)
    ours = ps.solve(ps.quadratic_network(MP(0.2), alpha=2.0, weight_decay=0.3, noise=0.5))
    for name in ("estimation_error", "rank", "train_loss", "delta", "cutoff"):
        assert getattr(ours, name) == pytest.approx(theirs[name], rel=2e-7), name


def train(problem: ps.Problem, d: int, seed: int) -> tuple[float, float, float]:
    """Minimise the loss of a quadratic network over S >= 0 by accelerated proximal gradient: MSE, loss, rank."""
    rng = np.random.default_rng(seed)
    width = round(problem.target.kappa_0 * d)  # type: ignore[attr-defined]
    n = round(problem.alpha * d * d)
    lambda_tilde = problem.penalty.lambda_tilde(problem.kappa)  # type: ignore[attr-defined]
    factor = rng.standard_normal((d, width))
    S_0 = factor @ factor.T / np.sqrt(width * d)
    X = rng.standard_normal((n, d))

    def output(S):
        return (np.einsum("ni,ni->n", X @ S, X) - np.trace(S)) / np.sqrt(d)

    def shrink(S, threshold):
        values, vectors = np.linalg.eigh(S)
        values = np.maximum(values - threshold, 0.0)
        return (vectors * values) @ vectors.T, values

    y = output(S_0) + np.sqrt(problem.noise) * rng.standard_normal(n)
    step = 1.0 / (4.0 * n / d * (1 + np.sqrt(1 / (2 * problem.alpha))) ** 2 * 1.1)
    S = ahead = np.zeros((d, d))
    momentum = 1.0
    for _ in range(2000):
        residual = output(ahead) - y
        gradient = 2.0 * ((X * residual[:, None]).T @ X - residual.sum() * np.eye(d)) / np.sqrt(d)
        new, values = shrink(ahead - step * gradient, step * d * lambda_tilde)
        if np.sum((ahead - new) * (new - S)) > 0:  # the momentum points uphill: start it again
            momentum = 1.0
        following = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        ahead = new + (momentum - 1) / following * (new - S)
        moved = np.abs(new - S).max()
        S, momentum = new, following
        if moved < 1e-9:
            break
    assert moved < 1e-9
    loss = np.sum((output(S) - y) ** 2) + d * lambda_tilde * np.trace(S)
    return float(np.sum((S - S_0) ** 2) / d), float(loss / d**2), float(np.mean(values > 0))


def test_trained_networks_reach_the_predicted_minimum():
    """The other witness in small: networks of dimension 32 and 64, extrapolated as a + b/d."""
    problem = ps.quadratic_network(MP(0.25), alpha=0.8, weight_decay=0.3, noise=0.5)
    predicted = ps.solve(problem)
    small = np.array([train(problem, 32, seed) for seed in range(16)])
    large = np.array([train(problem, 64, seed) for seed in range(8)])
    found = 2 * large.mean(axis=0) - small.mean(axis=0)
    deviation = np.hypot(2 * large.std(axis=0, ddof=1) / np.sqrt(8), small.std(axis=0, ddof=1) / np.sqrt(16))
    expected = np.array([predicted.estimation_error, predicted.train_loss, predicted.rank])
    assert np.all(deviation < 0.06 * expected)
    assert np.all(np.abs(found - expected) < 3 * deviation), (found, expected, deviation)


@pytest.mark.parametrize(
    "law", [ps.MarchenkoPastur(0.2), ps.MarchenkoPastur(0.01), ps.PointMasses([0.0, 2.0], [0.9, 0.1])]
)
@pytest.mark.parametrize("weight_decay", [0.01, 0.1])
def test_a_quarter_is_no_special_number(law, weight_decay):
    """At alpha = 1/4 both equations are nearly met far up, at no root: the solution there is that beside it."""
    here, beside = (
        ps.solve(ps.quadratic_network(law, alpha=alpha, weight_decay=weight_decay)) for alpha in (0.25, 0.25001)
    )
    assert here.estimation_error == pytest.approx(beside.estimation_error, rel=1e-3)


@pytest.mark.parametrize("alpha", [0.6, 1.0, 5.0, 100.0])
@pytest.mark.parametrize(("size", "decay"), [(1.0, 1e-4), (1.0, 1e-6), (1.0, 1e-8), (30.0, 1e-6)])
def test_one_atom_is_recovered_as_in_closed_form(alpha, decay, size):
    """All of a semicircle about one atom is above the cutoff, so ``I = 1/2``, and clean labels give delta and c."""
    found = ps.solve(ps.quadratic_network(ps.PointMasses([size]), alpha=alpha, weight_decay=decay))
    c = decay / (4.0 * (alpha - 0.5))
    delta = c / np.sqrt(2.0 * alpha - 1.0)
    assert found.cutoff == pytest.approx(c, rel=1e-4)
    assert found.delta == pytest.approx(delta, rel=1e-4)
    assert found.estimation_error == pytest.approx(c**2 + delta**2, rel=2e-4)
    assert found.rank == pytest.approx(1.0)


@pytest.mark.parametrize("law", [ps.PointMasses([1.0]), ps.PointMasses([0.0, 1.0])], ids=["one", "two"])
def test_recovery_beyond_the_digits_of_a_number_is_solved_too(law):
    """Bands are narrower than rounding at a noise level of 1e-17 of the eigenvalues: no integral goes along them."""
    found = ps.solve(ps.quadratic_network(law, alpha=1e5, weight_decay=1e-9))
    if len(law.atoms.positions) == 1:
        assert found.delta == pytest.approx(1e-9 / (4e5 - 2.0) / np.sqrt(2e5 - 1.0), rel=1e-9)
    assert 0.0 < found.estimation_error < 1e-25
    assert found.residual < 1e-12
    f = functionals(law, 1e-17, 0.5)
    kept = float(law.atoms.masses[-1])
    assert (f.rank, f.J) == pytest.approx((kept, 0.25 * kept), rel=1e-15)
    with pytest.raises(UnresolvedError, match=r"noise level of 1\.0e-17 about eigenvalues up to 1 are narrower than"):
        ps.FreeConvolution(ps.PointMasses([1.0]), 1e-17).moment(2)
