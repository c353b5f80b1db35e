"""A minimum that is a face: other matrices of the same loss are there where one is found, and nowhere else."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.attention.experiment import face as face_of
from presage.models.attention.experiment.data import Samples, sample, sample_target, token_means
from presage.models.attention.experiment.face import _inwards, face, free_directions, null_space, residuals, sight
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.tokens import Gaussian

D = 30
FEW = ps.quadratic_network(ps.MarchenkoPastur(0.2), alpha=0.05, noise=0.5, weight_decay=0.02)
MANY = FEW.replace(alpha=1.0)
TRAINERS = (ps.ProximalGradient(tol=1e-8), ps.LBFGS(tol=1e-7), ps.AMP())
SAID = "the minimum is not one matrix S but a face of many"


def objective(problem: Any, *, d: int = D, seed: int = 0, means: bool = False) -> Objective:
    rng = np.random.default_rng(seed)
    n = round(problem.alpha * d**2)
    samples = sample(sample_target(problem.target, d, rng), problem.channel, n, rng, tokens=Gaussian(), noise=0.5)
    return Objective(samples, problem.channel, problem.penalty, d, token_means(samples) if means else None)


@cache
def trained(problem: Any, trainer: Any) -> tuple[Objective, Any]:
    few = objective(problem)
    return few, trainer.fit(few, np.random.default_rng(1))


def test_trainers_end_at_one_loss_in_different_matrices_where_there_is_a_face():
    fits = [trained(FEW, trainer) for trainer in TRAINERS]
    first = fits[0][1]
    for few, fit in fits:
        found = face(few, fit)
        assert fit.loss == pytest.approx(first.loss, rel=1e-8)
        assert found.directions > 100
        assert 0.8 * few.n <= found.fitted < few.n
    for _, fit in fits[1:]:
        assert np.linalg.norm(fit.S - first.S) > 0.1 * np.linalg.norm(first.S)


def test_trainers_end_in_one_matrix_where_there_is_none():
    fits = [trained(MANY, trainer) for trainer in TRAINERS]
    for many, fit in fits:
        assert face(many, fit).directions == 0
        assert face(many, fit).fitted < 0.05 * many.n
        assert np.linalg.norm(fit.S - fits[0][1].S) < 1e-4 * np.linalg.norm(fit.S)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_another_minimum_lies_where_a_face_is_found(trainer):
    """Along the direction that was found the loss and the penalty stay, and S stays positive: there are two minima."""
    few, fit = trained(FEW, trainer)
    V, filled = null_space(few, fit)
    k = V.shape[1]
    _, size, seen = np.linalg.svd(sight(few, V), full_matrices=False)
    H = _inwards(seen[size > 1e-10 * size[0]], k, k - filled)
    assert H is not None
    S = V @ np.diag(np.where(np.arange(k) >= k - filled, np.diag(V.T @ fit.S @ V), 0.0)) @ V.T
    step = 1e-4 * V @ H @ V.T
    assert np.linalg.eigvalsh(S + step).min() > -1e-12
    assert np.linalg.norm(step) > 1e-5
    assert np.trace(step) == pytest.approx(0.0, abs=1e-3 * float(np.linalg.norm(step)))
    change = few.at_S(fit.S + step).value - few.at_S(fit.S).value
    assert abs(change) < 1e-12 * fit.loss
    seen_by_one = np.outer(few.samples.tokens[0], few.samples.tokens[0]) / D
    assert abs(few.at_S(fit.S + 1e-4 * seen_by_one).value - few.at_S(fit.S).value) > 1e-9 * fit.loss


@pytest.mark.parametrize("means", [False, True])
def test_what_the_samples_see_is_the_change_of_their_scores(means):
    problem = ps.linear_attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, noise=0.5, n_tokens=2)
    some, rng = objective(problem, d=6, means=means), np.random.default_rng(2)
    V = np.linalg.qr(rng.standard_normal((6, 4)))[0]
    H = rng.standard_normal((4, 4))
    H += H.T
    rows, columns = np.triu_indices(4)
    flat = H[rows, columns] * np.where(rows == columns, 1.0, np.sqrt(2.0))
    seen = sight(some, V) @ flat
    S = V @ H @ V.T
    x = some.samples.tokens.reshape(-1, 2, 6)
    scores = np.einsum("nai,ij,nbj->nab", x, S, x) / np.sqrt(6) - some.shift(S)
    assert seen == pytest.approx(np.concatenate([scores[:, 0, 0], scores[:, 0, 1], scores[:, 1, 1]]), abs=1e-12)
    assert residuals(some, S) == pytest.approx(np.abs(scores - some.samples.labels).max(axis=(1, 2)), abs=1e-12)


@pytest.mark.parametrize("counted", [False, True])
def test_directions_are_numbers_less_samples(counted, monkeypatch):
    """A matrix that S fills has d (d + 1)/2 numbers, and each sample takes one away, as long as one is left."""
    d = 8
    if counted:  # as where what the samples see is too large to be written down
        monkeypatch.setattr(face_of, "LARGEST", 0)
        monkeypatch.setattr(face_of, "LARGEST_OF_FEW", 0)
    for alpha, n in ((0.25, 16), (0.5, 32), (1.0, 64)):
        few = objective(FEW.replace(alpha=alpha), d=d)
        assert few.n == n
        assert free_directions(few, np.eye(d), d) == max(d * (d + 1) // 2 - n, 0)


def test_samples_that_say_the_same_do_not_count_twice():
    """Every sample 40 times, with weight decay to match: more outputs than numbers, and the same face."""
    few, fit = trained(FEW, TRAINERS[0])
    many = 40
    samples = few.samples
    labels = np.repeat(samples.labels, many, axis=0)
    again = Samples(np.repeat(samples.tokens, many, axis=0), np.repeat(samples.z_0, many, axis=0), labels, samples.gram)
    repeated = Objective(again, few.channel, ps.NuclearPSD(many * 0.02), D)
    V, filled = null_space(few, fit)
    assert repeated.n > V.shape[1] * (V.shape[1] + 1) // 2
    assert free_directions(repeated, V, filled) == free_directions(few, V, filled) > 0
    assert free_directions(objective(MANY), V, filled) == 0


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, noise=0.5), {}),
        (ps.unfactorized_attention(ps.MarchenkoPastur(0.5), alpha=0.5, ridge=0.1, noise=0.5), {}),
        (FEW, {"trainer": ps.Adam(steps=3)}),
        (ps.linear_attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1, noise=0.5), {"task": "sequence"}),
    ],
)
def test_nothing_is_said_where_nothing_is_proven(problem, options):
    e = ps.simulate(problem, d=10, seeds=1, n_test=10, processes=1, **options)
    assert np.isnan(e.fitted).all()
    assert SAID not in str(e)


def test_simulate_says_it():
    e = ps.simulate(FEW, d=D, seeds=[0], n_test=10, processes=1)
    assert SAID in str(e)
    assert f"{e.fitted[0]:.0f} of the 45 samples are fitted exactly" in str(e)
    assert SAID not in str(ps.simulate(MANY, d=D, seeds=[0], n_test=10, processes=1))
