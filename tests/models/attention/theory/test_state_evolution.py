"""The two maps: stationary in the free energy, and what the penalty does to an actual random matrix."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import presage as ps
from presage.models.attention.theory.order_parameters import Conjugates, Overlaps
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.state_evolution import deviation_given_target, free_energy, weight_side

NODES = GaussHermite(32, dropped=1e-12)
PROBLEMS = {
    "weight decay": ps.attention(ps.MarchenkoPastur(0.5), alpha=2.0, weight_decay=0.05, noise=0.5, kappa=0.9),
    "ridge": ps.unfactorized_attention(ps.MarchenkoPastur(0.5), alpha=1.0, ridge=0.05, noise=0.5),
    "two minima": ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.01, noise=0.5),
    "two temperatures": ps.attention(
        ps.PowerLaw(1.2, 60), alpha=2.0, weight_decay=0.05, noise=0.4, beta=0.8, beta_0=1.1
    ),
}


@cache
def solved(name: str) -> ps.Solution:
    return ps.solve(PROBLEMS[name], solver=ps.StateEvolution(rule=NODES), tol=1e-9)


@cache
def envelope(channel: ps.Softmax, rho_0: float, overlaps: Overlaps) -> float:
    """M = E min_h |h-z|^2/(2 Sigma) + l(h), by the rule that the solution used."""
    averages = NODES.averages(channel, rho_0, overlaps)
    return float(averages.train_error[0] + 0.5 * overlaps.Sigma * averages.square[0])


def Phi(problem: ps.Problem, overlaps: Overlaps, conjugates: Conjugates) -> float:
    """Free energy as a function of all six order parameters."""
    assert isinstance(problem.channel, ps.Softmax)
    side = weight_side(problem.penalty, problem.target, problem.kappa, conjugates)
    return free_energy(problem, overlaps, conjugates, side, envelope(problem.channel, problem.rho_0, overlaps))


def slopes(problem: ps.Problem, overlaps: Overlaps, conjugates: Conjugates) -> np.ndarray:
    """dPhi/dlog of the six, by central differences of fourth order, over Phi."""
    point = np.array([*overlaps, *conjugates])

    def at(k: int, step: float) -> float:
        moved = point * np.exp(step * np.eye(6)[k])
        return Phi(problem, Overlaps(*moved[:3].tolist()), Conjugates(*moved[3:].tolist()))

    h = 2e-3
    near = np.array([at(k, h) - at(k, -h) for k in range(6)])
    far = np.array([at(k, 2 * h) - at(k, -2 * h) for k in range(6)])
    return (8 * near - far) / (12 * h) / Phi(problem, overlaps, conjugates)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_fixed_point_is_stationary(name):
    """[BETKZ25] (7): no slope in any order parameter, and the value is the training loss.

    With two minima p jumps, and the rule differentiates its own average less well.
    """
    s = solved(name)
    assert np.abs(slopes(s.problem, s.overlaps, s.conjugates)).max() < (2e-5 if name == "two minima" else 5e-7)
    assert Phi(s.problem, s.overlaps, s.conjugates) == pytest.approx(s.train_loss, rel=1e-8)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("wrong", ["delta", "q_hat", "threshold", "scale"])
def test_a_wrong_factor_is_not_stationary(name, wrong):
    """Negative control: a sqrt2 in the noise level, in q_hat, in the threshold or in the scale breaks it."""
    s = solved(name)
    m_hat, q_hat, Sigma_hat = s.conjugates
    factor = np.sqrt(2.0)
    faulty = {
        "delta": Conjugates(m_hat, 2 * q_hat, Sigma_hat),
        "q_hat": Conjugates(m_hat, factor * q_hat, Sigma_hat),
        "threshold": Conjugates(factor * m_hat, 2 * q_hat, factor * Sigma_hat),
        "scale": Conjugates(m_hat, q_hat, factor * Sigma_hat),
    }[wrong]
    assert np.abs(slopes(s.problem, s.overlaps, faulty)).max() > 1e-2


@pytest.mark.parametrize(
    "penalty", [ps.NuclearPSD(0.03), ps.NuclearPSD(0.4), ps.Frobenius(0.1)], ids=["weak", "strong", "ridge"]
)
@pytest.mark.parametrize("law", [ps.MarchenkoPastur(0.5), ps.MarchenkoPastur(1.6)], ids=["low rank", "full rank"])
def test_overlaps_are_those_of_a_sampled_matrix(law, penalty):
    """Shrink the eigenvalues of m_hat S_0 + sqrt(q_hat) GOE, d = 1000: every output of the weight side."""
    d, kappa = 1000, 0.8
    conjugates = Conjugates(0.9, 0.5, 1.1)
    m_hat, q_hat, Sigma_hat = conjugates
    rng = np.random.default_rng(12)
    width = round(law.kappa_0 * d)
    factor = rng.standard_normal((d, width))
    S_0 = factor @ factor.T / np.sqrt(width * d)
    noise = rng.standard_normal((d, d))
    M = m_hat * S_0 + np.sqrt(q_hat / (2 * d)) * (noise + noise.T)
    values, vectors = np.linalg.eigh(M)
    shrunk = penalty.shrink(values, Sigma_hat, kappa)
    S = (vectors * shrunk) @ vectors.T

    side = weight_side(penalty, law, kappa, conjugates)
    assert side.overlaps.m == pytest.approx(np.sum(S * S_0) / d, rel=5e-3)
    assert side.overlaps.q == pytest.approx(np.sum(S * S) / d, rel=5e-3)
    assert side.rank == pytest.approx(np.mean(shrunk != 0), abs=2e-3)
    assert side.penalty == pytest.approx(np.mean(penalty.value(shrunk, kappa)), rel=5e-3)
    objective = np.mean(penalty.value(shrunk, kappa) + 0.25 * Sigma_hat * shrunk**2 - 0.5 * shrunk * values)
    assert side.free_energy == pytest.approx(2 * objective, rel=5e-3)
    assert side.estimation_error == pytest.approx(np.sum((S - S_0) ** 2) / d, rel=5e-3)
    # Sigma is the response of Tr S/d to the field, 2 dS/dM averaged over the matrix.
    slope = np.divide(
        shrunk[:, None] - shrunk, values[:, None] - values, where=~np.eye(d, dtype=bool), out=np.zeros((d, d))
    )
    assert side.overlaps.Sigma == pytest.approx(slope.mean(), rel=5e-3)


@pytest.mark.parametrize("penalty", [ps.NuclearPSD(0.03), ps.Frobenius(0.1)], ids=["weight decay", "ridge"])
@pytest.mark.parametrize("noise", [0.0, 0.5, 2.0])
def test_deviation_given_target_is_what_z_does_not_share_with_z_0(penalty, noise):
    problem = ps.Problem(ps.MarchenkoPastur(0.5), ps.Softmax(2), penalty, alpha=1.0, noise=noise)
    side = weight_side(penalty, problem.target, 1.0, Conjugates(0.9, 0.5, 1.1))
    m, q, _ = side.overlaps
    assert deviation_given_target(problem, side) ** 2 == pytest.approx(q - m**2 / problem.rho_0, rel=1e-9)
    nothing = weight_side(ps.NuclearPSD(50.0), problem.target, 1.0, Conjugates(0.9, 0.5, 1.1))
    assert deviation_given_target(problem, nothing) == 0.0


@pytest.mark.parametrize("n_tokens", [1, 3])
@pytest.mark.parametrize("penalty", [ps.NuclearPSD(0.05), ps.Frobenius(0.05)])
def test_linear_averages_give_the_explicit_map(n_tokens, penalty):
    """Newton on all six equations ends where the explicit solution of the linear channel is."""
    problem = ps.Problem(ps.MarchenkoPastur(0.5), ps.Linear(n_tokens), penalty, alpha=0.4, noise=0.5)
    explicit = ps.solve(problem)
    found = ps.solve(problem, solver=ps.StateEvolution(), tol=1e-10)
    assert "explicit" in explicit.message
    assert "Newton" in found.message
    for name in ("test_error", "train_error", "train_loss", "estimation_error", "rank", "replicon"):
        assert getattr(found, name) == pytest.approx(getattr(explicit, name), rel=1e-7), name
