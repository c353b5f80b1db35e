"""Bayes message passing: on the Bayes-optimal curve, below what training reaches, without any n d^2 array."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import presage as ps
from presage.models.attention.experiment.bayes_amp import states as states_of
from presage.models.attention.experiment.data import sample, sample_target
from presage.models.attention.experiment.objective import Objective
from presage.training.bayes_amp import BayesAMP

MP = ps.MarchenkoPastur(0.5)


def attention(alpha: float, noise: float = 0.5, **options) -> ps.Problem:
    return ps.attention(MP, alpha=alpha, weight_decay=0.05, noise=noise, **options)


def bayes(problem: ps.Problem, **options) -> BayesAMP:
    return ps.BayesAMP(ps.Denoiser(problem.target), **options)


def objective_of(problem: ps.Problem, d: int, seed: int) -> tuple[Objective, np.ndarray]:
    rng = np.random.default_rng(seed)
    S_0 = sample_target(problem.target, d, rng)
    n = round(problem.alpha * d * d)
    samples = sample(S_0, problem.channel, n, rng, tokens=ps.Gaussian(), noise=problem.noise)
    return Objective(samples, problem.channel, problem.penalty, d), S_0


def test_it_follows_state_evolution():
    """Undamped, iteration by iteration: ``V -> q_hat = 2 alpha n_active/(V + Delta/2) -> MMSE(1/q_hat)``."""
    problem = attention(0.5)
    objective, S_0 = objective_of(problem, 100, 0)
    denoiser = ps.Denoiser(MP)
    predicted = MP.second_moment - MP.mean**2
    states = states_of(bayes(problem, noise=0.5, damping=0.0, steps=4), objective)
    for state, _ in states:
        predicted = denoiser.mmse(((predicted + 0.25) / (2 * 0.5 * 2)) ** 0.5)
        assert pytest.approx(predicted, rel=0.1) == state.V
        assert np.sum((state.S - S_0) ** 2) / 100 == pytest.approx(predicted, rel=0.2)


@pytest.mark.parametrize(
    "problem",
    [
        attention(0.5),
        ps.linear_attention(MP, alpha=0.2, weight_decay=0.1, noise=0.5),
        ps.hardmax_attention(MP, alpha=0.5),
        ps.pair_comparison(MP, alpha=2.0, weight_decay=0.1),
    ],
    ids=lambda p: type(p.channel).__name__,
)
def test_small_matrices_are_near_the_curve(problem):
    networks = ps.simulate(problem, d=60, seeds=4, trainer=bayes(problem), n_test=500)
    mmse = ps.bayes_optimal(problem).mmse
    assert networks.converged.all()
    assert networks.mean("estimation_error") == pytest.approx(mmse, rel=0.2)
    far = ps.bayes_optimal(problem.replace(alpha=0.4 * problem.alpha)).mmse
    assert abs(networks.mean("estimation_error") - far) > 0.2 * far


def test_it_beats_training_on_the_same_data():
    problem = attention(0.3)
    by_bayes = ps.simulate(problem, d=60, seeds=3, trainer=bayes(problem), n_test=500)
    trained = ps.simulate(problem, d=60, seeds=3, n_test=500)
    assert (by_bayes.estimation_error < trained.estimation_error).all()


def test_no_array_of_the_size_of_all_measurements():
    """n d^2 numbers would be 7 MB here; the tokens are 0.9 MB."""
    problem = attention(0.4, noise=0.5)
    objective, _ = objective_of(problem, 54, 1)
    trainer = bayes(problem, steps=2)
    list(states_of(trainer, objective))  # compile
    tracemalloc.start()
    list(states_of(trainer, objective))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * 8 * objective.n * 54**2


def test_compare_sets_it_beside_the_bayes_error():
    problem = attention(0.5)
    networks = ps.simulate(problem, d=50, seeds=3, trainer=bayes(problem), n_test=500)
    comparison = ps.compare(ps.bayes_optimal(problem), networks)
    assert [row.name for row in comparison.rows] == ["estimation_error"]
    assert "estimation_error: predicted 0.111386" in str(comparison)
    with pytest.raises(ValueError, match=r"be trained for the prediction.*posterior mean"):
        ps.compare(ps.solve(problem), networks)


def test_bad_input_is_refused_in_words():
    with pytest.raises(ValueError, match=r"`denoiser` must be .*Denoiser\(problem\.target\)"):
        ps.BayesAMP(MP)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"`denoiser\.law` must be a SpectralLaw"):
        ps.simulate(attention(0.5), d=10, trainer=ps.BayesAMP(ps.SingularValueDenoiser(ps.GaussianProduct(0.5))))
    with pytest.raises(ValueError, match=r"`denoiser\.law` must be a RectangularLaw"):
        ps.simulate(ps.bilinear_regression(ps.GaussianProduct(0.5), alpha=1.0), d=10, trainer=bayes(attention(0.5)))
    with pytest.raises(ValueError, match="`noise` must be"):
        ps.BayesAMP(ps.Denoiser(MP), noise=-1.0)
    with pytest.raises(ValueError, match="`damping` must be"):
        ps.BayesAMP(ps.Denoiser(MP), damping=2.0)

    class Square(ps.Channel):
        n_tokens = 1

        def output(self, z):
            return np.asarray(z)[..., 0] ** 2

        def loss(self, label, output):
            return (label - output) ** 2

    problem = ps.Problem(MP, Square(), ps.NuclearPSD(0.1), alpha=1.0)
    for call in (lambda: ps.bayes_optimal(problem), lambda: ps.simulate(problem, d=10, trainer=bayes(problem))):
        with pytest.raises(ValueError, match=r"say what its labels tell about z_0.*Write score"):
            call()


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [attention(0.15), attention(0.5), attention(1.0), ps.hardmax_attention(MP, alpha=1.0, noise=0.1)],
    ids=["alpha .15", "alpha .5", "alpha 1", "hardmax"],
)
def test_it_reaches_the_curve(problem):
    networks = [
        ps.simulate(problem, d=d, seeds=seeds, trainer=bayes(problem), n_test=500)
        for d, seeds in ((60, 16), (100, 8), (160, 4))
    ]
    comparison = ps.compare(ps.bayes_optimal(problem), *networks)
    assert all(ensemble.converged.all() for ensemble in networks[1:])  # the smallest hover about their point
    assert abs(comparison["estimation_error"].z) < 3.0, str(comparison)
