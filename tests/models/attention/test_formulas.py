"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from math import exp, log, pi, sqrt

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.attention.experiment.data import sample, sample_target, token_means
from presage.models.attention.experiment.matrix_flow import mean_curvature
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.setting import NetworkSetting
from presage.models.attention.theory.flows.population import gaussian_starts, riccati
from presage.models.attention.theory.flows.power_law_front import front, front_error, front_exponent
from presage.protocol.ensemble import streams
from presage.spectra.symmetric.free import FreeConvolution
from presage.spectra.symmetric.functionals import functionals
from tests.page_formulas import evaluates

D, N = 6, 40
MP = ps.MarchenkoPastur(0.5)
CHANNELS = {
    "softmax": ps.Softmax(3, 0.8, 1.3),
    "linear": ps.Linear(2),
    "quadratic": ps.Linear(1),
    "huber": ps.Huber(2, 0.7),
    "pair": ps.PairComparison(0.8, 1.3),
    "hardmax": ps.Hardmax(2),
}


def R_of(x, S):
    """Scores of one sample (x is T x d), entry by entry."""
    T, d = x.shape
    R = np.empty((T, T))
    for a in range(T):
        for b in range(T):
            R[a, b] = (x[a] @ S @ x[b] - (a == b) * np.trace(S)) / sqrt(d)
    return R


def softmax(R, beta):
    return np.array([[exp(beta * r) / sum(exp(beta * s) for s in row) for r in row] for row in R])


def hardmax(R):
    own = [float(R[0, 0] >= R[0, 1]), float(R[1, 1] >= R[1, 0])]
    return np.array([[own[0], 1 - own[0]], [1 - own[1], own[1]]])


def huber(r, threshold):
    return r**2 if abs(r) <= threshold else 2 * threshold * abs(r) - threshold**2


def label(channel, R_0):
    """The label of the target's scores, where these give it."""
    if isinstance(channel, ps.Softmax):
        return softmax(R_0, channel.beta_0)
    return hardmax(R_0) if isinstance(channel, ps.Hardmax) else R_0


def loss(channel, y, R):
    """The loss of a learner with scores R."""
    if isinstance(channel, ps.PairComparison):
        return log(1 + exp(-y * channel.beta * (R[0, 0] - R[1, 1])))
    if isinstance(channel, ps.Huber):
        return sum(huber(r, channel.threshold) for r in (y - R).ravel())
    output = softmax(R, channel.beta) if isinstance(channel, ps.Softmax) else R
    output = hardmax(R) if isinstance(channel, ps.Hardmax) else output
    return float(np.sum((y - output) ** 2))


def drawn(channel, *, noise=0.4, task="label", seed=3):
    """Samples of a target, and the same random numbers once more."""
    S_0 = sample_target(MP, D, np.random.default_rng(0))
    rng, again = np.random.default_rng(seed), np.random.default_rng(seed)
    samples = sample(S_0, channel, N, rng, tokens=ps.Gaussian(), noise=noise, task=task)
    x = again.standard_normal((N * channel.n_tokens, D)).reshape(N, channel.n_tokens, D)
    return S_0, samples, x, again


@evaluates(
    r"x_a \sim \mathcal N(0, 1_d),\quad a = 1 \dots T; \qquad n = \alpha\, d^2, \qquad m = \kappa\, d",
    r"S_0 = \frac{W_0 W_0^\top}{\sqrt{m_0\, d}}, \qquad (W_0)_{ij} \sim \mathcal N(0, 1)",
    r"Q_0 = \int x^2\, \mu_0(dx) = \lim_{d \to \infty} \frac{1}{d} \operatorname{Tr} S_0^2",
)
def test_data_and_target():
    problem = ps.attention(MP, alpha=0.73, weight_decay=0.1, kappa=0.4, noise=0.4)
    setting = NetworkSetting(problem, 30, ps.LBFGS(), "label", ps.Gaussian(), "trace", 10, "float64", "memory")
    assert (setting.n, setting.width) == (round(0.73 * 900), 12)
    assert np.array_equal(drawn(ps.Softmax(3))[1].tokens, drawn(ps.Softmax(3))[2].reshape(-1, D))
    W_0 = np.random.default_rng(7).standard_normal((40, 20))
    S_0 = sample_target(MP, 40, np.random.default_rng(7))
    np.testing.assert_allclose(S_0, W_0 @ W_0.T / sqrt(20 * 40), rtol=1e-13)
    x = np.linspace(0.0, 5.0, 200_001)
    assert pytest.approx(1.5) == problem.Q_0
    assert np.trapezoid(x**2 * MP.density(x), x) == pytest.approx(problem.Q_0, abs=1e-4)
    large = sample_target(MP, 1000, np.random.default_rng(1))
    assert np.trace(large @ large) / 1000 == pytest.approx(problem.Q_0, rel=0.01)


@evaluates(
    r"""R_{ab}(S) = \frac{x_a^\top S\, x_b - \delta_{ab} \operatorname{Tr} S}{\sqrt d}, \qquad
    \mathbb E\, R_{ab}^2 = (1 + \delta_{ab}) \frac{\operatorname{Tr} S^2}{d}""",
    r"""z_{ab} = \frac{R_{ab}}{\sqrt{1 + \delta_{ab}}},\quad a \le b; \qquad
    \mathbb E\, (z^0_{ab})^2 \to \rho_0 = Q_0 + \frac{\Delta}{2}""",
)
def test_scores_have_these_variances():
    channel, n, noise = ps.Linear(2), 200_000, 0.8
    S_0 = sample_target(MP, D, np.random.default_rng(0))
    samples = sample(S_0, channel, n, np.random.default_rng(1), tokens=ps.Gaussian(), noise=0.0)
    R = samples.tokens.reshape(n, 2, D) @ S_0 @ samples.tokens.reshape(n, 2, D).transpose(0, 2, 1)
    R = (R - np.eye(2) * np.trace(S_0)) / sqrt(D)
    np.testing.assert_allclose(samples.z_0, np.stack([R[:, 0, 0] / sqrt(2), R[:, 0, 1], R[:, 1, 1] / sqrt(2)], 1))
    Q = np.trace(S_0 @ S_0) / D
    np.testing.assert_allclose(np.mean(R**2, axis=0), Q * (1 + np.eye(2)), rtol=0.03)
    noisy = sample(S_0, channel, n, np.random.default_rng(1), tokens=ps.Gaussian(), noise=noise)
    np.testing.assert_allclose(np.mean(noisy.z_0**2, axis=0), Q + noise / 2, rtol=0.03)
    problem = ps.linear_attention(MP, alpha=1.0, weight_decay=0.1, noise=noise)
    assert problem.rho_0 == problem.Q_0 + noise / 2


@evaluates(
    r"""R^0_{ab} = R_{ab}(S_0) + \sqrt{\frac{(1 + \delta_{ab})\, \Delta}{2}}\; \xi_{ab}, \qquad
    \xi_{ab} = \xi_{ba} \sim \mathcal N(0, 1)""",
    r"y = \sigma_0(R^0), \qquad \hat y = \sigma(R(S)), \qquad \ell(y, \hat y)",
)
@pytest.mark.parametrize("name", [name for name in CHANNELS if name != "pair"])
def test_labels_are_outputs_of_noisy_scores(name):
    channel, noise = CHANNELS[name], 0.4
    S_0, samples, x, again = drawn(channel, noise=noise)
    xi = again.standard_normal((N, channel.n_in))
    for mu in range(N):
        R_0, k = R_of(x[mu], S_0), 0
        for a in range(channel.n_tokens):
            for b in range(a, channel.n_tokens):
                R_0[a, b] += sqrt((1 + (a == b)) * noise / 2) * xi[mu, k]
                R_0[b, a], k = R_0[a, b], k + 1
        np.testing.assert_allclose(samples.labels[mu], label(channel, R_0), rtol=1e-9, atol=1e-12)


SOFTMAX = r"""y_{ab} = \frac{e^{\beta_0 R^0_{ab}}}{\sum_{c=1}^{T} e^{\beta_0 R^0_{ac}}}, \qquad
    \hat y_{ab} = \frac{e^{\beta R_{ab}}}{\sum_{c=1}^{T} e^{\beta R_{ac}}}, \qquad
    \ell = \sum_{a,b=1}^{T} (y_{ab} - \hat y_{ab})^2"""
LINEAR = r"y = R^0, \qquad \hat y = R, \qquad \ell = \sum_{a,b=1}^{T} (y_{ab} - \hat y_{ab})^2"
HUBER = r"""\ell = \sum_{a,b=1}^{T} h(y_{ab} - \hat y_{ab}), \qquad
    h(r) = \begin{cases} r^2 & |r| \le \vartheta \\ 2 \vartheta |r| - \vartheta^2 & |r| > \vartheta \end{cases}"""
HARDMAX = r"""y_{aa} = 1 - y_{ab} = \begin{cases} 1 & R^0_{aa} \ge R^0_{ab} \\ 0 & R^0_{aa} < R^0_{ab} \end{cases}
    \quad (b \ne a), \qquad \ell = \sum_{a,b=1}^{2} (y_{ab} - \hat y_{ab})^2"""


@evaluates(
    r"""\mathcal L(W) = \sum_{\mu=1}^{n} \ell(y^\mu, \hat y^\mu) + \lambda\, \|W\|_F^2, \qquad
    S = \frac{W W^\top}{\sqrt{m\, d}}""",
    r"\lambda\, \|W\|_F^2 = d\, \tilde\lambda \operatorname{Tr} S, \qquad \tilde\lambda = \sqrt{\kappa}\, \lambda",
    *(SOFTMAX, LINEAR, HUBER, HARDMAX),
)
@pytest.mark.parametrize("name", CHANNELS)
def test_loss_is_a_sum_over_the_samples_plus_weight_decay(name):
    channel, decay, m = CHANNELS[name], 0.3, 4
    _, samples, x, _ = drawn(channel)
    W = np.random.default_rng(5).standard_normal((D, m))
    S = W @ W.T / sqrt(m * D)
    data = sum(loss(channel, samples.labels[mu], R_of(x[mu], S)) for mu in range(N))
    objective = Objective(samples, channel, ps.NuclearPSD(decay), m)
    assert objective.at_S(S).value == pytest.approx(data, rel=1e-10)
    assert objective.loss_at(S) == pytest.approx(data, rel=1e-10)
    assert objective.at_W(W).value == pytest.approx(data + decay * np.sum(W**2), rel=1e-10)
    lambda_tilde = sqrt(m / D) * decay
    assert objective.penalty_at(S) == pytest.approx(decay * np.sum(W**2), rel=1e-12)
    assert objective.penalty_at(S) == pytest.approx(D * lambda_tilde * np.trace(S), rel=1e-12)


@evaluates(r"\hat y = \frac{1}{\sqrt m} \sum_{k=1}^{m} \frac{(w_k \cdot x)^2 - \|w_k\|^2}{d}")
def test_one_token_is_a_network_with_quadratic_activation():
    _, samples, x, _ = drawn(ps.Linear(1))
    W = np.random.default_rng(5).standard_normal((D, 4))
    output = [sum(((w @ x[mu, 0]) ** 2 - w @ w) / D for w in W.T) / sqrt(4) for mu in range(N)]
    squares = float(np.sum((samples.labels[:, 0, 0] - output) ** 2))
    objective = Objective(samples, ps.Linear(1), ps.NuclearPSD(0.0), 4)
    assert objective.at_W(W).value == pytest.approx(squares, rel=1e-12)


@evaluates(
    r"""P(y = \pm 1) = \frac{1}{1 + e^{\mp \beta_0 (R^0_{11} - R^0_{22})}}, \qquad
    \hat y = \beta\, (R_{11} - R_{22}), \qquad \ell = \log(1 + e^{-y \hat y})"""
)
def test_a_comparison_is_random_with_these_odds():
    channel, draws = CHANNELS["pair"], 100_000
    R_0 = np.array([[0.9, 0.2], [0.2, 0.4]])
    z_0 = np.array([R_0[0, 0] / sqrt(2), R_0[0, 1], R_0[1, 1] / sqrt(2)])
    labels = channel.draw_labels(np.tile(z_0, (draws, 1)), np.random.default_rng(0))
    assert set(np.unique(labels)) == {-1.0, 1.0}
    odds = 1 / (1 + exp(-1.3 * (R_0[0, 0] - R_0[1, 1])))
    assert np.mean(labels == 1.0) == pytest.approx(odds, abs=4 * sqrt(0.25 / draws))
    assert float(channel.output(z_0)) == pytest.approx(0.8 * 0.5)


@evaluates(
    r"\mathcal L(S) = \sum_{\mu=1}^{n} \ell(y^\mu, \hat y^\mu) + d \sum_{i=1}^{d} r(s_i)",
    r"r(s) = \tau s^2, \qquad d \sum_{i=1}^{d} r(s_i) = d\, \tau\, \|S\|_F^2",
    r"r(s) = \nu\, |s| + \tau s^2, \qquad \nu = \mathtt{nuclear},\ \tau = \mathtt{ridge}",
)
def test_penalties_of_a_matrix_that_is_trained_itself():
    _, samples, _, _ = drawn(ps.Softmax(3))
    A = np.random.default_rng(5).standard_normal((D, D))
    S, s = A + A.T, np.linalg.eigvalsh(A + A.T)
    assert s.min() < 0 < s.max()
    ridge = Objective(samples, ps.Softmax(3), ps.Frobenius(0.2), D)
    assert ridge.penalty_at(S) == pytest.approx(D * 0.2 * np.sum(S**2), rel=1e-12)
    assert ridge.penalty_at(S) == pytest.approx(D * sum(0.2 * s**2), rel=1e-12)
    elastic = Objective(samples, ps.Softmax(3), ps.ElasticSpectral(0.3, 0.2), D)
    assert elastic.penalty_at(S) == pytest.approx(D * sum(0.3 * np.abs(s) + 0.2 * s**2), rel=1e-12)
    assert ps.ElasticSpectral(0.3, 0.2, 0.0).lowest == 0.0


@evaluates(
    r"""\ell = \frac{1}{d} \|(y - \hat y)\, x\|_F^2 = \operatorname{Tr} (y - \hat y)\, K\, (y - \hat y)^\top, \qquad
    K = \frac{x x^\top}{d}"""
)
@pytest.mark.parametrize("name", ["softmax", "linear"])
def test_a_sequence_task_learns_the_output_tokens(name):
    channel = CHANNELS[name]
    S_0, samples, x, _ = drawn(channel, task="sequence")
    S = S_0 + 0.1 * np.eye(D)
    residuals = [
        samples.labels[mu] - (softmax(R_of(x[mu], S), 0.8) if name == "softmax" else R_of(x[mu], S)) for mu in range(N)
    ]
    tokens = sum(np.sum((r @ x[mu]) ** 2) / D for mu, r in enumerate(residuals))
    weighted = sum(np.trace(r @ (x[mu] @ x[mu].T / D) @ r.T) for mu, r in enumerate(residuals))
    found = Objective(samples, channel, ps.NuclearPSD(0.1), D).loss_at(S)
    assert found == pytest.approx(tokens, rel=1e-10)
    assert found == pytest.approx(weighted, rel=1e-10)


@evaluates(
    r"""R_{ab}(S) = \frac{1}{\sqrt d} \Big( x_a^\top S\, x_b
    - \frac{1}{n} \sum_{\nu=1}^{n} (x^\nu_a)^\top S\, x^\nu_b \Big)"""
)
def test_centring_by_the_mean_over_the_training_set():
    channel = CHANNELS["linear"]
    S_0, samples, x, _ = drawn(channel)
    S = S_0 + 0.1 * np.eye(D)
    mean = sum(x[nu] @ S @ x[nu].T for nu in range(N)) / N
    by_hand = sum(np.sum((samples.labels[mu] - (x[mu] @ S @ x[mu].T - mean) / sqrt(D)) ** 2) for mu in range(N))
    objective = Objective(samples, channel, ps.NuclearPSD(0.1), D, token_means(samples))
    assert objective.loss_at(S) == pytest.approx(by_hand, rel=1e-10)
    assert objective.at_S(S).value == pytest.approx(by_hand, rel=1e-10)


PROBLEMS = {
    "attention": ps.attention(MP, alpha=1.5, weight_decay=0.05, noise=0.5, beta=0.8, beta_0=1.3, kappa=0.5),
    "quadratic": ps.quadratic_network(MP, alpha=2.0, weight_decay=0.3, noise=0.5),
    "linear-attention": ps.linear_attention(MP, alpha=1.0, weight_decay=0.3, noise=0.5),
    "unfactorized": ps.unfactorized_attention(MP, alpha=1.5, ridge=0.02, noise=0.5),
    "pair-comparison": ps.pair_comparison(MP, alpha=2.0, weight_decay=0.05, noise=0.5),
    "robust": ps.robust_network(MP, alpha=2.0, weight_decay=0.3, noise=0.5, threshold=0.7),
    "elastic": ps.elastic_attention(MP, alpha=1.5, nuclear=0.02, ridge=0.02, noise=0.5),
}


@evaluates(
    r"\mathbb E\, \ell(y_{\mathrm{new}}, \hat y_{\mathrm{new}})",
    r"\mathcal L/d^2",
    r"\frac{1}{n} \sum_{\mu} \ell(y^\mu, \hat y^\mu)",
    r"\|S - S_0\|_F^2/d",
    r"\#\{i : s_i \ne 0\}/d",
)
@pytest.mark.parametrize("name", PROBLEMS)
def test_trained_networks_measure_what_the_page_defines(name):
    problem, d, n_test = PROBLEMS[name], 10, 400
    trainer = ps.ProximalGradient() if name == "elastic" else ps.LBFGS()
    found = ps.simulate(problem, d=d, seeds=[4], trainer=trainer, n_test=n_test, processes=1)
    # The same network once more, kept: then everything by hand.
    for_target, for_data, for_trainer, for_test = streams(4, d)
    channel, penalty, m = problem.channel, problem.penalty, round(problem.kappa * d)
    S_0 = sample_target(MP, d, for_target)
    samples = sample(S_0, channel, round(problem.alpha * d**2), for_data, tokens=ps.Gaussian(), noise=problem.noise)
    S = Objective(samples, channel, penalty, m).fit(trainer, for_trainer).S
    fresh = sample(S_0, channel, n_test, for_test, tokens=ps.Gaussian(), noise=problem.noise)

    def losses(data):
        x = data.tokens.reshape(data.n, -1, d)
        return [loss(channel, y, R_of(x[mu], S)) for mu, y in enumerate(data.labels)]

    s = np.linalg.eigvalsh(S)
    price = {
        "unfactorized": lambda: 0.02 * s**2,
        "elastic": lambda: 0.02 * np.abs(s) + 0.02 * s**2,
    }.get(name, lambda: sqrt(m / d) * penalty.scaling * s)()
    whole = sum(losses(samples)) + d * price.sum()
    assert found.test_error[0] == pytest.approx(np.mean(losses(fresh)), rel=1e-7)
    assert found.train_error[0] == pytest.approx(np.mean(losses(samples)), rel=1e-7)
    assert found.train_loss[0] == pytest.approx(whole / d**2, rel=1e-6)
    assert found.estimation_error[0] == pytest.approx(np.sum((S - S_0) ** 2) / d, rel=1e-9)
    assert found.rank[0] == pytest.approx(np.mean(np.abs(s) > 1e-4 * np.abs(s).max()), abs=1e-12)
    assert 0.0 < found.rank[0] <= 1.0


@evaluates(
    r"""(z^0_{ab}, z_{ab}) \sim \mathcal N\left(0, \begin{pmatrix} \rho_0 & m \\ m & q \end{pmatrix}\right), \qquad
    m = \frac{\operatorname{Tr} S S_0}{d}, \qquad q = \frac{\operatorname{Tr} S^2}{d}""",
    r"p = \operatorname*{argmin}_{h}\; \frac{\|h - z\|^2}{2 \Sigma} + \ell(z^0, h)",
    r"\mathtt{test\_error} = \mathbb E\, \ell(z^0, z), \qquad \mathtt{train\_error} = \mathbb E\, \ell(z^0, p)",
    r"\mathtt{estimation\_error} = Q_0 - 2m + q",
)
def test_the_limit_is_an_average_over_gaussian_pairs():
    problem = ps.attention(MP, alpha=0.5, weight_decay=0.01, noise=0.5)
    s, channel, count = ps.solve(problem), problem.channel, 60_000
    pairs = np.random.default_rng(0).multivariate_normal(
        [0, 0], [[problem.rho_0, s.m], [s.m, s.q]], size=(count, channel.n_in)
    )
    z_0, z = pairs[..., 0], pairs[..., 1]
    p = channel.prox(z_0, z, s.Sigma)
    for value, at in ((s.test_error, z), (s.train_error, p)):
        losses = channel.loss_at(z_0, at)
        assert losses.mean() == pytest.approx(value, abs=4 * losses.std() / sqrt(count))
    assert s.estimation_error == pytest.approx(problem.Q_0 - 2 * s.m + s.q, rel=1e-6)

    def moved(h, mu):
        return np.sum((h - z[mu]) ** 2) / (2 * s.Sigma) + channel.loss_at(z_0[mu], h)

    for mu in range(5):
        least = min(scipy.optimize.minimize(moved, start[mu], args=(mu,), tol=1e-12).fun for start in (z, z_0))
        assert moved(p[mu], mu) == pytest.approx(least, rel=1e-6)


@evaluates(r"\mathtt{test\_error} = T(T+1) \Big( \mathtt{estimation\_error} + \frac{\Delta}{2} \Big)")
@pytest.mark.parametrize("T", [1, 2, 3])
def test_for_linear_outputs_test_and_estimation_error_are_one_number(T):
    s = ps.solve(ps.linear_attention(MP, alpha=0.5, weight_decay=0.1, noise=0.4, n_tokens=T))
    assert s.test_error == pytest.approx(T * (T + 1) * (s.estimation_error + 0.4 / 2), rel=1e-9)


@evaluates(
    r"""s = \mathtt{scale}\, (x - c)_+, \qquad \delta = \frac{\sqrt{\hat q}}{\hat m}, \qquad
    c = \frac{2 \tilde\lambda}{\hat m}, \qquad \mathtt{scale} = \frac{\hat m}{\hat\Sigma}""",
    r"\mathtt{rank} = \int_c^\infty \mu_\delta(dx)",
    r"""\mathtt{train\_loss} = \alpha\, \mathtt{train\_error}
    + \tilde\lambda \int_c^\infty \mathtt{scale}\, (x - c)\, \mu_\delta(dx)""",
)
def test_the_spectrum_is_that_of_a_noisy_target_cut_and_scaled():
    problem = ps.attention(MP, alpha=0.5, weight_decay=0.01, noise=0.5, kappa=0.9)
    s = ps.solve(problem)
    lambda_tilde = sqrt(0.9) * 0.01
    delta, c, scale = sqrt(s.q_hat) / s.m_hat, 2 * lambda_tilde / s.m_hat, s.m_hat / s.Sigma_hat
    assert (s.delta, s.cutoff, s.scale) == pytest.approx((delta, c, scale), rel=1e-12)
    # The noisy target by hand: a large matrix, whose eigenvalues x are cut and scaled.
    d, rng = 1500, np.random.default_rng(0)
    G = rng.standard_normal((d, d))
    x = np.linalg.eigvalsh(sample_target(MP, d, rng) + delta * (G + G.T) / sqrt(2 * d))
    kept = scale * np.maximum(x - c, 0.0)
    assert np.mean(kept > 0) == pytest.approx(s.rank, abs=2e-3)
    assert kept.mean() == pytest.approx(s.spectrum.moment(1), rel=5e-3)
    assert s.train_loss == pytest.approx(0.5 * s.train_error + lambda_tilde * s.spectrum.moment(1), rel=1e-5)


@evaluates(
    r"""\mathtt{replicon} = \frac{2 \alpha\, \mathbb E\, \|\partial p/\partial z - 1\|_F^2}{\Sigma^2\, \hat\Sigma^2}
    \iint \mu_\delta(dx)\, \mu_\delta(dy) \left( \frac{(x - c)_+ - (y - c)_+}{x - y} \right)^2"""
)
def test_the_replicon_is_an_average_of_squared_slopes():
    problem = ps.quadratic_network(MP, alpha=0.5, weight_decay=0.1, noise=0.5)
    s = ps.solve(problem)
    slope = 1 / (1 + 4 * s.Sigma) - 1  # of p in z, for a linear output
    x, mass = np.linspace(-4.0, 8.0, 2001), np.zeros(2001)
    mass[:] = np.diff(FreeConvolution(MP, s.delta).cdf(np.append(x, x[-1]) + 0.5 * (x[1] - x[0])), prepend=0.0)[:-1]
    xi = np.maximum(x - s.cutoff, 0.0)
    ratio = np.subtract.outer(xi, xi) / (np.subtract.outer(x, x) + np.eye(len(x)))
    ratio[np.diag_indices(len(x))] = x > s.cutoff
    by_hand = 2 * 0.5 * slope**2 / (s.Sigma * s.Sigma_hat) ** 2 * (mass @ ratio**2 @ mass)
    assert mass.sum() == pytest.approx(1.0, abs=1e-6)
    assert s.replicon == pytest.approx(by_hand, rel=5e-3)


@evaluates(
    r"""\alpha_{\mathrm{eff}} = L\, \alpha \ \ (\text{linear}), \qquad
    \alpha_{\mathrm{eff}} = (L - 1)\, \alpha \ \ (\text{softmax}), \qquad L = \frac{T (T + 1)}{2}""",
    r"""\alpha_{\mathrm{eff}} = \frac{1}{2}, \qquad
    \alpha_{\mathrm{eff}} = \frac{1}{2} \Big( 1 - \sum_i w_i^2 \Big), \qquad
    \alpha_{\mathrm{eff}} = k \Big( \frac{1}{2} + \frac{\Delta}{4 Q_0} \Big)""",
)
@pytest.mark.parametrize("T", [2, 3])
def test_thresholds_count_components(T):
    L = T * (T + 1) // 2
    for problem, count in (
        (ps.linear_attention(MP, alpha=1.0, weight_decay=0.1, noise=0.4, n_tokens=T), L),
        (ps.attention(MP, alpha=1.0, weight_decay=0.1, noise=0.4, n_tokens=T), L - 1),
    ):
        found = ps.thresholds(problem)
        assert found.unfactorized_recovery * count == pytest.approx(1 / 2)
        assert found.bayes_recovery * count == pytest.approx((1 - 0.5**2) / 2)  # one atom: half of all at zero
        assert found.weak_recovery == 0.0  # the rank is not low
        low = ps.thresholds(problem.replace(target=ps.MarchenkoPastur(0.05)))
        assert low.weak_recovery * count == pytest.approx(0.05 * (1 / 2 + 0.4 / (4 * 1.05)))


@evaluates(
    r"""J(\delta, c) = \int_c^\infty (x - c)^2\, \mu_\delta(dx), \qquad
    I(\delta, c) = \int_c^\infty (x - c)\, h(x)\, \mu_\delta(dx)""",
    r"""\alpha_{\mathrm{eff}} = I(\delta, 0) \quad\text{with}\quad
    Q_0 + \frac{\Delta}{2} = J(\delta, 0) - 2 \delta^2 I(\delta, 0)""",
)
def test_interpolation_by_the_two_integrals():
    def integrals(delta, c):
        free = FreeConvolution(MP, delta)
        x = np.linspace(c, 3.2 + 3 * delta, 40_001)
        rho = free.density(x)
        h = np.real(free.stieltjes(x + 1e-9j))
        return np.trapezoid((x - c) ** 2 * rho, x), np.trapezoid((x - c) * h * rho, x)

    J, I = integrals(0.8, 0.3)
    there = functionals(MP, 0.8, 0.3)
    assert pytest.approx((there.J, there.I), rel=1e-4) == (J, I)

    def excess(delta):
        J, I = integrals(delta, 0.0)
        return J - 2 * delta**2 * I - (1.5 + 0.4 / 2)

    delta = scipy.optimize.brentq(excess, 0.05, 3.0, xtol=1e-6)
    found = ps.thresholds(ps.quadratic_network(MP, alpha=1.0, weight_decay=0.1, noise=0.4))
    assert found.interpolation == pytest.approx(integrals(delta, 0.0)[1], rel=1e-3)


@evaluates(
    r"""\alpha_{\mathrm{eff}} = \frac{1}{2} \left[ 1 - (1-k)^2 (M_2 - c M_1) \right], \qquad
    M_1 - c M_0 + \frac{c}{1-k} = 0""",
    r"M_j = \int_{-2}^{c} x^j\, \frac{\sqrt{4 - x^2}}{2 \pi}\, dx",
)
@pytest.mark.parametrize("k", [0.2, 0.5])
def test_perfect_recovery(k):
    def M(j, c):
        return scipy.integrate.quad(lambda x: x**j * sqrt(4 - x * x) / (2 * pi), -2, c)[0]

    c = scipy.optimize.brentq(lambda c: M(1, c) - c * M(0, c) + c / (1 - k), 0.0, 2.0)
    alpha = (1 - (1 - k) ** 2 * (M(2, c) - c * M(1, c))) / 2
    found = ps.thresholds(ps.quadratic_network(ps.MarchenkoPastur(k), alpha=1.0, weight_decay=0.1))
    assert found.perfect_recovery == pytest.approx(alpha, rel=1e-8)


@evaluates(
    r"""\delta^2 = \frac{\operatorname{MMSE}(\delta^2) + \Delta/2}{2\, \alpha_{\mathrm{eff}}}, \qquad
    \operatorname{MMSE}(t) = t - \frac{4 \pi^2}{3}\, t^2 \int \rho_{\sqrt t}(x)^3\, dx"""
)
@pytest.mark.parametrize(
    ("problem", "count"),
    [
        (ps.attention(MP, alpha=0.3, weight_decay=0.1, noise=0.5), 2),
        (ps.linear_attention(MP, alpha=0.3, weight_decay=0.1, noise=0.5), 3),
    ],
    ids=["softmax", "linear"],
)
def test_the_best_of_all_methods(problem, count):
    best = ps.bayes_optimal(problem)
    t = best.delta**2
    x = np.linspace(-4.0, 7.0, 200_001)
    mmse = t - 4 * pi**2 / 3 * t**2 * np.trapezoid(FreeConvolution(MP, best.delta).density(x) ** 3, x)
    assert best.mmse == pytest.approx(mmse, rel=1e-4)
    assert t == pytest.approx((best.mmse + 0.5 / 2) / (2 * count * 0.3), rel=1e-6)


S_FLOW, EPS = np.array([1.3, 0.6, 0.2, 0.0]), 0.01
FLOWING = ps.linear_attention(ps.Empirical(S_FLOW), alpha=1.0, weight_decay=0.1, noise=0.4, n_tokens=2)


@evaluates(
    r"\theta = \frac{4\, T (T + 1)\, t}{d\, \sqrt{m\, d}}, \qquad \frac{dW}{d\theta} = (S_0 - S)\, W",
)
def test_the_clock_of_a_flow():
    """Gradient descent along the mean loss, by differences of it, is so much of that velocity."""
    d, m, T = 4, 5, 2
    W, S_0 = np.random.default_rng(0).standard_normal((d, m)), np.diag(S_FLOW)

    def mean_loss(W):
        return T * (T + 1) * (np.sum((W @ W.T / sqrt(m * d) - S_0) ** 2) / d + 0.2)

    velocity, h = (S_0 - W @ W.T / sqrt(m * d)) @ W, 1e-6
    for i, k in ((0, 0), (2, 4), (3, 1)):
        step = np.zeros((d, m))
        step[i, k] = h
        slope = (mean_loss(W + step) - mean_loss(W - step)) / (2 * h)
        assert -slope == pytest.approx(velocity[i, k] * 4 * T * (T + 1) / (d * sqrt(m * d)), rel=1e-6)
    # That mean loss is the test error that a trajectory has at S = eps 1, and that samples show.
    start = ps.trajectory(FLOWING, steps=1, trainer=ps.PopulationFlow(eps=EPS)).test_error[0]
    assert start == pytest.approx(mean_loss(sqrt(EPS) * (m * d) ** 0.25 * np.eye(d, m)), rel=1e-9)


@evaluates(
    r"""S(\theta) = e^{S_0 \theta}\, V \left[ 1 + V^\top S_0^{-1} \left( e^{2 S_0 \theta} - 1 \right) V \right]^{-1}
    V^\top e^{S_0 \theta}""",
)
def test_the_riccati_equation():
    s, theta = np.array([1.3, 0.6, 0.2]), 1.7
    S_0, V = np.diag(s), 0.3 * np.random.default_rng(0).standard_normal((3, 2))
    grown = scipy.linalg.expm(S_0 * theta)
    inside = np.eye(2) + V.T @ np.linalg.inv(S_0) @ (scipy.linalg.expm(2 * S_0 * theta) - np.eye(3)) @ V
    S = grown @ V @ np.linalg.inv(inside) @ V.T @ grown
    found = riccati(s, V, theta)
    np.testing.assert_allclose(found @ found.T, S, rtol=1e-10)


@evaluates(
    r"""s_i(\theta) = \frac{s_i\, \epsilon\, e^{2 s_i \theta}}{s_i + \epsilon \left( e^{2 s_i \theta} - 1 \right)},
    \qquad \theta_i = \frac{1}{2 s_i} \ln \left( \frac{s_i}{\epsilon} - 1 \right)""",
    r"""\mathtt{local\_exponent} = \frac{d \ln \|S - S_0\|_F^2}{d \ln \theta} =
    - \frac{4\, \theta\, \|(S_0 - S)\, V(\theta)\|_F^2}{\|S - S_0\|_F^2}, \qquad S = V(\theta)\, V(\theta)^\top""",
)
def test_eigenvalues_of_a_flow():
    s, theta = S_FLOW[:3], 2.5

    def S(time):
        return np.append(
            s * EPS * np.exp(2 * s * time) / (s + EPS * (np.exp(2 * s * time) - 1)), EPS / (1 + 2 * EPS * time)
        )

    way = ps.trajectory(FLOWING, steps=1, trainer=ps.PopulationFlow(eps=EPS, until=theta))
    assert way.estimation_error[1] == pytest.approx(np.mean((S(theta) - S_FLOW) ** 2), rel=1e-9)
    half = [log(one / EPS - 1) / (2 * one) for one in s]
    np.testing.assert_allclose([S(time)[i] for i, time in enumerate(half)], 0.5 * s, rtol=1e-10)
    assert way.learned[1] == pytest.approx(np.mean(np.array(half) < theta))
    left, V = np.diag(S_FLOW - S(theta)), np.diag(np.sqrt(S(theta)))
    exponent = -4 * theta * np.sum((left @ V) ** 2) / np.sum(left**2)
    h = 1e-5
    errors = [np.sum((S(theta * exp(sign * h)) - S_FLOW) ** 2) for sign in (1, -1)]
    assert exponent == pytest.approx(log(errors[0] / errors[1]) / (2 * h), rel=1e-6)
    assert way.local_exponent[1] == pytest.approx(exponent, rel=1e-9)


@evaluates(
    r"\epsilon_i = \frac{w^2\, (m - i + 1)}{\sqrt{m\, d}}, \qquad i \le m",
    r"""s_* = \frac{1}{2 \theta} \ln \frac{s_*}{\epsilon}, \qquad
    \|S - S_0\|_F^2 \approx \frac{s_*^{2 - 1/\gamma}}{2 \gamma - 1}""",
    r"""\mathtt{local\_exponent} \approx - \Big( 2 - \frac{1}{\gamma} \Big) \frac{l}{l - 1}, \qquad
    l = \ln \frac{s_*}{\epsilon}""",
)
def test_starts_and_fronts():
    np.testing.assert_allclose(gaussian_starts(3, 5, 0.2), [0.04 * (3 - i + 1) / sqrt(15) for i in (1, 2, 3)])
    # The last column of W, orthogonal to those before it, is what feature i = m grows from.
    W = np.random.default_rng(0).standard_normal((4000, 3, 3))
    last = [1 / np.linalg.inv(each @ each.T)[2, 2] for each in W]
    assert np.mean(last) == pytest.approx(3 - 3 + 1, rel=0.05)
    gamma, eps, theta = 1.2, 1e-10, 500.0
    s = float(front(eps, np.array(theta)))
    assert s == pytest.approx(log(s / eps) / (2 * theta), rel=1e-10)
    assert front_error(gamma, eps, theta) == pytest.approx(s ** (2 - 1 / gamma) / (2 * gamma - 1), rel=1e-10)
    length = log(s / eps)
    assert front_exponent(gamma, eps, theta) == pytest.approx(-(2 - 1 / gamma) * length / (length - 1), rel=1e-10)
    problem = ps.quadratic_network(ps.PowerLaw(gamma, 20_000, normalized=False), alpha=1.0, weight_decay=0.1)
    way = ps.trajectory(problem, steps=1, trainer=ps.PopulationFlow(eps=eps, until=theta))
    assert 20_000 * way.estimation_error[1] == pytest.approx(front_error(gamma, eps, theta), rel=0.08)
    assert way.local_exponent[1] == pytest.approx(front_exponent(gamma, eps, theta), rel=0.02)


@evaluates(r"s \leftarrow s\, \left( 1 + \eta\, (s_i - s) \right)^2")
def test_steps_of_descent():
    s, W = np.full(4, EPS), sqrt(EPS) * 2.0 * np.eye(4)  # (m d)^(1/4) = 2
    for _ in range(3):
        s = s * (1 + 0.4 * (S_FLOW - s)) ** 2
        W = W + 0.4 * (np.diag(S_FLOW) - W @ W.T / 4.0) @ W
    np.testing.assert_allclose(W @ W.T / 4.0, np.diag(s), atol=1e-14)
    way = ps.trajectory(FLOWING, steps=3, trainer=ps.PopulationDescent(rate=0.4, eps=EPS))
    assert way.estimation_error[3] == pytest.approx(np.mean((s - S_FLOW) ** 2), rel=1e-10)


def marchenko_pastur(phi, f):
    """The integral of a function over the law of curvatures, its atom included."""
    low, high = (1 - sqrt(phi)) ** 2, (1 + sqrt(phi)) ** 2
    density = lambda x: sqrt(max((high - x) * (x - low), 0.0)) / (2 * pi * phi * x)  # noqa: E731
    return scipy.integrate.quad(lambda x: f(x) * density(x), low, high, limit=400)[0] + max(1 - 1 / phi, 0) * f(0.0)


@evaluates(
    r"""\varphi = \frac{1}{2 \alpha L}, \qquad \tau = 4\, \alpha L\, d\; t, \qquad
    \mu(dx) = \frac{\sqrt{(x_+ - x)(x - x_-)}}{2 \pi \varphi\, x}\, dx, \qquad x_\pm = (1 \pm \sqrt\varphi)^2""",
    r"""g(x) = \frac{r + x\, e^{-(x + r) \tau}}{x + r}, \qquad
    g(x) = \frac{r + x\, (1 - \eta\, (x + r))^k}{x + r}, \qquad r = \varphi\, \tau_F""",
    r"""\mathtt{estimation\_error} = Q_0 \int g^2\, \mu +
    \frac{\Delta}{2}\, \varphi \int_{x > 0} \frac{(1 - g)^2}{x}\, \mu""",
    r"""\mathtt{train\_error} = 2 L \left\{ Q_0 \int x\, g^2\, \mu +
    \frac{\Delta}{2} \left[ 1 - \varphi + \varphi \int g^2\, \mu \right] \right\}""",
)
@pytest.mark.parametrize(("alpha", "ridge"), [(0.3, 0.5), (0.1, 0.5), (0.3, 0.0), (0.1, 0.0)])
def test_the_way_of_a_matrix(alpha, ridge):
    problem = ps.unfactorized_linear_attention(MP, alpha=alpha, ridge=ridge, noise=0.4, n_tokens=2)
    L, Q_0 = 3, 1.5
    phi = 1 / (2 * alpha * L)
    r = phi * ridge
    ways = {
        ps.MatrixFlow(until=1.5): lambda x: (r + x * exp(-(x + r) * 1.5)) / (x + r) if x + r else 1.0,
        ps.MatrixDescent(rate=0.2, until=6): lambda x: (r + x * (1 - 0.2 * (x + r)) ** 6) / (x + r) if x + r else 1.0,
    }
    for trainer, g in ways.items():
        way = ps.trajectory(problem, steps=1, trainer=trainer)
        noise = marchenko_pastur(phi, lambda x, g=g: (1 - g(x)) ** 2 / x if x else 0.0)
        estimation = Q_0 * marchenko_pastur(phi, lambda x, g=g: g(x) ** 2) + 0.2 * phi * noise
        assert way.estimation_error[1] == pytest.approx(estimation, rel=1e-6)
        labels = 1 - phi + phi * marchenko_pastur(phi, lambda x, g=g: g(x) ** 2)
        train = 2 * L * (Q_0 * marchenko_pastur(phi, lambda x, g=g: x * g(x) ** 2) + 0.2 * labels)
        assert way.train_error[1] == pytest.approx(train, rel=1e-6)


def test_the_mean_curvature_is_that_of_data():
    """``4 alpha L d`` of a symmetric direction of length one, in the mean over data."""
    S_0, d, n, T = np.zeros((12, 12)), 12, 4000, 2
    samples = sample(S_0, ps.Linear(T), n, np.random.default_rng(0), tokens=ps.Gaussian())
    objective = Objective(samples, ps.Linear(T), ps.Frobenius(0.0), d)
    direction = np.random.default_rng(1).standard_normal((d, d))
    direction = (direction + direction.T) / np.linalg.norm(direction + direction.T)
    curvature = np.sum(direction * objective.at_S(direction).gradient)
    assert mean_curvature(objective) == pytest.approx(4 * (n / d**2) * 3 * d, rel=1e-12)
    assert curvature == pytest.approx(mean_curvature(objective), rel=0.05)


@evaluates(
    r"\mathtt{test\_error} \to e^{\beta_0^2 \rho_0} + e^{\beta^2 q} - 2\, e^{\beta_0 \beta\, m}, \qquad T \to \infty",
)
def test_many_tokens():
    """Rows of sampled scores; the value is one of the theory, and at few tokens it is far from it."""
    rho_0, m, q, beta_0, beta = 1.0, 0.7, 0.8, 1.0, 1.0
    limit = exp(beta_0**2 * rho_0) + exp(beta**2 * q) - 2 * exp(beta_0 * beta * m)
    assert limit == pytest.approx(0.9163, abs=5e-4)
    rng, root = np.random.default_rng(0), np.linalg.cholesky([[rho_0, m], [m, q]])

    def sampled(T, rows):
        z_0, z = np.tensordot(root, rng.standard_normal((2, rows, T)), 1)
        return float(np.mean(T * np.sum((scipy.special.softmax(z_0, 1) - scipy.special.softmax(z, 1)) ** 2, axis=1)))

    assert sampled(8192, 200) == pytest.approx(limit, rel=0.02)
    assert sampled(16, 20_000) < 0.8 * limit
