"""AMP on data against state evolution, iteration by iteration: a test that sees both witnesses."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import pytest

import presage as ps
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.experiment import amp, data, tokens
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.theory.order_parameters import Conjugates, Overlaps
from presage.models.attention.theory.rules.gauss_hermite import GaussHermite
from presage.models.attention.theory.rules.rule import Averages, Rule
from presage.models.attention.theory.rules.sobol import Sobol
from presage.models.attention.theory.state_evolution import sample_side, weight_side

MP = ps.MarchenkoPastur(0.5)
PROBLEMS = {
    "attention": ps.attention(MP, alpha=0.5, weight_decay=0.01, noise=0.5),
    "narrow": ps.attention(MP, alpha=0.5, weight_decay=0.02, noise=0.5, kappa=0.75, beta=0.7),
    "ridge": ps.unfactorized_attention(MP, alpha=0.5, ridge=0.01, noise=0.5),
    "three tokens": ps.attention(MP, alpha=0.2, weight_decay=0.01, noise=0.5, n_tokens=3),
    "quadratic": ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.5, weight_decay=0.05, noise=0.5),
}
ITERATIONS = 6


def averages(problem: ps.Problem, overlaps: Overlaps) -> tuple[float, float, float]:
    """Conjugates (m_hat, q_hat, Sigma_hat) of the sample side."""
    channel, alpha = problem.channel, problem.alpha
    if isinstance(channel, Linear):  # f = 4 (z_0 - z)/(1 + 4 Sigma) in each component
        rate = 4.0 / (1.0 + 4.0 * overlaps.Sigma)
        distance = problem.rho_0 - 2.0 * overlaps.m + overlaps.q
        slope = 2.0 * alpha * channel.n_in * rate
        return slope, slope * rate * distance, slope
    assert isinstance(channel, Softmax)
    rule: Rule = GaussHermite(24) if channel.n_tokens == 2 else Sobol(2048, 8, 0)
    found: Averages = rule.averages(channel, problem.rho_0, overlaps)
    m_hat, q_hat, Sigma_hat = sample_side(alpha, found, stein=False).mean(axis=0)
    return m_hat, q_hat, Sigma_hat


def state_evolution(problem: ps.Problem) -> Iterator[tuple[float, float, float, float]]:
    """(m, q, Sigma, Sigma_hat) after each iteration, from S = 0 and Sigma = 1."""
    overlaps = Overlaps(m=0.0, q=0.0, Sigma=1.0)
    while True:
        m_hat, q_hat, Sigma_hat = averages(problem, overlaps)
        conjugates = Conjugates(m_hat=m_hat, q_hat=q_hat, Sigma_hat=Sigma_hat)
        overlaps = weight_side(problem.penalty, problem.target, problem.kappa, conjugates).overlaps
        yield overlaps.m, overlaps.q, overlaps.Sigma, Sigma_hat


def message_passing(
    problem: ps.Problem, d: int, seed: int, *, onsager: bool = True
) -> list[tuple[float, float, float, float]]:
    """The same four numbers, measured on data."""
    rng = np.random.default_rng(seed)
    S_0 = data.sample_target(problem.target, d, rng)
    n = round(problem.alpha * d**2)
    samples = data.sample(S_0, problem.channel, n, rng, tokens=tokens.Gaussian(), noise=problem.noise)
    objective = Objective(samples, problem.channel, problem.penalty, round(problem.kappa * d))
    way: list[tuple[float, float, float, float]] = []
    state = amp.AMP().begin(objective)
    for _ in range(ITERATIONS):
        if not onsager:
            state = state._replace(f=np.zeros_like(state.f))
        state = amp.iterate(objective, state, damping=0.0)
        way.append((float(np.sum(state.S * S_0)) / d, float(np.sum(state.S**2)) / d, state.V, state.Lambda))
    return way


def apart(problem: ps.Problem, *, d: int, seeds: int, onsager: bool = True) -> float:
    """Largest relative distance of the mean over the seeds from state evolution, over all iterations."""
    measured = np.mean([message_passing(problem, d, seed, onsager=onsager) for seed in range(seeds)], axis=0)
    return distance(measured, problem)


def distance(measured, problem: ps.Problem) -> float:
    predicted = np.array(list(islice(state_evolution(problem), ITERATIONS)))
    return float(np.max(np.abs(measured / predicted - 1.0)))


@pytest.mark.parametrize("name", ["attention", "narrow", "ridge", "three tokens"])
def test_overlaps_follow_state_evolution_at_every_iteration(name):
    # One network of d = 80 fluctuates by 1/d relative, times a few; the mean of four is within 4 %.
    assert apart(PROBLEMS[name], d=80, seeds=4) < 0.04


def test_overlaps_of_a_quadratic_network_do_so_when_their_1_over_d_is_removed():
    # One token a sample: the fluctuation of |x|^2 makes an effect of about 10/d, far larger than in attention.
    problem = PROBLEMS["quadratic"]
    small, large = (np.mean([message_passing(problem, d, seed) for seed in range(6)], axis=0) for d in (70, 140))
    assert distance(2.0 * large - small, problem) < 0.06
    assert distance(large, problem) < 0.7 * distance(small, problem)


@pytest.mark.parametrize("name", ["attention", "ridge", "quadratic"])
def test_without_the_onsager_term_they_do_not(name):
    assert apart(PROBLEMS[name], d=80, seeds=2, onsager=False) > 0.15


def test_the_distance_shrinks_with_the_dimension():
    near, far = (apart(PROBLEMS["attention"], d=d, seeds=6) for d in (120, 30))
    assert near < 0.5 * far


@pytest.mark.parametrize("name", ["attention", "ridge", "three tokens"])
def test_its_fixed_point_is_the_prediction(name):
    problem = PROBLEMS[name]
    solution = ps.solve(problem)
    networks = ps.simulate(problem, d=60, seeds=4, trainer=ps.AMP(), processes=1)
    assert networks.converged.all()
    # Within 10 %: of order 1/d with a factor of a few, and four seeds.
    for measured, predicted in ((networks.m, solution.overlaps.m), (networks.q, solution.overlaps.q)):
        assert abs(measured.mean() / predicted - 1.0) < 0.1
