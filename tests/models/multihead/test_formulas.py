"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from itertools import permutations
from math import sqrt
from typing import Any

import numpy as np
import pytest

import presage as ps
from presage.models.multihead.experiment.objective import Objective
from presage.models.multihead.experiment.sequences import draw, sample_targets
from presage.models.multihead.experiment.values import beside_the_target, outputs_of, sample_values
from presage.models.multihead.theory.mean_loss import MeanOfHeads, products_of_heads
from presage.models.multihead.theory.separate_heads import solve_side_by_side, summed
from presage.models.multihead.theory.state_evolution import (
    channel_of,
    matched,
    settled_on,
    specialised_start,
)
from presage.models.multihead.theory.weights import RidgeWeights, SampledHeads, overlaps_of_targets
from presage.solving.block_channel import BlockChannel, BlockHats, BlockOverlaps, BlockState
from tests.page_formulas import evaluates

LAW = ps.MarchenkoPastur(0.5)
TWO = ps.multihead_attention(LAW, combine="mean", alpha=1.5, weight_decay=0.02, noise=0.3, beta=1.2, beta_0=0.9)
B = np.array([[3.0, 1.0], [1.0, 3.0]])
RHO_0 = np.array([[1.65, 0.5], [0.5, 1.65]])
STATE = BlockOverlaps(
    np.array([[0.9, 0.4], [0.3, 0.8]]), np.array([[0.8, 0.4], [0.4, 0.9]]), np.array([[1.2, -0.5], [-0.5, 0.9]])
)
HATS = BlockHats(
    np.array([[0.55, 0.47], [0.45, 0.6]]), np.array([[0.03, 0.02], [0.02, 0.04]]), np.array([[0.7, 0.5], [0.5, 0.8]])
)


def softmax(R):
    weights = np.exp(R - R.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def scores(X, S):
    """Scores of every sample, n x T x T, for tokens n x T x d."""
    return (X @ S @ X.transpose(0, 2, 1) - np.eye(X.shape[1]) * np.trace(S)) / sqrt(len(S))


def drawn(problem, n=12, d=10):
    rng = np.random.default_rng(3)
    S_0 = sample_targets(problem, d, rng)
    sequences = draw(problem, S_0, n, rng)
    S = rng.standard_normal((problem.n_heads, d, d))
    return S_0, sequences, sequences.tokens.reshape(n, problem.n_tokens, d), S @ S.transpose(0, 2, 1) / d


@evaluates(
    r"""R_h = \frac{X S_h X^\top - \mathbb 1 \operatorname{Tr} S_h}{\sqrt d}, \qquad R_{0h} = \frac{X S_{0h} X^\top -
    \mathbb 1 \operatorname{Tr} S_{0h}}{\sqrt d} + \sqrt{\tfrac{\Delta}{2}}\, Z_h""",
    r"""\hat y_{\mathrm{mean}} = \frac{v}{H} \sum_{h=1}^H \sigma(\beta R_h), \qquad \hat y_{\mathrm{concatenate}} =
    \big(v_1 \sigma(\beta R_1), \ldots, v_H \sigma(\beta R_H)\big), \qquad
    \hat y_{\mathrm{sum}} = \sum_{h=1}^H R_h""",
    r"""\mathcal L = \sum_{\mu=1}^n \|y^\mu - \hat y^\mu\|_F^2 + d\, \tau \sum_{h=1}^H \|S_h\|_F^2""",
    r"\mathcal L/d^2",
    r"\frac{1}{n} \sum_{\mu} \|y^\mu - \hat y^\mu\|_F^2",
    r"\mathbb E\, \|y_{\mathrm{new}} - \hat y_{\mathrm{new}}\|_F^2",
    "v",
)
@pytest.mark.parametrize("combine", ["mean", "concatenate", "sum"])
def test_outputs_and_losses(combine):
    own: dict[str, Any] = {} if combine == "sum" else {"beta": 1.2, "beta_0": 0.9, "target_gain": 1.4}
    problem = ps.multihead_attention(
        LAW, alpha=1.0, weight_decay=0.3, noise=0.0, penalty="frobenius", combine=combine, **own
    )
    S_0, sequences, X, S = drawn(problem)
    v = np.array([1.3, 0.8])

    def output(matrices, beta, gains):
        R = [scores(X, matrix) for matrix in matrices]
        if combine == "sum":
            return sum(R)[None]
        heads = np.array([gain * softmax(beta * one) for gain, one in zip(gains, R, strict=True)])
        return heads.mean(axis=0, keepdims=True) if combine == "mean" else heads

    gains = v if combine == "concatenate" else v[:1].repeat(2)
    y = output(S_0, 0.9, (1.4, 1.4))
    np.testing.assert_allclose(sequences.labels, y, rtol=1e-10, atol=1e-12)
    objective = Objective(problem, sequences)
    learned = np.ones(1) if combine == "sum" else v if combine == "concatenate" else v[:1]
    data = np.sum((y - output(S, 1.2, gains)) ** 2)
    assert objective.loss_at(S, learned) == pytest.approx(data, rel=1e-10)
    assert objective.penalty_at(S) == pytest.approx(10 * 0.3 * np.sum(S**2), rel=1e-12)
    assert objective.whole(S, learned).value == pytest.approx(data + 10 * 0.3 * np.sum(S**2), rel=1e-10)


def test_noise_has_the_variances_of_the_page():
    problem = ps.multihead_attention(LAW, alpha=1.0, weight_decay=0.3, noise=0.4, combine="sum", n_heads=2)
    rng = np.random.default_rng(0)
    S_0 = sample_targets(problem, 8, rng)
    sequences = draw(problem, S_0, 20_000, rng)
    X = sequences.tokens.reshape(20_000, 2, 8)
    rest = sequences.labels[0] - scores(X, S_0.sum(axis=0))
    assert np.allclose(rest, rest.transpose(0, 2, 1))
    assert np.var(rest[:, 0, 1]) == pytest.approx(0.2, rel=0.05)
    assert np.var(rest[:, 0, 0]) == pytest.approx(0.4, rel=0.05)


@evaluates(
    r"""\mathcal L = \sum_{\mu=1}^n \|y^\mu - \hat y^\mu\|_F^2 + \lambda \sum_{h=1}^H \|W_h\|_F^2, \qquad
    S_h = \frac{W_h W_h^\top}{\sqrt{m d}}, \quad m = \kappa d""",
)
def test_weight_decay_is_a_price_of_traces():
    problem = TWO.replace(kappa=0.6)
    _, sequences, _, _ = drawn(problem)
    objective = Objective(problem, sequences)
    W = np.random.default_rng(5).standard_normal((2, 10, 6))
    S = np.array([w @ w.T / sqrt(60) for w in W])
    np.testing.assert_allclose(objective.S_of(W), S, rtol=1e-12)
    whole = objective.loss_at(S, np.ones(1)) + 0.02 * np.sum(W**2)
    assert objective.whole(W, np.ones(1)).value == pytest.approx(whole, rel=1e-12)
    paid = 10 * problem.lambda_tilde * sum(np.trace(s) for s in S)
    assert objective.penalty_at(S) == pytest.approx(paid, rel=1e-12)


@evaluates(
    r"""\rho_{0,hk} = Q_{0,hk} + \tfrac{\Delta}{2} \delta_{hk}, \qquad Q_{0,hk} = \tfrac{1}{d} \operatorname{Tr} S_{0h}
    \cdot \tfrac{1}{d} \operatorname{Tr} S_{0k} \quad (h \ne k)""",
    r"""\begin{pmatrix} \rho_0 & m^\top \\ m & q \end{pmatrix} \otimes B, \qquad
    B = \begin{pmatrix} 3 & 1 \\ 1 & 3 \end{pmatrix}""",
)
def test_differences_of_scores_are_gaussian_with_these_overlaps():
    laws = (LAW, ps.MarchenkoPastur(0.2))
    problem = ps.multihead_attention(laws, alpha=1.0, weight_decay=0.1, noise=0.3)
    d, rng = 60, np.random.default_rng(7)
    S_0 = sample_targets(problem, d, rng)
    Q_0 = overlaps_of_targets(laws)
    assert Q_0[0, 1] == pytest.approx(laws[0].mean * laws[1].mean, rel=1e-12)
    assert np.trace(S_0[0] @ S_0[1]) / d == pytest.approx(Q_0[0, 1], rel=0.05)
    noises = rng.standard_normal((2, d, d))
    S = S_0 + (noises + noises.transpose(0, 2, 1)) / sqrt(2.0 * d)
    m = np.array([[np.trace(a @ b) / d for b in S_0] for a in S])
    q = np.array([[np.trace(a @ b) / d for b in S] for a in S])
    sampled = np.array([[np.trace(a @ b) / d for b in S_0] for a in S_0])
    X = rng.standard_normal((40_000, 2, d))
    Z = rng.standard_normal((2, len(X), 2, 2))
    u = []
    for matrix, noise in [*zip(S_0, sqrt(0.5 * 0.3) * (Z + Z.transpose(0, 1, 3, 2)) / sqrt(2.0), strict=True)] + [
        (matrix, 0.0) for matrix in S
    ]:
        R = scores(X, matrix) + noise
        u += [R[:, 0, 0] - R[:, 0, 1], R[:, 1, 1] - R[:, 1, 0]]
    rho_0 = sampled + 0.5 * 0.3 * np.eye(2)
    whole = np.kron(np.block([[rho_0, m.T], [m, q]]), B)
    np.testing.assert_allclose(np.cov(np.array(u)), whole, atol=0.15)
    channel = BlockChannel(products_of_heads(2), scale=1.0, nodes=16, seed=0)
    np.testing.assert_allclose(channel.covariance(rho_0, BlockOverlaps(m, q, q)), whole, rtol=1e-12)


@evaluates(
    r"""\ell(u_0, u) = \sum_{i=1}^2 \sum_{\epsilon = \pm 1} \Big[ \frac{v}{H} \sum_h s(\epsilon \beta u_{hi}) -
    \frac{v_0}{H} \sum_h s(\epsilon \beta_0 u_{0,hi}) \Big]^2""",
    r"""p = \arg\min_h \tfrac{1}{2} (h - u)^\top K^{-1} (h - u) + \ell(u_0, h), \qquad K = \Sigma \otimes B""",
    r"""\hat m_{hk} = -2 \alpha\, \mathbb E \operatorname{Tr} \big[ (1 + \nabla^2 \ell\, K)^{-1} C \big]_{hk} B, \qquad
    \hat \Sigma_{hk} = 2 \alpha\, \mathbb E \operatorname{Tr} \big[ (1 + \nabla^2 \ell\, K)^{-1} \nabla^2 \ell
    \big]_{hk} B, \qquad \hat q_{hk} = 2 \alpha\, \mathbb E\, \lambda_h^\top B \lambda_k""",
    r"""v = v_0\, \frac{\mathbb E \sum_{i, \epsilon} \bar s_i^\epsilon(p)\, \bar s_i^\epsilon(u_0)}{\mathbb E
    \sum_{i, \epsilon} \bar s_i^\epsilon(p)^2}, \qquad \bar s_i^\epsilon(u) = \frac{1}{H} \sum_h
    s(\epsilon \beta u_{hi})""",
)
def test_what_samples_say():
    alpha, v, v_0, beta, beta_0 = 1.5, 1.3, 1.4, 1.2, 0.9
    loss = MeanOfHeads(beta, beta_0, v, v_0)
    channel = BlockChannel(products_of_heads(2), scale=2.0 * alpha, nodes=256, seed=0)
    found = channel.averages(loss, RHO_0, STATE)
    K = np.kron(STATE.Sigma, B)
    inverse = np.linalg.inv(K)

    def s_bar(u, beta, sign):
        return np.mean(1.0 / (1.0 + np.exp(-sign * beta * u.reshape(-1, 2, 2))), axis=1)

    def l(u0, u):
        return sum(np.sum((v * s_bar(u, beta, e) - v_0 * s_bar(u0, beta_0, e)) ** 2, axis=1) for e in (1, -1))

    np.testing.assert_allclose(loss(found.u0, found.u).value, l(found.u0, found.u), rtol=1e-12)

    def objective(h):
        away = h - found.u
        return 0.5 * np.einsum("ni,ij,nj->n", away, inverse, away) + l(found.u0, h)

    here = objective(found.points.p)
    for step in 1e-3 * np.vstack([np.eye(4), -np.eye(4)]):
        assert np.all(objective(found.points.p + step) > here)
    assert np.all(objective(found.u) >= here)
    assert np.all(objective(found.u0) >= here)
    _, gradient, hessian, C = found.points.terms
    bent = np.linalg.inv(np.eye(4) + hessian @ K)
    slope_0, slope = (bent @ C).mean(axis=0), (bent @ hessian).mean(axis=0)
    lam = -gradient

    def block(matrix, h, k):
        return matrix[2 * h : 2 * h + 2, 2 * k : 2 * k + 2]

    for h in range(2):
        for k in range(2):
            m_hat = -2.0 * alpha * np.trace(block(slope_0, h, k) @ B)
            assert found.hats.m_hat[h, k] == pytest.approx(m_hat, rel=1e-10)
            pair = 0.5 * (block(slope, h, k) + block(slope, k, h).T)  # symmetric but for rounding
            assert found.hats.Sigma_hat[h, k] == pytest.approx(2.0 * alpha * np.trace(pair @ B), rel=1e-8)
            q_hat = 2.0 * alpha * np.mean(np.sum(lam[:, 2 * h : 2 * h + 2] @ B * lam[:, 2 * k : 2 * k + 2], axis=1))
            assert found.hats.q_hat[h, k] == pytest.approx(q_hat, rel=1e-10)
    p = found.points.p
    along = sum(np.mean(s_bar(p, beta, e) * s_bar(found.u0, beta_0, e)) for e in (1, -1))
    square = sum(np.mean(s_bar(p, beta, e) ** 2) for e in (1, -1))
    assert loss.best_gain(found.u0, p) == pytest.approx(v_0 * along / square, rel=1e-12)


@evaluates(
    r"""\Sigma = (\hat \Sigma + 4 \tau)^{-1}, \qquad m = \Sigma \hat m Q_0, \qquad
    q = \Sigma (\hat m Q_0 \hat m^\top + \hat q) \Sigma""",
)
def test_weights_with_a_ridge():
    weights = RidgeWeights(TWO.replace(penalty="frobenius", weight_decay=0.07))
    found = weights.overlaps(HATS)
    Sigma = np.linalg.inv(HATS.Sigma_hat + 4.0 * 0.07 * np.eye(2))
    np.testing.assert_allclose(found.Sigma, Sigma, rtol=1e-12)
    np.testing.assert_allclose(found.m, Sigma @ HATS.m_hat @ weights.Q_0, rtol=1e-12)
    q = Sigma @ (HATS.m_hat @ weights.Q_0 @ HATS.m_hat.T + HATS.q_hat) @ Sigma
    np.testing.assert_allclose(found.q, q, rtol=1e-12)
    assert weights.paid == pytest.approx(0.07 * np.trace(q), rel=1e-12)


@evaluates(
    r"""(S_h) = \arg\min_{S_h \ge 0} \tilde \lambda \sum_h \operatorname{Tr} S_h + \tfrac{1}{4} \sum_{hk}
    \hat \Sigma_{hk} \operatorname{Tr} S_h S_k - \tfrac{1}{2} \sum_h \operatorname{Tr} S_h \Big( \sum_k \hat m_{hk}
    S_{0k} + \sum_k (\hat q^{1/2})_{hk} G_k \Big)""",
    r"\Sigma = \Big[ \tfrac{1}{d} \operatorname{Tr} S_h G_k \Big] \hat q^{-1/2}",
)
def test_weights_with_weight_decay():
    weights = SampledHeads(TWO, 30, 2)
    for _ in range(30):
        found = weights.overlaps(HATS)
    sampled = weights.sampled
    values, vectors = np.linalg.eigh(HATS.q_hat)
    root = (vectors * np.sqrt(values)) @ vectors.T
    pull = np.tensordot(HATS.m_hat, sampled.targets, 1) + np.tensordot(root, sampled.noises, 1)

    def price(S):
        squares = sum(HATS.Sigma_hat[h, k] * np.trace(S[h] @ S[k]) for h in range(2) for k in range(2))
        linear = sum(np.trace(S[h] @ pull[h]) for h in range(2))
        return TWO.lambda_tilde * sum(np.trace(one) for one in S) + 0.25 * squares - 0.5 * linear

    rng, lowest = np.random.default_rng(0), price(sampled.S)
    for size in (1e-3, 1e-1, 1.0):
        W = sqrt(size) * rng.standard_normal((2, 30, 3)) / sqrt(30)
        assert price(sampled.S + W @ W.transpose(0, 2, 1)) > lowest
        assert price((1.0 - 0.1 * size) * sampled.S) > lowest
    response = np.array([[np.trace(S @ G) / 30 for G in sampled.noises] for S in sampled.S]) @ np.linalg.inv(root)
    np.testing.assert_allclose(found.Sigma, 0.5 * (response + response.T), rtol=1e-8)
    assert weights.paid == pytest.approx(TWO.lambda_tilde * sum(np.trace(S) for S in sampled.S) / 30, rel=1e-12)


@evaluates(
    r"""\frac{\mathcal L}{d^2} = \alpha\, \mathbb E\, \ell(u_0, p) + \tilde \lambda \sum_h \tfrac{1}{d}
    \operatorname{Tr} S_h, \qquad \tfrac{1}{d} \|S_h - S_{0h}\|_F^2 = Q_{0,hh} - 2 m_{hh} + q_{hh}""",
    r"\frac{1}{H} \sum_h \|S_h - S_{0h}\|_F^2/d",
    r"\frac{1}{H} \sum_h \#\{i : s_i(S_h) \ne 0\}/d",
    r"\frac{1}{H} \sum_h \operatorname{Tr} S_h S_{0h}/d",
    r"\frac{1}{H(H-1)} \sum_{h \ne k} \operatorname{Tr} S_h S_{0k}/d",
    r"\frac{1}{H(H-1)} \sum_{h \ne k} \operatorname{Tr} S_h S_k/d",
)
def test_what_is_measured_of_heads():
    """One copy of two heads at a small size: every number of it from the matrices themselves."""
    weights = SampledHeads(TWO, 40, 1)
    channel = channel_of(TWO, 512, 1)
    end = settled_on(TWO, weights, channel, specialised_start(TWO, weights.Q_0), tol=1e-7)
    S, S_0 = weights.sampled.S, weights.sampled.targets
    order = max(permutations(range(2)), key=lambda order: sum(np.trace(S[h] @ S_0[k]) for k, h in enumerate(order)))
    S = S[list(order)]
    values = end.values
    error = np.mean([np.sum((a - b) ** 2) / 40 for a, b in zip(S, S_0, strict=True)])
    assert values["estimation_error"] == pytest.approx(error, rel=1e-4)
    assert values["rank"] == pytest.approx(np.mean([np.sum(np.linalg.eigvalsh(one) > 1e-8) / 40 for one in S]))
    assert values["overlap"] == pytest.approx(
        np.mean([np.trace(a @ b) / 40 for a, b in zip(S, S_0, strict=True)]), rel=1e-4
    )
    crossed = [np.trace(S[h] @ S_0[1 - h]) / 40 for h in range(2)]
    assert values["cross_target_overlap"] == pytest.approx(np.mean(crossed), rel=1e-4)
    assert values["cross_overlap"] == pytest.approx(np.trace(S[0] @ S[1]) / 40, rel=1e-4)
    paid = TWO.lambda_tilde * sum(np.trace(one) for one in S) / 40
    assert values["train_loss"] == pytest.approx(TWO.alpha * values["train_error"] + paid, rel=1e-12)
    assert values["train_error"] == pytest.approx(end.averages.points.terms.value.mean(), rel=1e-12)


def test_heads_are_numbered_as_those_of_the_target():
    swapped = BlockState(STATE.m[::-1], STATE.q[::-1, ::-1], STATE.Sigma[::-1, ::-1], np.ones(1))
    back = matched(swapped)
    np.testing.assert_array_equal(back.m, STATE.m)
    np.testing.assert_array_equal(back.q, STATE.q)
    np.testing.assert_array_equal(back.Sigma, STATE.Sigma)


@evaluates(
    r"""\tfrac{1}{d} \operatorname{Tr} S_h S_{0k} = \tfrac{1}{d} \operatorname{Tr} S_h \cdot \tfrac{1}{d}
    \operatorname{Tr} S_{0k}, \qquad \tfrac{1}{d} \operatorname{Tr} S_h S_k = \tfrac{1}{d} \operatorname{Tr} S_h \cdot
    \tfrac{1}{d} \operatorname{Tr} S_k \quad (h \ne k)""",
)
def test_heads_side_by_side_are_free_of_each_other():
    laws = (LAW, ps.MarchenkoPastur(0.2))
    problem = ps.multihead_attention(laws, alpha=0.8, weight_decay=0.05, noise=0.2, combine="concatenate")
    found = solve_side_by_side(problem, 0.01)
    means = [ps.solve(ps.attention(law, alpha=0.8, weight_decay=0.05, noise=0.2)).spectrum.moment(1) for law in laws]
    assert found.values["cross_overlap"] == pytest.approx(means[0] * means[1], rel=1e-6)
    crossed = 0.5 * (means[0] * laws[1].mean + means[1] * laws[0].mean)
    assert found.values["cross_target_overlap"] == pytest.approx(crossed, rel=1e-6)


@evaluates(r"\min_{\sum_h S_h = S} d\, \tau \sum_h \|S_h\|_F^2 = \frac{d\, \tau}{H} \|S\|_F^2")
def test_the_price_of_a_sum():
    rng = np.random.default_rng(4)
    S = rng.standard_normal((5, 5))
    least = 3 * np.sum((S / 3) ** 2)
    assert least == pytest.approx(np.sum(S**2) / 3, rel=1e-12)
    for _ in range(20):
        first, second = rng.standard_normal((2, 5, 5))
        assert np.sum(first**2) + np.sum(second**2) + np.sum((S - first - second) ** 2) > least
    problem = ps.multihead_attention(LAW, alpha=1.0, weight_decay=0.3, n_heads=3, combine="sum", penalty="frobenius")
    ridge: Any = summed(problem, LAW, 1.0).penalty
    assert ridge.ridge == pytest.approx(0.1, rel=1e-12)
    decay = problem.replace(penalty="weight-decay", kappa=0.7)
    one = summed(decay, LAW, 1.0)
    price: Any = one.penalty
    assert price.lambda_tilde(one.kappa) == pytest.approx(decay.lambda_tilde, rel=1e-12)
    assert one.kappa == pytest.approx(2.1)


@evaluates(
    r"""\mathcal L = \frac{1}{d} \sum_{\mu=1}^n \|\sigma^\mu X^\mu V - \sigma_0^\mu X^\mu V_0\|_F^2 +
    \lambda \sum_{h=1}^H \|W_h\|_F^2, \qquad V = \Big[ \sum_\mu (\sigma X)^\top \sigma X \Big]^{-1}
    \sum_\mu (\sigma X)^\top \sigma_0 X V_0""",
    r"""v = v_0\, \frac{\operatorname{Tr} V_0^\top V}{\|V_0\|_F^2}, \qquad \mathtt{value\_error} =
    \frac{\|V - (v/v_0) V_0\|_F^2}{\|V_0\|_F^2}""",
)
def test_a_whole_value_matrix():
    problem = TWO.replace(target_gain=1.4, noise=0.0)
    S_0, sequences, X, _ = drawn(problem)
    rng = np.random.default_rng(5)
    V_0, W = sample_values(1.4, 10, rng), rng.standard_normal((2, 10, 10))
    S = W @ W.transpose(0, 2, 1) / 10
    sigma = np.mean([softmax(1.2 * scores(X, one)) for one in S], axis=0)
    sigma_0 = np.mean([softmax(0.9 * scores(X, one)) for one in S_0], axis=0)
    square = np.sum((sigma @ X).transpose(0, 2, 1) @ (sigma @ X), axis=0)
    V = np.linalg.inv(square) @ np.sum((sigma @ X).transpose(0, 2, 1) @ (sigma_0 @ X @ V_0), axis=0)
    loss = np.sum((sigma @ X @ V - sigma_0 @ X @ V_0) ** 2) / 10 + 0.02 * np.sum(W**2)
    objective = Objective(problem, sequences, outputs=outputs_of(sequences, V_0, 1.4))
    assert objective.whole(W, np.ones(1)).value == pytest.approx(loss, rel=1e-9)
    np.testing.assert_allclose(objective.values_at(S), V, rtol=1e-7, atol=1e-9)
    v = 1.4 * np.trace(V_0.T @ V) / np.sum(V_0**2)
    error = np.sum((V - v / 1.4 * V_0) ** 2) / np.sum(V_0**2)
    assert beside_the_target(V, V_0, 1.4) == pytest.approx((v, error), rel=1e-12)
