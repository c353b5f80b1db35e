"""Every formula of the model's page, evaluated beside the code."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.untied.experiment.sequences import sample_target
from presage.models.untied.theory.channel import Overlaps, Rule, conjugates_of
from presage.models.untied.theory.own_scores import SEEN
from presage.models.untied.theory.weights import shrunk_by_ridge
from presage.protocol.ensemble import streams
from presage.solving.block_channel import BlockHats, BlockOverlaps
from presage.solving.matrix_parts import DrawnParts, RidgeParts, linear_parts, parts
from tests.models.untied.problems import HALF, cross, itself
from tests.page_formulas import evaluates

d, T, BETA, BETA_0, DELTA, DECAY = 8, 2, 1.2, 0.7, 0.3, 0.05
GIVEN = {"alpha": 0.9, "weight_decay": DECAY, "noise": DELTA}
TRAINED = {
    "cross": cross(beta=BETA, beta_0=BETA_0, **GIVEN),
    "self": itself(beta=BETA, beta_0=BETA_0, **GIVEN),
    "linear": itself(output="linear", **GIVEN),
    "ridge": itself(beta=BETA, beta_0=BETA_0, penalty="frobenius", **GIVEN),
    "gain": cross(beta=BETA, beta_0=BETA_0, target_gain=1.4, **GIVEN),
}


def softmax(R, beta):
    return np.exp(beta * R) / np.exp(beta * R).sum(axis=-1, keepdims=True)


def outputs(problem, x, z, S, beta):
    """Scores by the formulas of the page, and what is made of them."""
    R = np.einsum("nai,ij,nbj->nab", x, S, z) / sqrt(d)
    if problem.mask == "self":
        for a in range(T):
            R[:, a, a] = (np.einsum("ni,ij,nj->n", x[:, a], S, x[:, a]) - np.trace(S)) / sqrt(d)
    return R, (lambda scores: scores if not problem.softmax else softmax(scores, beta))


@evaluates(
    r"Q_0 = \frac{\|S_0\|_F^2}{d}",
    r"R^0_{ab} = \frac{x_a^\top S_0\, z_b}{\sqrt d} + \sqrt{\Delta}\, \xi_{ab}",
    r"R^0_{aa} = \frac{x_a^\top S_0\, x_a - \operatorname{Tr} S_0}{\sqrt d} + \sqrt{\Delta}\, \xi_{aa}",
    r"""y_{ab} = \frac{e^{\beta_0 R^0_{ab}}}{\sum_c e^{\beta_0 R^0_{ac}}}, \qquad
    \hat y_{ab} = \frac{e^{\beta R_{ab}}}{\sum_c e^{\beta R_{ac}}}""",
    r"""\mathcal L(W_Q, W_K) = \sum_{\mu=1}^{n} \sum_{a,b} (y^\mu_{ab} - \hat y^\mu_{ab})^2
    + \lambda \left( \|W_Q\|_F^2 + \|W_K\|_F^2 \right)""",
    r"\mathcal L(S) = \sum_{\mu=1}^{n} \sum_{a,b} (y^\mu_{ab} - \hat y^\mu_{ab})^2 + \lambda\, d\, \|S\|_F^2",
    r"\mathbb E \sum_{a,b} (y_{ab} - \hat y_{ab})^2_{\mathrm{new}}",
    r"\mathcal L/d^2",
    r"\frac{1}{n} \sum_{\mu} \sum_{a,b} (y^\mu_{ab} - \hat y^\mu_{ab})^2",
    r"\|S - S_0\|_F^2/d",
    r"\#\{i : s_i(S) \ne 0\}/d",
    r"\|S_s - S_{0s}\|_F^2/d",
    r"\|S_a - S_{0a}\|_F^2/d",
    "v",
)
@pytest.mark.parametrize("name", TRAINED)
def test_trained_heads_measure_what_the_page_defines(name):
    problem, n_test = TRAINED[name], 200
    found = ps.simulate(problem, d=d, seeds=[3], n_test=n_test, processes=1, keep="weights")
    for_target, for_data, _, for_test = streams(3, d)
    S, S_0 = found.weights[0], sample_target(problem.target, d, for_target)
    assert np.array_equal(found.targets[0], S_0)

    def losses(rng, n):
        x = rng.standard_normal((n, T, d))
        z = rng.standard_normal((n, T, d)) if problem.mask == "cross" else x
        R_0, of_target = outputs(problem, x, z, S_0, BETA_0)
        y = of_target(R_0 + sqrt(DELTA) * rng.standard_normal(R_0.shape))
        R, of_learner = outputs(problem, x, z, S, BETA)
        return np.sum((problem.v_0 * y - found.gain[0] * of_learner(R)) ** 2)

    n = problem.samples(d)
    error, values = losses(for_data, n), np.linalg.svd(S, compute_uv=False)
    left, _, right = np.linalg.svd(S)
    W_Q, W_K = left * np.sqrt(d * values), right.T * np.sqrt(d * values)
    np.testing.assert_allclose(W_Q @ W_K.T / d, S, atol=1e-10)
    factors = DECAY * (np.sum(W_Q**2) + np.sum(W_K**2))
    assert factors == pytest.approx(2.0 * DECAY * d * values.sum())
    price = DECAY * d * np.sum(S**2) if name == "ridge" else factors
    assert (found.gain[0] == 1.0) == (problem.target_gain is None)
    assert found.train_error[0] == pytest.approx(error / n, rel=1e-6)
    assert found.train_loss[0] == pytest.approx((error + price) / d**2, rel=1e-5)
    assert found.test_error[0] == pytest.approx(losses(for_test, n_test) / n_test, rel=1e-6)
    assert found.estimation_error[0] == pytest.approx(np.sum((S - S_0) ** 2) / d)
    off = parts(S - S_0)
    assert found.symmetric_error[0] == pytest.approx(np.sum(off[0] ** 2) / d)
    assert found.antisymmetric_error[0] == pytest.approx(np.sum(off[1] ** 2) / d)
    assert found.rank[0] == pytest.approx(np.mean(values > 1e-3 * values[0]), abs=0.13)  # one value more or less
    large = HALF.sample(600, 600, np.random.default_rng(0))
    assert np.sum(large**2) / 600 == pytest.approx(problem.Q_0, rel=0.02)


@evaluates(
    r"p = \operatorname*{argmin}_h \frac{\|h - r\|^2}{2 \Sigma} + \ell(r_0, h), \qquad f = -\nabla \ell(p)",
    r"""\hat m = \alpha \sum_{\mathrm{rows}} \mathbb E \operatorname{tr} \frac{\partial f}{\partial r_0}, \qquad
    \hat \Sigma = -\alpha \sum_{\mathrm{rows}} \mathbb E \operatorname{tr} \frac{\partial f}{\partial r}, \qquad
    \hat q = \alpha \sum_{\mathrm{rows}} \mathbb E \|f\|^2""",
)
def test_the_data_by_gradient_descent_and_differences():
    problem, Sigma, m, q = cross(noise=DELTA), 1.5, 0.7, 0.8
    rho_0 = problem.Q_0 + DELTA
    rng = np.random.default_rng(0)
    r = sqrt(q) * rng.standard_normal((6000, 2))
    r_0 = m / q * r + sqrt(rho_0 - m * m / q) * rng.standard_normal((6000, 2))

    def pull(r_0, r):
        h = r.copy()
        for _ in range(120):  # plain descent of |h - r|^2/(2 Sigma) + |softmax(h) - softmax(r_0)|^2
            s, y = softmax(h, 1.0), softmax(r_0, 1.0)
            slope = 2.0 * s * (s - y - np.sum(s * (s - y), axis=1, keepdims=True))
            h -= 0.5 * (h - r + Sigma * slope)
        return -slope

    f, step = pull(r_0, r), 1e-4
    response = sum(np.mean(pull(r_0, r + step * e)[:, k] - f[:, k]) for k, e in enumerate(np.eye(2))) / step
    response_0 = sum(np.mean(pull(r_0 + step * e, r)[:, k] - f[:, k]) for k, e in enumerate(np.eye(2))) / step
    found = conjugates_of(problem, Overlaps.told(1.0, m, q, Sigma), Rule(96, 0))
    assert found.m_hat == pytest.approx(2.0 * response_0, rel=0.03)
    assert found.Sigma_hat == pytest.approx(-2.0 * response, rel=0.03)
    assert found.q_hat == pytest.approx(2.0 * np.mean(np.sum(f * f, axis=1)), rel=0.03)


@evaluates(
    r"""\ell(r_0, r) = \|v\, \sigma - v_0\, \sigma_0\|^2 = \frac{(v - v_0)^2}{K} + v^2 \Big\| \sigma - \frac{1}{K}
    - \frac{v_0}{v} \Big( \sigma_0 - \frac{1}{K} \Big) \Big\|^2""",
    r"""v = v_0\, \frac{\sum_{\mathrm{rows}} \mathbb E\, \sigma(p)^\top \sigma_0(r_0)}{\sum_{\mathrm{rows}}
    \mathbb E\, \|\sigma(p)\|^2}""",
)
def test_a_gain_by_gradient_descent():
    v, v_0, Sigma, m, q = 1.3, 0.9, 0.7, 0.7, 0.8
    problem = cross(noise=DELTA, mask="causal", n_tokens=4, target_gain=v_0)  # rows of one, two and three keys
    rng, along, square, test = np.random.default_rng(0), 0.0, 0.0, 0.0
    for K in (1, 2, 3):
        r = sqrt(q) * rng.standard_normal((6000, K))
        r_0 = m / q * r + sqrt(problem.Q_0 + DELTA - m * m / q) * rng.standard_normal((6000, K))
        h, y = r.copy(), softmax(r_0, 1.0)
        apart = v * softmax(r, 1.0) - v_0 * y
        test += np.mean(np.sum(apart**2, axis=1))
        shrunk = softmax(r, 1.0) - 1 / K - v_0 / v * (y - 1 / K)
        assert np.sum(apart**2, axis=1) == pytest.approx((v - v_0) ** 2 / K + v**2 * np.sum(shrunk**2, axis=1))
        for _ in range(120):  # plain descent of |h - r|^2/(2 Sigma) + |v softmax(h) - v_0 softmax(r_0)|^2
            s = softmax(h, 1.0)
            e = v * s - v_0 * y
            h -= 0.3 * (h - r + Sigma * 2.0 * v * s * (e - np.sum(s * e, axis=1, keepdims=True)))
        along, square = along + np.mean(np.sum(s * y, axis=1)), square + np.mean(np.sum(s * s, axis=1))
    found = conjugates_of(problem, Overlaps.told(1.0, m, q, Sigma), Rule(96, 18), v)
    assert found.gain == pytest.approx(v_0 * along / square, rel=5e-3)
    assert found.test == pytest.approx(test, rel=0.03)


@evaluates(
    r"""\hat m = \hat \Sigma = \frac{2 \alpha L}{1 + 2 \Sigma}, \qquad
    \hat q = \hat \Sigma^2\, \frac{\rho_0 - 2 m + q}{\alpha L}"""
)
def test_the_data_of_a_linear_output():
    problem, (m, q, Sigma) = cross(output="linear", noise=DELTA), (0.7, 0.8, 1.5)
    found = conjugates_of(problem, Overlaps.told(1.0, m, q, Sigma), Rule(0, 0))
    assert (found.m_hat, found.Sigma_hat) == pytest.approx((2 * 4 / (1 + 2 * Sigma),) * 2)
    assert found.q_hat == pytest.approx(found.Sigma_hat**2 * (1.0 + DELTA - 2 * m + q) / 4)


@evaluates(
    r"""\delta = \frac{\sqrt{\hat q}}{\hat m}, \qquad c = \frac{2 \lambda}{\hat m}, \qquad
    s = \frac{\hat m}{\hat \Sigma}""",
    r"""q = s^2 \int_c^\infty (x - c)^2\, \nu(dx), \qquad m = s \left[ \int_c^\infty x (x - c)\, \nu(dx)
    - \delta^2 I \right], \qquad \Sigma = \frac{I}{\hat \Sigma}""",
    r"I = 2 \int_c^\infty (x - c)\, h(x)\, \nu(dx)",
    r"""\mathtt{train\_loss} = \alpha\, \mathtt{train\_error} + 2 \lambda\, s \int_c^\infty (x - c)\, \nu(dx)""",
)
def test_the_weights_are_a_noisy_target_that_is_cut_and_scaled():
    problem = cross()
    found = ps.solve(problem)
    hats = conjugates_of(problem, Overlaps.told(1.0, found.m, found.q, found.Sigma), Rule(96, 0))
    assert found.delta == pytest.approx(sqrt(hats.q_hat) / hats.m_hat, rel=1e-5)
    assert found.cutoff == pytest.approx(2 * 0.02 / hats.m_hat, rel=1e-5)
    assert found.scale == pytest.approx(hats.m_hat / hats.Sigma_hat, rel=1e-5)
    # The noisy target by hand: a large matrix; the principal value is a sum over the other singular values.
    rng, size, c = np.random.default_rng(0), 700, found.cutoff
    noisy = HALF.sample(size, size, rng) + found.delta * rng.standard_normal((size, size)) / sqrt(size)
    x = np.linalg.svd(noisy, compute_uv=False)
    squares = np.subtract.outer(x**2, x**2)
    np.fill_diagonal(squares, np.inf)
    h, kept = x * np.sum(1 / squares, axis=1) / size, np.maximum(x - c, 0.0)
    I = 2 * np.mean(kept * h)
    assert found.q == pytest.approx(found.scale**2 * np.mean(kept**2), rel=0.02)
    assert found.m == pytest.approx(found.scale * (np.mean(x * kept) - found.delta**2 * I), rel=0.02)
    assert found.Sigma == pytest.approx(I / hats.Sigma_hat, rel=0.02)
    paid = 2 * 0.02 * found.scale * kept.mean()
    assert found.train_loss == pytest.approx(found.train_error + paid, rel=0.01)


@evaluates(
    r"""\Sigma = \frac{1}{\hat \Sigma + 2 \lambda}, \qquad m = Q_0\, \hat m\, \Sigma, \qquad
    q = (\hat m^2 Q_0 + \hat q)\, \Sigma^2"""
)
def test_the_weights_of_a_ridge():
    m_hat, q_hat, Sigma_hat, Q_0, tau = 0.3, 0.02, 0.35, 1.4, 0.05
    m, q, Sigma, _ = shrunk_by_ridge(Q_0, tau, np.log([m_hat, q_hat, Sigma_hat])).overlaps
    assert Sigma == pytest.approx(1 / (Sigma_hat + 2 * tau))
    assert m == pytest.approx(Q_0 * m_hat * Sigma)
    assert q == pytest.approx((m_hat**2 * Q_0 + q_hat) * Sigma**2)


@evaluates(r"\alpha_{\mathrm{eff}} = \alpha \sum_{\mathrm{rows}} (K_a - 1)")
def test_rows_show_a_difference_less_than_keys():
    for problem in (
        cross(n_tokens=3, n_keys=4),
        cross(n_tokens=5, mask="causal"),
        cross(n_tokens=4, mask="off-diagonal"),
    ):
        assert problem.alpha_eff == pytest.approx(sum(keys - 1 for keys in problem.keys))


@evaluates(
    r"R_{aa} = \sqrt 2\, z_{aa}, \qquad R_{ab} = z_{ab} + t_{ab}, \qquad R_{ba} = z_{ab} - t_{ab}",
    r"""B_s = \begin{pmatrix} 3 & 1 \\ 1 & 3 \end{pmatrix}, \qquad
    B_a = \begin{pmatrix} 1 & -1 \\ -1 & 1 \end{pmatrix}""",
)
def test_scores_of_the_two_parts():
    rng = np.random.default_rng(1)
    S = parts(rng.standard_normal((30, 30)) / sqrt(30))
    Q_s, Q_a = np.sum(S**2, axis=(1, 2)) / 30
    z, t = sqrt(Q_s) * rng.standard_normal((3, 400_000)), sqrt(Q_a) * rng.standard_normal(400_000)
    R_11, R_22, R_12, R_21 = sqrt(2) * z[0], sqrt(2) * z[1], z[2] + t, z[2] - t
    normal = np.cov(np.stack([R_11, R_22, R_12, R_21]))
    x = rng.standard_normal((100_000, 2, 30))
    R = np.einsum("nai,ij,nbj->nab", x, S.sum(axis=0), x, optimize=True) / sqrt(30)
    R -= np.trace(S[0]) / sqrt(30) * np.eye(2)
    assert np.allclose(np.cov(R.reshape(-1, 4)[:, [0, 3, 1, 2]].T), normal, atol=0.05)
    differences = np.cov(np.stack([R_11 - R_12, R_22 - R_21]))
    assert np.allclose(Q_s * SEEN[0, 0] + Q_a * SEEN[1, 1], differences, atol=0.03)


@evaluates(
    r"""\hat m_g = \hat \Sigma_g = \frac{8 \alpha L_g}{1 + 4 \Sigma_g}, \qquad
    \hat q_g = \hat \Sigma_g^2\, \frac{\rho_{0g} - 2 m_g + q_g}{2 \alpha L_g}"""
)
def test_the_data_of_the_two_parts():
    rho_0, m, q, Sigma = (np.array(pair) for pair in ([0.8, 0.6], [0.4, 0.25], [0.45, 0.3], [0.5, 0.9]))
    for tokens in (2, 3):
        L = np.array([tokens * (tokens + 1) / 2, tokens * (tokens - 1) / 2])
        hats = linear_parts(tokens, 0.7, np.diag(rho_0), BlockOverlaps(np.diag(m), np.diag(q), np.diag(Sigma))).hats
        stiffness = 8 * 0.7 * L / (1 + 4 * Sigma)
        assert np.diag(hats.m_hat) == pytest.approx(stiffness)
        assert np.diag(hats.Sigma_hat) == pytest.approx(stiffness)
        assert np.diag(hats.q_hat) == pytest.approx(stiffness**2 * (rho_0 - 2 * m + q) / (2 * 0.7 * L))


@evaluates(
    r"""2 \lambda \|S\|_* + \sum_{g} \left[ \frac{\hat \Sigma_g}{4} \|S_g\|_F^2 - \frac{1}{2}
    \operatorname{Tr} S_g^\top (\hat m_g S_{0g} + \sqrt{\hat q_g}\, G_g) \right]"""
)
def test_the_weights_of_the_two_parts_minimise_what_the_page_says():
    rng, decay = np.random.default_rng(5), 0.1
    S_0 = HALF.sample(20, 20, rng)
    weights = DrawnParts(S_0, 2 * decay, rng)
    m_hat, q_hat, Sigma_hat = np.array([0.9, 0.5]), np.array([0.2, 0.3]), np.array([1.1, 0.7])
    hats = BlockHats(np.diag(m_hat), np.diag(q_hat), np.diag(Sigma_hat))
    weights.sampled.overlaps(hats, tol=1e-12, most=20_000)
    target, G = parts(S_0), weights.sampled.noises

    def objective(S):
        quadratic = sum(Sigma_hat[g] / 4 * np.sum(S[g] ** 2) for g in range(2))
        pull = sum(0.5 * np.sum(S[g] * (m_hat[g] * target[g] + sqrt(q_hat[g]) * G[g])) for g in range(2))
        return 2 * decay * np.linalg.norm(S.sum(axis=0), "nuc") + quadratic - pull

    least = objective(weights.sampled.S)
    for _ in range(30):
        assert objective(weights.sampled.S + 1e-3 * parts(rng.standard_normal((20, 20)))) > least
    assert np.diag(RidgeParts(np.ones(2), 0.2).overlaps(hats).Sigma) == pytest.approx(1 / (Sigma_hat + 0.8))
