"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.lora.bayes.optimal import fixed_point
from presage.models.lora.bayes.sample_beliefs import LinearBeliefs, beliefs_of
from presage.models.lora.bayes.weak_recovery import weak_recovery
from presage.models.lora.experiment.sequences import adapter_scores, labels_of, scores
from presage.models.lora.theory.adapter_newton import adapter_prox
from presage.models.lora.theory.averages import rule_of, softmax
from presage.models.lora.theory.effective_noise import fresh_noise, reused_noise, selected_noise
from presage.models.lora.theory.errors import linear_error
from presage.models.lora.theory.pretrained import Pretrained
from presage.models.lora.theory.samples import frozen_and_target, points_of
from presage.models.lora.theory.state_evolution import conjugates_of, settled_on, start_of
from presage.protocol.ensemble import streams
from presage.solving.vector_state_evolution import overlaps_of
from tests.models.lora.fixed_points import linear, only_noise
from tests.page_formulas import evaluates

BEFORE = Pretrained(1.3, 1.1, 0.4, 1.5, 0.8)
T, D_SMALL = 2, 9


@evaluates(
    r"""R_S = \frac{X S X^\top - \mathbb 1 \operatorname{Tr} S}{\sqrt d}, \qquad
    \chi_0 \chi_0^\top - \mathbb 1 \operatorname{Tr} \tfrac{w_0^\top w_0}{d}, \quad
    \chi_0 = \tfrac{X w_0}{\sqrt d}""",
    r"""y = \sigma_0\Big( \frac{X S_0 X^\top - \mathbb 1 \operatorname{Tr} S_0}{\sqrt d} +
    \sqrt{\tfrac{\Delta}{2}}\, Z + \chi_0 \chi_0^\top - \mathbb 1 \operatorname{Tr} \tfrac{w_0^\top w_0}{d} \Big)""",
)
def test_scores_and_labels():
    rng, d = np.random.default_rng(0), D_SMALL
    X, S, w_0 = rng.standard_normal((T, d)), rng.standard_normal((d, d)), rng.standard_normal((d, 2))
    S, one = S + S.T, np.eye(T)
    R = (X @ S @ X.T - one * np.trace(S)) / sqrt(d)
    np.testing.assert_allclose(scores(X, S, T)[0], R)
    chi = X @ w_0 / sqrt(d)
    new = chi @ chi.T - one * np.trace(w_0.T @ w_0 / d)
    np.testing.assert_allclose(adapter_scores(X, w_0, T)[0], new)
    z = rng.standard_normal((1, 3))
    Z = np.array([[sqrt(2.0) * z[0, 0], z[0, 1]], [z[0, 1], sqrt(2.0) * z[0, 2]]])
    for channel, output in ((ps.Linear(T), lambda R: R), (ps.Softmax(T, 1.0, 0.7), lambda R: softmax(0.7 * R))):
        y = labels_of(channel, z, new[None])
        np.testing.assert_allclose(y[0], output(Z + new))


@evaluates(
    r"""\mathcal L' = \sum_{\mu=1}^{N'} \Big\| \sigma\big(b R_S^\mu + \chi^\mu \chi^{\mu\top} -
    \mathbb 1 \operatorname{Tr} \tfrac{w^\top w}{d}\big) - y^\mu \Big\|_F^2 + \lambda' \|w\|_F^2, \qquad
    \chi = \tfrac{X w}{\sqrt d}""",
    r"\big(\|w' w_0\|_F^2 / (\|w' w\|_F\, \|w_0' w_0\|_F)\big)^{1/2}",
    r"\|w\|_F^2/d",
    r"\mathcal L'/d",
    r"\mathbb E\, \|y_{\mathrm{new}} - \hat y_{\mathrm{new}}\|_F^2",
    r"\mathbb E\, \|y_{\mathrm{new}} - \hat y_{\mathrm{new}}(w = 0)\|_F^2",
    r"\mathbb E\, \|y_{\mathrm{new}} - \hat y_{\mathrm{new}}(w = w_0)\|_F^2",
    r"(E_{\mathrm{frozen}} - E)/(E_{\mathrm{frozen}} - E_{\mathrm{oracle}})",
)
def test_what_is_measured_of_an_adapter():
    """One seed drawn again by hand: its loss, its norm, its overlap, and its errors in overlaps."""
    d, b, decay = 40, 0.8, 0.3
    before = ps.linear_attention(ps.MarchenkoPastur(0.5), alpha=0.4, weight_decay=0.3, noise=0.2)
    problem = ps.lora(before, alpha=4.0, weight_decay=decay, recalibration=b)
    found = ps.simulate(problem, d=d, seeds=[5], n_test=40_000, processes=1, keep="weights")
    w, w_0 = found.weights[0], found.targets[0]
    assert found.norm[0] == pytest.approx(np.sum(w**2) / d)
    parts = np.linalg.norm(w.T @ w) * np.linalg.norm(w_0.T @ w_0)
    assert found.overlap[0] == pytest.approx(sqrt(np.sum((w.T @ w_0) ** 2) / parts))
    E, frozen, oracle = found.test_error[0], found.frozen_error[0], found.oracle_error[0]
    assert found.gain[0] == pytest.approx((frozen - E) / (frozen - oracle))
    # the layer of this seed, again
    from presage.models.attention.experiment.amp import AMP
    from presage.models.attention.experiment.data import sample, target_and_frame
    from presage.models.attention.experiment.objective import Objective
    from presage.models.attention.experiment.tokens import Gaussian

    for_target, for_data, for_trainer, _, for_new = streams(5, d, 5)
    S_0, _ = target_and_frame(before.target, d, for_target)
    samples = sample(S_0, before.channel, before.samples(d), for_data, tokens=Gaussian(), noise=0.2)
    S = AMP().fit(Objective(samples, before.channel, before.penalty, d, None, 1), for_trainer).S
    new = sample(S_0, before.channel, problem.samples(d), for_new, tokens=Gaussian(), noise=0.2)
    X = new.tokens.reshape(-1, T, d)
    loss = decay * np.sum(w**2)
    for mu in range(len(X)):
        chi, chi_0 = X[mu] @ w / sqrt(d), X[mu] @ w_0 / sqrt(d)
        R_S = (X[mu] @ S @ X[mu].T - np.eye(T) * np.trace(S)) / sqrt(d)
        z = before.channel.matrix(new.z_0[mu])
        y = z + chi_0 @ chi_0.T - np.eye(T) * np.sum(w_0**2) / d
        loss += np.sum((b * R_S + chi @ chi.T - np.eye(T) * np.sum(w**2) / d - y) ** 2)
    assert found.train_loss[0] == pytest.approx(loss / d, rel=1e-9)

    def error(w):
        """Loss of a fresh sample, exactly: T(T+1) times the squared norm of what is left, and the noise."""
        left = S_0 - b * S + (w_0 @ w_0.T - w @ w.T) / sqrt(d)
        return T * (T + 1) * (np.sum(left**2) / d + 0.1)

    for measured, adapter in ((E, w), (frozen, 0.0 * w), (oracle, w_0)):
        assert measured == pytest.approx(error(adapter), rel=0.02)


@evaluates(
    r"""(z, z_0) \sim \mathcal N\Big( 0, \begin{pmatrix} Q & M \\ M & \rho_0 \end{pmatrix} \Big), \qquad
    Q = \tfrac{1}{d} \operatorname{Tr} S^2, \quad M = \tfrac{1}{d} \operatorname{Tr} S S_0, \quad
    \rho_0 = \tfrac{1}{d} \operatorname{Tr} S_0^2 + \tfrac{\Delta}{2}"""
)
def test_frozen_scores_and_those_of_the_target():
    problem = linear(T, 3.0, 0.5)
    softly = ps.lora(ps.attention(ps.MarchenkoPastur(0.5), alpha=0.5, weight_decay=0.1), alpha=3.0, weight_decay=0.5)
    z, z_0 = frozen_and_target(softly, BEFORE, points_of(softly, 2**13, 0), fresh=True)
    covariance = np.cov(z.ravel(), z_0.ravel())
    assert covariance == pytest.approx(np.array([[1.3, 1.1], [1.1, 1.5 + 0.4]]), rel=0.01)
    found = ps.solve(problem)
    layer = ps.solve(problem.pretraining)
    assert (layer.overlaps.q, layer.overlaps.m) == (found.before.Q, found.before.M)
    assert found.before.rho_0 == problem.pretraining.target.second_moment + 0.25


@evaluates(
    r"\Delta_{\mathrm{eff}} = \rho_0 - 2 b M + b^2 Q",
    r"""\Delta_{\mathrm{act}} = \rho_0 - \frac{M^2}{Q} + \Big( b - \frac{M}{Q} \Big)^2 Q\,
    \frac{F_{L+2}(F_L^{-1}(f))}{f}, \qquad L = \tfrac{T(T+1)}{2}""",
    r"\Delta_1 = (1 - b k)^2 \rho_0 + b^2 (1 - k)^2 Q - 2 (1 - b k)\, b (1 - k) M",
)
def test_noise_that_is_left():
    Q, M, Sigma, rho_0 = 1.3, 1.1, 0.4, 1.9
    for b, f in ((1.0, 0.3), (0.7, 0.05)):
        assert fresh_noise(BEFORE, b) == pytest.approx(rho_0 - 2 * b * M + b**2 * Q)
        L = T * (T + 1) // 2
        F = scipy.stats.chi2
        truncated = F.cdf(F.ppf(f, L), L + 2) / f
        assert selected_noise(BEFORE, f, L, b) == pytest.approx(rho_0 - M**2 / Q + (b - M / Q) ** 2 * Q * truncated)
        k = 4 * Sigma / (1 + 4 * Sigma)
        left = (1 - b * k) ** 2 * rho_0 + b**2 * (1 - k) ** 2 * Q - 2 * (1 - b * k) * b * (1 - k) * M
        assert reused_noise(BEFORE, same_noise=True, b=b) == pytest.approx(left)


@evaluates(
    r"""P = \arg\min_P\; \big\| \sigma(b R_S + P P^\top - \mathbb 1 \operatorname{Tr} q) - y \big\|_F^2 +
    \tfrac12 \operatorname{Tr} (P - \omega) v^{-1} (P - \omega)^\top, \qquad g = (P - \omega) v^{-1}"""
)
def test_the_map_of_a_sample():
    rng, v, t = np.random.default_rng(2), np.array([0.3, 0.4]), 1.7
    R, target, chi, omega = (rng.standard_normal((T, 2)) @ rng.standard_normal((2, 2)) for _ in range(4))
    R, y = R + R.T, softmax(target + target.T)

    def minimised(flat):
        P = flat.reshape(T, 2)
        pull = 0.5 * np.trace((P - omega) @ np.diag(1.0 / v) @ (P - omega).T)
        return np.sum((softmax(R + P @ P.T - np.eye(T) * t) - y) ** 2) + pull

    P = omega[None].copy()
    adapter_prox(R[None], y[None], chi[None], omega[None], 1.0 / v, t, 1.0, False, True, P, np.empty(1), np.empty(1))
    starts = [omega.ravel(), -omega.ravel(), *rng.standard_normal((10, 4))]
    assert minimised(P[0].ravel()) <= min(scipy.optimize.minimize(minimised, x).fun for x in starts) + 1e-7


@evaluates(
    r"""\hat m = \alpha' \mathbb E \sum_a \frac{\partial g_a}{\partial \chi_{0a}}, \quad
    \hat v = -\alpha' \mathbb E \sum_a \frac{\partial g_a}{\partial \omega_a}, \quad
    \hat q = \alpha' \mathbb E \sum_a g_a g_a^\top, \quad
    \hat\lambda = \lambda' - \alpha' \mathbb E \operatorname{Tr} h""",
    r"""v = (2 \hat\lambda + \hat v)^{-1}, \qquad m = v\, \hat m\, q_0, \qquad
    q = v\, (\hat m\, q_0\, \hat m^\top + \hat q)\, v""",
)
def test_conjugates_and_overlaps():
    alpha, decay, q_0 = 3.0, 0.5, 1.4
    problem = linear(T, alpha, decay, strength=q_0)
    rule = rule_of(problem, only_noise(0.5), 2**10, 0)
    point = settled_on(problem, rule, start_of(problem))
    means = point.averages
    assert means.slope_target is not None
    assert means.slope_field is not None
    c = conjugates_of(problem, means, point.overlaps, derivative=True)
    assert c.m_hat[0, 0] == pytest.approx(alpha * means.slope_target[0, 0])
    assert c.v_hat[0, 0] == pytest.approx(-alpha * means.slope_field[0, 0])
    assert c.q_hat[0, 0] == pytest.approx(alpha * means.pull_square[0, 0])
    lambda_hat = decay - alpha * means.trace_h
    v = 1.0 / (2.0 * lambda_hat + c.v_hat[0, 0])
    m, m_hat = v * c.m_hat[0, 0] * q_0, c.m_hat[0, 0]
    q = v * (m_hat * q_0 * m_hat + c.q_hat[0, 0]) * v
    assert np.ravel(overlaps_of(c, q_0 * np.eye(1))) == pytest.approx([m, q, v])
    assert np.ravel(point.overlaps) == pytest.approx([m, q, v], rel=1e-5)


@evaluates(
    r"""\mathtt{test\_error} = T (T + 1) \big[ \Delta_{\mathrm{eff}} + \operatorname{Tr} q_0^2 + \operatorname{Tr} q^2 -
    2 \operatorname{Tr} m m^\top \big]"""
)
def test_error_of_a_linear_output():
    problem = linear(3, 3.0, 0.5, rank=2, target_rank=2, strength=1.5)
    m, q = np.diag([1.2, 1.1]), np.diag([1.3, 1.4])
    expected = 12 * (0.6 + 2 * 1.5**2 + np.trace(q @ q) - 2 * np.trace(m @ m.T))
    assert linear_error(problem, 0.6, m, q) == pytest.approx(expected)


@evaluates(
    r"""q = \frac{q_0^2\, \hat q}{1 + q_0\, \hat q}, \qquad \hat q = \alpha'\, \mathbb E \|g\|^2, \quad
    g = \frac{\mathbb E[\chi \mid \omega, y] - \omega}{q_0 - q}""",
    r"""\frac{1}{\alpha'_c} = \mathbb E\, \Big\| \frac{\mathbb E[\chi \chi^\top \mid y]}{q_0} - \mathbb 1 \Big\|_F^2""",
)
def test_the_best_of_all_methods():
    alpha, q_0, noise = 1.2, 1.5, 0.5
    rule = beliefs_of(linear(T, alpha, 0.5, strength=q_0), noise, 2**10, 0)
    assert isinstance(rule, LinearBeliefs)
    q = fixed_point(alpha, rule)
    g = (rule.means(q) - rule.fields(q)) / (q_0 - q)
    q_hat = alpha * np.mean(np.sum(g**2, axis=1))
    assert q == pytest.approx(q_0**2 * q_hat / (1 + q_0 * q_hat), abs=1e-5)
    # second moments of one sample on a grid, in the eigenbasis of what it shows
    x = np.linspace(-6.0, 6.0, 301)
    chi = np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1).reshape(-1, 2)
    for k in range(3):
        weight = -(np.sum(chi**2, axis=1) ** 2 - 2 * chi**2 @ rule.values[k]) / (4 * noise)
        weight = np.exp(weight - np.sum(chi**2, axis=1) / (2 * q_0))
        second = np.einsum("n,ni,nj->ij", weight / weight.sum(), chi, chi)
        assert rule.excess()[k] == pytest.approx(np.sum((second / q_0 - np.eye(2)) ** 2), rel=1e-4)
    assert weak_recovery([rule, rule])[0] == pytest.approx(1.0 / np.mean(rule.excess()))
