"""The training loss of queries and keys, against its definition written out naively and against differences."""

from __future__ import annotations

import tracemalloc
from math import sqrt

import numpy as np
import pytest

from presage import GaussianProduct, MarchenkoPastur, PointMasses
from presage.models.untied.experiment.objective import Objective
from presage.models.untied.experiment.sequences import draw, sample_target, stream

D, N = 6, 23
SHAPES = [
    ("cross", 2, 2),
    ("cross", 3, 2),
    ("cross", 1, 2),
    ("cross", 2, 4),
    ("causal", 3, 3),
    ("causal", 5, 5),
    ("off-diagonal", 3, 3),
    ("off-diagonal", 4, 4),
    ("self", 2, 2),
    ("self", 3, 3),
]
BETAS = [None, (1.0, 1.0), (0.8, 1.7)]  # linear, and those of learner and target
every_mask = pytest.mark.parametrize(("mask", "T", "K"), SHAPES)
every_output = pytest.mark.parametrize("betas", BETAS, ids=["linear", "softmax", "two temperatures"])


def matrix(seed, d=D):
    return np.random.default_rng(seed).standard_normal((d, d)) / sqrt(d)


def build(mask, T, K, betas, *, noise=0.0, weight_decay=0.3, ridge=0.0, d=D, n=N) -> Objective:
    beta, target_beta = betas or (None, None)
    sequences = draw(matrix(7, d), mask, T, K, target_beta, noise, n, np.random.default_rng(0))
    return Objective(sequences, beta, weight_decay, ridge)


class Naive:
    """The definition: every pair of tokens is a matrix of its own, and a row sees the keys that its mask leaves."""

    def __init__(self, mask, T, K, betas, *, centred=True):
        rng = np.random.default_rng(0)
        queries = rng.standard_normal((N, T, D))
        keys = rng.standard_normal((N, K, D)) if mask == "cross" else queries
        pairs = np.einsum("nai,nbj->nabij", queries, keys)
        if mask == "self" and centred:
            pairs = pairs - np.einsum("ab,ij->abij", np.eye(T), np.eye(D))
        self.pairs, self.betas = pairs / sqrt(D), betas
        a, b = np.indices((T, K))
        self.seen = {"cross": a >= 0, "causal": b < a, "off-diagonal": a != b, "self": a >= 0}[mask]
        self.labels = self.output(matrix(7), 1)

    def output(self, S, which):
        R = np.einsum("nabij,ij->nab", self.pairs, S)
        if self.betas is None:
            return R
        weights = np.where(self.seen, np.exp(self.betas[which] * R), 0.0)
        return weights / np.maximum(weights.sum(axis=2, keepdims=True), 1e-300)

    def loss(self, S):
        return float(np.sum(np.where(self.seen, self.output(S, 0) - self.labels, 0.0) ** 2))


@every_mask
@every_output
def test_the_loss_is_that_of_the_definition(mask, T, K, betas):
    objective, naive, S = build(mask, T, K, betas), Naive(mask, T, K, betas), matrix(1)
    assert objective.at_S(S).value == pytest.approx(naive.loss(S), rel=1e-12)
    assert objective.loss_at(S) == pytest.approx(naive.loss(S), rel=1e-12)
    if betas is None or betas[0] == betas[1]:
        assert objective.loss_at(matrix(7)) == pytest.approx(0.0, abs=1e-24)
    if mask == "self":  # the mean of a score of a token with itself is taken off, and not taking it is another loss
        assert objective.loss_at(S) != pytest.approx(Naive(mask, T, K, betas, centred=False).loss(S), rel=1e-3)


@every_mask
@every_output
def test_gradients_are_differences_of_the_loss(mask, T, K, betas):
    rng, h = np.random.default_rng(2), 1e-5
    decayed, ridged = build(mask, T, K, betas), build(mask, T, K, betas, weight_decay=None, ridge=0.2)
    for evaluate, shape in (
        (decayed.at_S, (D, D)),
        (decayed.at_factors, (2, D, D)),
        (decayed.at_factors, (2, D, 3)),
        (ridged.at_matrix, (D, D)),
    ):
        point, direction = rng.standard_normal(shape), rng.standard_normal(shape)
        slope = (evaluate(point + h * direction).value - evaluate(point - h * direction).value) / (2.0 * h)
        assert np.sum(evaluate(point).gradient * direction) == pytest.approx(slope, rel=1e-6, abs=1e-7)


@every_mask
def test_a_gain_is_a_factor_on_the_outputs(mask, T, K):
    """Rows of one key show nothing but the gains, and count."""
    rng, h, S, v, v_0 = np.random.default_rng(2), 1e-6, matrix(1), 1.3, 0.7
    naive = Naive(mask, T, K, (0.8, 1.7))
    sequences = draw(matrix(7), mask, T, K, 1.7, 0.0, N, np.random.default_rng(0), target_gain=v_0)
    objective = Objective(sequences, 0.8, 0.3, learns_gain=True)
    whole = np.sum(np.where(naive.seen, v * naive.output(S, 0) - v_0 * naive.labels, 0.0) ** 2)
    found = objective.at_S(S, v)
    assert (found.value, objective.loss_at(S, v)) == pytest.approx((whole, whole), rel=1e-12)
    slope = (objective.loss_at(S, v + h) - objective.loss_at(S, v - h)) / (2.0 * h)
    assert found.slope == pytest.approx(slope, rel=1e-6)
    for evaluate, shape in ((objective.at_S, (D, D)), (objective.at_factors, (2, D, 3))):
        point, direction = rng.standard_normal(shape), rng.standard_normal(shape)
        slope = (evaluate(point + h * direction, v).value - evaluate(point - h * direction, v).value) / (2.0 * h)
        assert np.sum(evaluate(point, v).gradient * direction) == pytest.approx(slope, rel=1e-5, abs=1e-6)


@every_mask
def test_the_penalty_is_what_the_best_factors_of_a_matrix_pay(mask, T, K):
    """``min |W_Q|^2 + |W_K|^2`` over ``W_Q W_K' = d S`` is twice d times the nuclear norm; other factors pay more."""
    objective, S = build(mask, T, K, None), matrix(1)
    left, values, right = np.linalg.svd(S)
    root = np.sqrt(D * values)
    best = np.stack([left * root, right.T * root])
    np.testing.assert_allclose(objective.S_of(best), S, atol=1e-12)
    assert objective.at_factors(best).value == pytest.approx(objective.loss_at(S) + objective.penalty_at(S), rel=1e-12)
    worse = np.stack([2.0 * best[0], 0.5 * best[1]])
    assert objective.at_factors(worse).value > objective.at_factors(best).value + 0.1
    ridged = build(mask, T, K, None, weight_decay=None, ridge=0.2)
    assert ridged.at_matrix(S).value == pytest.approx(ridged.loss_at(S) + 0.2 * D * np.sum(S**2), rel=1e-12)


@every_mask
def test_every_score_has_noise_of_its_own(mask, T, K):
    """At the target the loss of a linear output is the noise: its variance for each score, and no correlation."""
    noise, n = 0.3, 4000
    objective = build(mask, T, K, None, noise=noise, n=n, d=3)
    sequences = objective.sequences
    count = int(sequences.seen.sum())
    mean = objective.loss_at(matrix(7, 3)) / n
    assert mean == pytest.approx(noise * count, abs=5.0 * noise * sqrt(2.0 * count / n))
    clean = draw(matrix(7, 3), mask, T, K, None, 0.0, n, np.random.default_rng(0))
    errors = (sequences.labels - clean.labels)[:, sequences.seen]
    np.testing.assert_allclose(np.cov(errors.T).reshape(count, count), noise * np.eye(count), atol=0.05)


@pytest.mark.parametrize(("mask", "T", "K", "shape"), [("causal", 5, 5, (3, 4)), ("off-diagonal", 4, 4, (4, 4))])
def test_rows_without_a_choice_are_left_out(mask, T, K, shape):
    sequences = build(mask, T, K, (1.0, 1.0)).sequences
    assert sequences.labels.shape == (N, *shape)
    np.testing.assert_allclose(sequences.labels.sum(axis=2), 1.0)
    assert not sequences.labels[:, ~sequences.seen].any()


def test_blocks_of_a_test_are_together_as_many_as_asked_for():
    blocks = list(stream(matrix(7), "cross", 2, 2, 1.0, 0.1, 5000, np.random.default_rng(0)))
    assert sum(block.n for block in blocks) == 5000
    assert len(blocks) == 2


@pytest.mark.parametrize("law", [GaussianProduct(0.5), MarchenkoPastur(0.5), PointMasses([-1.0, 2.0], [0.4, 0.6])])
def test_targets_have_the_size_of_their_law(law):
    S_0 = sample_target(law, 120, np.random.default_rng(0))
    assert np.sum(S_0**2) / 120 == pytest.approx(law.second_moment, rel=0.1)
    symmetric = np.abs(S_0 - S_0.T).max() < 1e-12
    assert symmetric == (not isinstance(law, GaussianProduct))
    if not symmetric:  # two frames of their own
        assert abs(np.sum(S_0 * S_0.T)) / 120 < 0.1


def test_no_array_has_a_matrix_a_sample():
    d, n = 60, 4000
    for mask, T in (("cross", 2), ("self", 2), ("off-diagonal", 3)):
        objective, S = build(mask, T, T, (1.0, 1.0), d=d, n=n), matrix(1, d)
        objective.at_S(S)
        tracemalloc.start()
        objective.at_S(S)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 0 < peak < 0.1 * n * d * d * 8
