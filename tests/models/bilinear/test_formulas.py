"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.bilinear.experiment.measurements import draw_labels, draw_measurements
from presage.models.bilinear.experiment.training import train_factors, train_proximal
from presage.protocol.ensemble import streams
from tests.page_formulas import evaluates

d, b, N, DELTA = 6, 2.0, 30, 0.4
L = 12
TARGET, SQUARE = ps.GaussianProduct(0.5, b), ps.GaussianProduct(0.5)
REGRESSION = ps.bilinear_regression(TARGET, alpha=0.8, noise=DELTA, weight_decay=0.2)
UNTIED = {
    pairs: ps.untied_linear_attention(SQUARE, alpha=0.8, noise=DELTA, weight_decay=0.2, n_tokens=2, pairs=pairs)
    for pairs in ("cross", "distinct", "all")
}
PROBLEMS = {"regression": REGRESSION, **UNTIED}


@evaluates(
    r"Q_0 = \frac{\|M_0\|_F^2}{\sqrt{d L}} \to \frac{1}{\sqrt b} \int x^2\, \nu_0(dx)",
    r"S_0 = \frac{U V}{\sqrt r}, \qquad S = (d L)^{1/4} M",
)
def test_targets_and_their_size():
    rng, again = np.random.default_rng(0), np.random.default_rng(0)
    M_0 = TARGET.sample(L, d, rng)
    S_0 = again.standard_normal((L, 3)) @ again.standard_normal((3, d)) / sqrt(3)
    np.testing.assert_allclose((d * L) ** 0.25 * M_0, S_0, rtol=1e-12)
    large = TARGET.sample(1200, 600, rng)
    values = np.linalg.svd(large, compute_uv=False)
    assert np.sum(large**2) / sqrt(1200 * 600) == pytest.approx(np.mean(values**2) / sqrt(b), rel=1e-12)
    assert pytest.approx(np.mean(values**2) / sqrt(b), rel=0.01) == REGRESSION.Q_0


@evaluates(
    r"""y = \frac{\langle X, M_0 \rangle}{(d L)^{1/4}} + \sqrt{\Delta}\, \xi
    = \frac{\langle X, S_0 \rangle}{\sqrt{d L}} + \sqrt{\Delta}\, \xi""",
    r"X_{ij}, \xi \sim \mathcal N(0, 1)",
)
def test_labels_of_a_regression():
    measurements = draw_measurements(REGRESSION, d, N, np.random.default_rng(1))
    X = np.random.default_rng(1).standard_normal((N, L, d))
    M_0 = TARGET.sample(L, d, np.random.default_rng(0))
    xi = np.random.default_rng(2).standard_normal(N)
    labels = draw_labels(measurements, M_0, DELTA, np.random.default_rng(2))[:, 0]
    S_0 = (d * L) ** 0.25 * M_0
    for mu in range(N):
        noisy = sqrt(DELTA) * xi[mu]
        assert labels[mu] == pytest.approx(np.sum(X[mu] * M_0) / (d * L) ** 0.25 + noisy, rel=1e-10)
        assert labels[mu] == pytest.approx(np.sum(X[mu] * S_0) / sqrt(d * L) + noisy, rel=1e-10)


@evaluates(
    r"y_{ab} = \frac{q_a^\top M_0\, k_b}{\sqrt d} + \sqrt{\Delta}\, \xi_{ab}",
    r"""y_{ab} = \frac{q_a^\top M_0\, q_b - \delta_{ab} \operatorname{Tr} M_0}{\sqrt d} + \sqrt{\Delta}\, \xi_{ab}""",
)
@pytest.mark.parametrize("pairs", UNTIED)
def test_labels_of_attention(pairs):
    problem, T = UNTIED[pairs], 2
    measurements = draw_measurements(problem, d, N, np.random.default_rng(1))
    again = np.random.default_rng(1)
    q = again.standard_normal((N, T, d))
    k = again.standard_normal((N, T, d)) if pairs == "cross" else q
    M_0 = SQUARE.sample(d, d, np.random.default_rng(0))
    xi = np.random.default_rng(2).standard_normal((N, T, T))
    labels = draw_labels(measurements, M_0, DELTA, np.random.default_rng(2)).reshape(N, T, T)
    for mu in range(N):
        for a in range(T):
            for b in range(T):
                taken_off = np.trace(M_0) if pairs == "all" and a == b else 0.0
                y = (q[mu, a] @ M_0 @ k[mu, b] - taken_off) / sqrt(d) + sqrt(DELTA) * xi[mu, a, b]
                seen = pairs != "distinct" or a != b
                assert labels[mu, a, b] == pytest.approx(y if seen else 0.0, rel=1e-9)


def outputs(problem, rng, n, M):
    """Outputs without noise, n x scores, entry by entry, of samples drawn from `rng`."""
    if problem.n_tokens is None:
        X = rng.standard_normal((n, M.size))
        return np.array([[x @ M.ravel() / M.size**0.25] for x in X])
    q = rng.standard_normal((n, 2, len(M)))
    k = rng.standard_normal((n, 2, len(M))) if problem.pairs == "cross" else q
    scores = np.array([qs @ M @ ks.T for qs, ks in zip(q, k, strict=True)]) / sqrt(len(M))
    if problem.pairs == "all":
        scores -= np.eye(2) * np.trace(M) / sqrt(len(M))
    if problem.pairs == "distinct":
        scores *= 1 - np.eye(2)
    return scores.reshape(n, 4)


@evaluates(
    r"""\mathcal L(W_1, W_2) = \sum_{\mu=1}^{n} \sum_{a,b} (y^\mu_{ab} - \hat y^\mu_{ab})^2
    + \lambda \left( \|W_1\|_F^2 + \|W_2\|_F^2 \right)""",
    r"M = \frac{W_1 W_2^\top}{\sqrt{d L}}",
    r"""\mathcal L(M) = \sum_{\mu=1}^{n} \sum_{a,b} (y^\mu_{ab} - \hat y^\mu_{ab})^2
    + 2 \lambda \sqrt{d L}\, \|M\|_*""",
    r"\mathbb E \sum_{a,b} (y_{ab} - \hat y_{ab})^2_{\mathrm{new}}",
    r"\mathcal L/(d L)",
    r"\frac{1}{n} \sum_{\mu} \sum_{a,b} (y^\mu_{ab} - \hat y^\mu_{ab})^2",
    r"\|S - S_0\|_F^2/(d L) = \|M - M_0\|_F^2/\sqrt{d L}",
    r"\#\{i : s_i(M) \ne 0\}/d",
)
@pytest.mark.parametrize("name", PROBLEMS)
def test_trained_matrices_measure_what_the_page_defines(name):
    problem, n_test, decay = PROBLEMS[name], 300, 0.2
    found = ps.simulate(problem, d=d, seeds=[4], n_test=n_test, processes=1)
    for_target, for_data, for_trainer, for_test = streams(4, d)
    entries = d * (L if name == "regression" else d)
    n = round(0.8 * entries)
    measurements = draw_measurements(problem, d, n, for_data)
    M_0 = problem.target.sample(entries // d, d, for_target)
    labels = draw_labels(measurements, M_0, DELTA, for_data)
    fit = train_proximal(measurements, labels, decay, for_trainer)
    M, values = fit.M, np.linalg.svd(fit.M, compute_uv=False)
    error = np.sum((labels - outputs(problem, streams(4, d)[1], n, M)) ** 2)
    whole = error + 2 * decay * sqrt(entries) * values.sum()
    fresh, noise = for_test, sqrt(DELTA)
    test = outputs(problem, fresh, n_test, M_0 - M)
    xi = fresh.standard_normal(test.shape)
    seen = (1 - np.eye(2)).ravel() if name == "distinct" else 1.0
    assert found.test_error[0] == pytest.approx(np.sum((test + noise * xi * seen) ** 2) / n_test, rel=1e-9)
    assert found.train_error[0] == pytest.approx(error / n, rel=1e-9)
    assert found.train_loss[0] == pytest.approx(whole / entries, rel=1e-9)
    assert found.estimation_error[0] == pytest.approx(np.sum((M - M_0) ** 2) / sqrt(entries), rel=1e-9)
    S, S_0 = entries**0.25 * M, entries**0.25 * M_0
    assert found.estimation_error[0] == pytest.approx(np.sum((S - S_0) ** 2) / entries, rel=1e-9)
    assert found.rank[0] == pytest.approx(np.mean(values > 1e-8), abs=1e-12)
    # The two factors have the same minimum, and balanced factors pay that nuclear norm.
    left, values, right = np.linalg.svd(M, full_matrices=False)
    W_1, W_2 = left * np.sqrt(values) * entries**0.25, right.T * np.sqrt(values) * entries**0.25
    np.testing.assert_allclose(W_1 @ W_2.T / sqrt(entries), M, atol=1e-12)
    assert error + decay * (np.sum(W_1**2) + np.sum(W_2**2)) == pytest.approx(whole, rel=1e-9)
    factors = train_factors(measurements, labels, decay, np.random.default_rng(0))
    assert factors.loss == pytest.approx(whole, rel=1e-5)


@evaluates(
    r"""\alpha_{\mathrm{eff}} = p\, \alpha, \qquad p = 1\ (\text{regression}),\quad T^2\ (\text{cross}),\quad
    T(T-1)\ (\text{distinct})""",
    r"\mathtt{test\_error} = p \left( \mathtt{estimation\_error} + \Delta \right)",
)
def test_samples_count_by_their_scores():
    for name, p in {"regression": 1, "cross": 4, "distinct": 2}.items():
        s = ps.solve(PROBLEMS[name])
        assert PROBLEMS[name].alpha_eff == pytest.approx(p * 0.8)
        assert s.test_error == pytest.approx(p * (s.estimation_error + DELTA), rel=1e-12)


@evaluates(
    r"""\alpha_{\mathrm{eff}}\, \delta^2 = \Delta + \mathtt{estimation\_error}, \qquad
    \lambda = c\, (\alpha_{\mathrm{eff}} - I)""",
    r"I = \frac{1}{b} \int_c^\infty (x - c) \left[ \frac{b-1}{x} + 2 h(x) \right] \nu(dx)",
    r"""\mathtt{rank} = \int_c^\infty \nu(dx), \qquad \mathtt{train\_loss} = \alpha\, \mathtt{train\_error}
    + \frac{2 \lambda}{\sqrt b} \int_c^\infty (x - c)\, \nu(dx)""",
    r"\alpha\, \mathtt{train\_error} = \frac{\delta^2 \lambda^2}{c^2}",
)
@pytest.mark.parametrize("name", ["regression", "cross"])
def test_the_limit_is_a_noisy_target_with_its_singular_values_cut(name):
    problem, decay = PROBLEMS[name], 0.2
    s, aspect = ps.solve(problem), problem.target.aspect
    assert problem.alpha_eff * s.delta**2 == pytest.approx(DELTA + s.estimation_error, rel=1e-8)
    assert 0.8 * s.train_error == pytest.approx((s.delta * decay / s.cutoff) ** 2, rel=1e-8)
    # The noisy target by hand: a large matrix; the principal value is a sum over the other singular values.
    rows, rng = round(aspect * 700), np.random.default_rng(0)
    Z = rng.standard_normal((rows, 700)) / (rows * 700) ** 0.25
    x = np.linalg.svd(problem.target.sample(rows, 700, rng) + s.delta * Z, compute_uv=False)
    squares = np.subtract.outer(x**2, x**2)
    np.fill_diagonal(squares, np.inf)
    h = x * np.sum(1 / squares, axis=1) / 700
    kept = np.maximum(x - s.cutoff, 0.0)
    I = np.mean(kept * ((aspect - 1) / x + 2 * h)) / aspect
    assert decay == pytest.approx(s.cutoff * (problem.alpha_eff - I), rel=0.02)
    assert s.rank == pytest.approx(np.mean(kept > 0), abs=5e-3)
    assert s.train_loss == pytest.approx(0.8 * s.train_error + 2 * decay / sqrt(aspect) * kept.mean(), rel=5e-3)


@evaluates(
    r"""\alpha_{\mathrm{eff}} = \frac{r (1 + b - r)}{b} - \sum_i \frac{w_i^2}{2 b}, \qquad
    \alpha_{\mathrm{eff}} = \frac{(Q_0 + \Delta)\, r}{\sqrt b\, Q_0}"""
)
def test_recovery_by_the_best_method():
    r = 0.5
    found = ps.thresholds(REGRESSION)
    assert found.strong_recovery == pytest.approx(r * (1 + b - r) / b)
    assert found.weak_recovery == 0.0  # the rank is not low
    low = ps.thresholds(REGRESSION.replace(rank=0.05))
    assert low.weak_recovery == pytest.approx((1 + DELTA) * 0.05 / sqrt(b))
    assert ps.thresholds(UNTIED["cross"]).strong_recovery == pytest.approx(r * (2 - r) / 4)
    atoms = ps.SingularValueMasses([0.0, 1.0, 2.0], [0.5, 0.2, 0.3])
    found = ps.thresholds(ps.bilinear_regression(atoms, alpha=0.5))
    assert found.strong_recovery == pytest.approx(r * (2 - r) - (0.2**2 + 0.3**2) / 2)


@evaluates(
    r"""\alpha_{\mathrm{eff}} = r + \frac{r - r^2}{b}
    + \Big( 1 - \frac{r}{b} \Big) \left[ r l^2 + (1 - r)(P_1 - 2 l P_{1/2} + l^2 P_0) \right]""",
    r"P_{1/2} - l P_0 = \frac{l\, r}{1 - r}",
)
def test_the_least_nuclear_norm():
    r = 0.5
    gamma = (1 - r) / (b - r)
    low, high = (1 - sqrt(gamma)) ** 2, (1 + sqrt(gamma)) ** 2

    def P(k, l):
        def weight(t):
            return t**k * sqrt(max((high - t) * (t - low), 0.0)) / (2 * pi * gamma * t)

        return scipy.integrate.quad(weight, max(low, l * l), high, limit=200)[0]

    l = scipy.optimize.brentq(lambda l: P(0.5, l) - l * P(0, l) - l * r / (1 - r), 1e-6, sqrt(high))
    bracket = r * l * l + (1 - r) * (P(1, l) - 2 * l * P(0.5, l) + l * l * P(0, l))
    assert ps.thresholds(REGRESSION).minimal_nuclear_norm == pytest.approx(
        r + (r - r * r) / b + (1 - r / b) * bracket, rel=1e-6
    )


@evaluates(r"\alpha_{\mathrm{eff}}\, \delta^2 = \Delta + \operatorname{MMSE}(\delta)")
@pytest.mark.parametrize("name", ["regression", "cross"])
def test_the_best_of_all_methods(name):
    problem = PROBLEMS[name]
    best = ps.bayes_optimal(problem)
    assert problem.alpha_eff * best.delta**2 == pytest.approx(DELTA + best.mmse, rel=1e-8)
    # MMSE by hand: the denoiser of a large noisy matrix misses the target by that.
    rows, rng = round(problem.target.aspect * 400), np.random.default_rng(0)
    M_0 = problem.target.sample(rows, 400, rng)
    noisy = M_0 + best.delta * rng.standard_normal(M_0.shape) / M_0.size**0.25
    left, values, right = np.linalg.svd(noisy, full_matrices=False)
    estimate = (left * best.denoiser(values, best.delta)) @ right
    assert np.sum((estimate - M_0) ** 2) / sqrt(M_0.size) == pytest.approx(best.mmse, rel=0.02)


def marchenko_pastur(phi, f):
    """The integral of a function over the law of curvatures, its atom included."""
    low, high = (1 - sqrt(phi)) ** 2, (1 + sqrt(phi)) ** 2
    density = lambda x: sqrt(max((high - x) * (x - low), 0.0)) / (2 * pi * phi * x)  # noqa: E731
    return scipy.integrate.quad(lambda x: f(x) * density(x), low, high, limit=400)[0] + max(1 - 1 / phi, 0) * f(0.0)


@evaluates(
    r"""\varphi = \frac{1}{\alpha_{\mathrm{eff}}}, \qquad \tau = 2\, \alpha_{\mathrm{eff}} \sqrt{d L}\; t, \qquad
    \mu(dx) = \frac{\sqrt{(x_+ - x)(x - x_-)}}{2 \pi \varphi\, x}\, dx, \qquad x_\pm = (1 \pm \sqrt\varphi)^2""",
    r"g(x) = e^{-x \tau}, \qquad g(x) = (1 - \eta x)^k",
    r"""\mathtt{estimation\_error} = Q_0 \int g^2\, \mu + \Delta\, \varphi \int_{x > 0} \frac{(1 - g)^2}{x}\, \mu""",
    r"""\mathtt{train\_error} = p \left\{ Q_0 \int x\, g^2\, \mu +
    \Delta \left[ 1 - \varphi + \varphi \int g^2\, \mu \right] \right\}""",
    r"\varphi_\pm = \frac{1}{\alpha\, T (T \pm 1)}, \qquad \tau_\pm = \frac{T \pm 1}{T}\, \tau",
)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_way_of_a_matrix(name):
    problem, tau, eta, T = PROBLEMS[name], 1.5, 0.2, 2
    p = {"regression": 1, "cross": 4, "distinct": 2}.get(name)
    blocks = [(1 / (0.8 * p), 1.0, problem.Q_0, DELTA, p)] if p else []
    if name == "all":
        half = (problem.Q_0 / 2, DELTA / 2)
        blocks = [(1 / (0.8 * T * (T + one)), (T + one) / T, *half, T * (T + one)) for one in (1, -1)]
    for trainer in (ps.MatrixFlow(until=tau), ps.MatrixDescent(rate=eta, until=6)):
        way, estimation, train = ps.trajectory(problem, steps=1, trainer=trainer), 0.0, 0.0
        flows = isinstance(trainer, ps.MatrixFlow)
        for phi, speed, Q_0, noise, weight in blocks:

            def g(x, speed=speed, flows=flows):
                return np.exp(-x * speed * tau) if flows else (1 - eta * speed * x) ** 6

            spent = marchenko_pastur(phi, lambda x, g=g: (1 - g(x)) ** 2 / x if x else 0.0)
            left = marchenko_pastur(phi, lambda x, g=g: g(x) ** 2)
            estimation += Q_0 * left + noise * phi * spent
            seen = marchenko_pastur(phi, lambda x, g=g: x * g(x) ** 2)
            train += weight * (Q_0 * seen + noise * (1 - phi + phi * left))
        assert way.estimation_error[1] == pytest.approx(estimation, rel=1e-6)
        assert way.train_error[1] == pytest.approx(train, rel=1e-6)


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_mean_curvature_is_that_of_data(name):
    """A unit of the clock takes a direction away in the mean: ``2 alpha_eff sqrt(d L)`` is its curvature."""
    problem, n = PROBLEMS[name], 4000
    measurements = draw_measurements(problem, 8, n, np.random.default_rng(0))
    direction = np.random.default_rng(1).standard_normal(measurements.shape)
    direction /= np.linalg.norm(direction)
    curvature = 2 * np.sum(direction * measurements.transpose(measurements.forward(direction)))
    alpha = n / measurements.entries
    alpha_eff = alpha * problem.components
    assert curvature == pytest.approx(2 * alpha_eff * sqrt(measurements.entries), rel=0.12)
