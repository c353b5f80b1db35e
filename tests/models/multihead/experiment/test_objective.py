"""The training loss of several heads, against its definition written out naively and against differences."""

from __future__ import annotations

import tracemalloc
from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.multihead.experiment.objective import Objective
from presage.models.multihead.experiment.sequences import draw, sample_targets, stream

D, N = 6, 23
KINDS = [
    {},
    {"beta": 1.4, "beta_0": 0.6},
    {"n_heads": 3, "target_gain": 1.5},
    {"n_heads": 1, "n_tokens": 3},
    {"combine": "concatenate", "target_gain": 1.5},
    {"combine": "concatenate", "n_tokens": 3, "n_heads": 3},
    {"combine": "sum"},
    {"combine": "sum", "n_tokens": 1, "n_heads": 3},
    {"penalty": "frobenius"},
    {"penalty": "frobenius", "combine": "sum"},
    {"kappa": 0.5},
]
every_kind = pytest.mark.parametrize("options", KINDS, ids=str)


def problem_of(options):
    return ps.multihead_attention(
        ps.MarchenkoPastur(0.5), **{"alpha": 1.0, "weight_decay": 0.3, "combine": "mean", **options}
    )


def targets_of(problem, d=D):
    return sample_targets(problem, d, np.random.default_rng(7))


def build(options, *, d=D, n=N) -> Objective:
    problem = problem_of(options)
    return Objective(problem, draw(problem, targets_of(problem, d), n, np.random.default_rng(0)))


def gains_of(objective):
    return 1.0 + 0.1 * np.arange(objective.groups)


def symmetric(H, seed=1, d=D):
    A = np.random.default_rng(seed).standard_normal((H, d, d))
    return (A + A.transpose(0, 2, 1)) / sqrt(d)


def naive_outputs(problem, tokens, S, beta, gains):
    """The three outputs as the problem writes them down, one array of size n d^2 after the other."""
    X = tokens.reshape(-1, problem.n_tokens, tokens.shape[1])
    T, d = X.shape[1:]
    pairs = np.einsum("nai,nbj->nabij", X, X) - np.einsum("ab,ij->abij", np.eye(T), np.eye(d))
    R = np.einsum("nabij,hij->hnab", pairs, S) / sqrt(d)
    if problem.combine == "sum":
        return R.sum(axis=0, keepdims=True)
    weights = np.exp(beta * R)
    softmax = weights / weights.sum(axis=3, keepdims=True)
    if problem.combine == "mean":
        return gains[0] * softmax.mean(axis=0, keepdims=True)
    return gains[:, None, None, None] * softmax


@every_kind
def test_the_loss_is_that_of_the_definition(options):
    objective = build(options)
    problem, tokens, gains = objective.problem, objective.sequences.tokens, gains_of(objective)
    given = np.full(objective.groups, problem.target_gain or 1.0)
    labels = naive_outputs(problem, tokens, targets_of(problem), problem.target_beta, given)
    np.testing.assert_allclose(objective.sequences.labels, labels, atol=1e-12)
    S = symmetric(problem.n_heads)
    loss = np.sum((naive_outputs(problem, tokens, S, problem.beta, gains) - labels) ** 2)
    assert objective.at_S(S, gains).value == pytest.approx(loss, rel=1e-12)
    assert objective.loss_at(S, gains) == pytest.approx(loss, rel=1e-12)
    if problem.beta == problem.target_beta:
        assert objective.loss_at(targets_of(problem), given) == pytest.approx(0.0, abs=1e-22)


@every_kind
def test_gradients_are_differences_of_the_loss(options):
    objective, rng, h = build(options), np.random.default_rng(2), 1e-5
    H, gains = objective.problem.n_heads, gains_of(objective)
    along = rng.standard_normal(objective.groups) * (not objective.linear)
    if objective.factorized:
        A, E = rng.standard_normal((2, H, D, objective.width))
    else:
        A, E = symmetric(H, 3), symmetric(H, 4)
    found = objective.whole(A, gains)
    up, down = (objective.whole(A + step * E, gains + step * along).value for step in (h, -h))
    assert np.sum(found.gradient * E) + found.slopes @ along == pytest.approx((up - down) / (2.0 * h), rel=1e-7)
    S, E = symmetric(H, 3), symmetric(H, 4)
    up, down = (objective.loss_at(S + step * E, gains) for step in (h, -h))
    assert np.sum(objective.at_S(S, gains).gradient * E) == pytest.approx((up - down) / (2.0 * h), rel=1e-6)


@every_kind
def test_the_penalty_is_that_of_the_problem(options):
    objective = build(options)
    problem, W = objective.problem, np.random.default_rng(3).standard_normal((objective.problem.n_heads, D, 3))
    S = objective.S_of(W) if problem.kappa == 0.5 else symmetric(problem.n_heads)
    if problem.penalty == "frobenius":
        expected = D * problem.weight_decay * np.sum(S**2)
    elif problem.kappa == 0.5:
        expected = problem.weight_decay * np.sum(W**2)
        assert objective.width == 3
    else:
        expected = D * problem.lambda_tilde * np.trace(S, axis1=1, axis2=2).sum()
    assert objective.penalty_at(S) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("options", "count"), [({"combine": "sum"}, 1), ({"combine": "concatenate", "beta": 1e-3}, 2)])
def test_noise_is_symmetric_and_of_every_head_or_of_their_sum(options, count):
    """Variance Delta on the diagonal, Delta/2 off it. At small beta a softmax is ``1/T + beta (R - mean)/T``."""
    noise, n = 0.4, 20_000
    clean, noisy = build(options, n=n, d=3), build({**options, "noise": noise}, n=n, d=3)
    errors = noisy.sequences.labels - clean.sequences.labels
    assert len(errors) == count
    for head in errors:
        if options["combine"] == "sum":
            np.testing.assert_allclose(head, np.swapaxes(head, 1, 2))
            assert np.var(head[:, 0, 0]) == pytest.approx(noise, rel=0.05)
            assert np.var(head[:, 0, 1]) == pytest.approx(noise / 2, rel=0.05)
        else:  # R_11 - R_12 has variance 3 Delta/2, and R_11 - R_12 - R_22 + R_21 has 2 Delta
            assert np.var(head[:, 0, 0]) == pytest.approx(1.5 * noise * (1e-3 / 4) ** 2, rel=0.05)
            assert np.var(head[:, 0, 0] - head[:, 1, 1]) == pytest.approx(2.0 * noise * (1e-3 / 4) ** 2, rel=0.05)
    if count == 2:
        assert abs(np.corrcoef(errors[0].ravel(), errors[1].ravel())[0, 1]) < 0.02


def test_heads_of_a_target_are_free_of_each_other():
    """Their overlap is the product of their means, ``sqrt(kappa_0)`` each for a Marchenko-Pastur law."""
    problem, d = problem_of({"n_heads": 3}), 150
    S_0 = targets_of(problem, d)
    overlap = np.einsum("hij,kij->hk", S_0, S_0) / d
    np.testing.assert_allclose(overlap[~np.eye(3, dtype=bool)], 0.5, rtol=0.05)
    np.testing.assert_allclose(np.diag(overlap), problem.target.second_moment, rtol=0.05)


def test_blocks_of_a_test_are_together_as_many_as_asked_for():
    problem = problem_of({})
    blocks = list(stream(problem, targets_of(problem), 5000, np.random.default_rng(0)))
    assert [block.n for block in blocks] == [4096, 904]


def test_no_array_has_a_matrix_a_sample():
    d, n = 60, 4000
    objective, S = build({}, d=d, n=n), symmetric(2, d=d)
    objective.at_S(S, np.ones(1))
    tracemalloc.start()
    objective.at_S(S, np.ones(1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert 0 < peak < 0.1 * n * d * d * 8
