"""Errata: a witness for each of docs/errata.md, which agrees with the corrected formula and not with the printed one.

Equation numbers are those of [BETKZ25].
"""

from __future__ import annotations

from functools import cache
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq, minimize_scalar, root

import presage as ps
from presage.models.attention.channels.hardmax import normal_pair_cdf
from presage.models.attention.theory.replicon import weight_factor
from presage.spectra.symmetric.learned import LearnedSpectrum

MP = ps.MarchenkoPastur(0.5)
# A target whose d eigenvalues are the same in every network: what is left of the finite size is of order 1/d.
ATOMS = ps.PointMasses([0.0, 1.0, 2.0], [0.5, 0.25, 0.25])
TRAINED = ps.attention(ATOMS, alpha=10.0, weight_decay=0.01, noise=0.5)
Floats = NDArray[np.float64]


@cache
def networks() -> ps.Ensemble:
    """Four trained attention layers: a witness that knows nothing of the equations."""
    ensemble = ps.simulate(TRAINED, d=40, seeds=4, processes=1)
    assert ensemble.converged.all()
    return ensemble


@cache
def prediction() -> ps.Solution:
    return ps.solve(TRAINED)


def goe(d: int, rng: np.random.Generator) -> Floats:
    """A symmetric matrix with a semicircle of radius 2."""
    G = rng.standard_normal((d, d))
    return np.asarray((G + G.T) / sqrt(2 * d))


def wishart(d: int, rng: np.random.Generator) -> Floats:
    """A target with the law MP(1/2)."""
    W = rng.standard_normal((d, d // 2))
    return np.asarray(W @ W.T / sqrt(d // 2 * d))


def pairs(rho_0: float, m: float, q: float, shape: tuple[int, int], rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Gaussian components (z_0, z) of covariance [[rho_0, m], [m, q]], as in (9)."""
    a, b = rng.standard_normal((2, *shape))
    return sqrt(rho_0) * a, m / sqrt(rho_0) * a + sqrt(q - m * m / rho_0) * b


def softmax(x: Floats) -> Floats:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def derivatives(law: ps.SpectralLaw, delta: float, c: float) -> tuple[float, float, float]:
    """J and its derivatives in delta and c, by central differences of J alone."""

    def J(delta: float, c: float) -> float:
        return ps.functionals(law, delta, c).J

    h = 1e-4
    return (
        J(delta, c),
        (J(delta + h, c) - J(delta - h, c)) / (2 * h),
        (J(delta, c + h) - J(delta, c - h)) / (2 * h),
    )


def test_erratum_1_the_root_of_two_is_in_the_activation_already():
    """(54), (56), (58): print has sigma~(sqrt2 z); right is sigma~(z), as in (8), (11) and (12).

    A sqrt2 inside both softmaxes is another temperature, beta = beta_0 = sqrt2. First a pair of matrices and actual
    tokens for the formula of the error, then trained networks for the proximal problem with all that follows from it.
    """
    d, n, rng = 120, 60_000, np.random.default_rng(1)
    S_0 = wishart(d, rng)
    S = 0.6 * S_0 + 0.4 * goe(d, rng)
    x = rng.standard_normal((2, n, d))

    def scores(A: Floats) -> Floats:
        rows = [[np.sum((x[a] @ A) * x[b], axis=1) - (a == b) * np.trace(A) for b in (0, 1)] for a in (0, 1)]
        return np.moveaxis(np.array(rows), 2, 0) / sqrt(d)

    seen = np.mean(np.sum((softmax(scores(S_0)) - softmax(scores(S))) ** 2, axis=(1, 2)))
    rho_0, m, q = np.sum(S_0 * S_0) / d, np.sum(S * S_0) / d, np.sum(S * S) / d
    z_0, z = pairs(rho_0, m, q, (n, 3), rng)
    channel = ps.Softmax(2)
    right, printed = (np.mean(channel.loss_at(factor * z_0, factor * z)) for factor in (1.0, sqrt(2)))
    assert right == pytest.approx(seen, rel=0.02)
    assert printed > 1.3 * seen

    e, s = networks(), prediction()
    twice = ps.solve(TRAINED.replace(beta=sqrt(2), beta_0=sqrt(2)))
    for name in ("test_error", "train_error", "train_loss"):
        trained = np.mean(getattr(e, name))
        assert getattr(s, name) == pytest.approx(trained, rel=0.04), name
        assert getattr(twice, name) > 1.3 * trained, name


def test_erratum_2_the_penalty_of_the_eigenvalues_is_divided_by_d():
    """(39), (44): print has R(T)/d^2 in the map phi; right is R(T)/d.

    At a minimum of sum (y - Tr S Z)^2 + R(S), R = d lambda~ Tr S over S >= 0, found by proximal gradient steps, the
    residuals f make Theta = (sqrt2/d) sum Z f + Lambda S, and S = phi(Theta, Lambda) for every Lambda.
    """
    d, n, lambda_tilde, rng = 16, 200, 0.3, np.random.default_rng(2)
    Z = np.array([goe(d, rng) for _ in range(n)])
    y = np.tensordot(Z, wishart(d, rng)) + 0.3 * rng.standard_normal(n)
    step = 0.5 / np.linalg.norm(Z.reshape(n, -1), 2) ** 2
    S = np.zeros((d, d))
    for _ in range(3000):
        values, vectors = np.linalg.eigh(S + 2 * step * np.tensordot(y - np.tensordot(Z, S), Z, 1))
        S = (vectors * np.maximum(values - step * d * lambda_tilde, 0.0)) @ vectors.T
    assert 2 < np.sum(values > step * d * lambda_tilde) < d

    f = 2 * sqrt(2) * (y - np.tensordot(Z, S))  # -dl/dz in the components z = Tr(S Z)/sqrt2
    Lambda = 1.7
    field, vectors = np.linalg.eigh(sqrt(2) / d * np.tensordot(f, Z, 1) + Lambda * S)

    def phi(divisor: int) -> Floats:
        def least(D: float) -> float:
            def objective(T: float) -> float:
                return d * lambda_tilde * T / divisor + Lambda / 4 * T * T - T * D / 2

            inside = minimize_scalar(objective, bounds=(0.0, abs(D) + 1.0), method="bounded", options={"xatol": 1e-10})
            return float(inside.x) if inside.fun < 0.0 else 0.0

        return np.asarray((vectors * [least(float(D)) for D in field]) @ vectors.T)

    size = np.linalg.norm(S)
    assert np.linalg.norm(phi(d) - S) < 1e-5 * size
    assert np.linalg.norm(phi(d * d) - S) > 0.1 * size


def test_erratum_3_after_the_rescaling_no_lambda_is_left_in_m():
    """(57), (64), (65): print has -lambda~ dJ/dc in m; right is -dJ/dc. The witness is a matrix of d = 1000.

    In (64) and (65) the third and the fourth line begin with Sigma_hat and are for Sigma Sigma_hat: the third by the
    response of that matrix, the fourth by the proximal map of the softmax at large Sigma.
    """
    m_hat, q_hat, Sigma_hat, lambda_tilde, d = 3.0, 4.0, 2.5, 0.01, 1000
    rng = np.random.default_rng(3)
    S_0 = wishart(d, rng)
    values, vectors = np.linalg.eigh(m_hat * S_0 + sqrt(q_hat) * goe(d, rng))
    kept = np.maximum(values - 2.0, 0.0) / Sigma_hat
    m = np.sum(((vectors * kept) @ vectors.T) * S_0) / d
    J, J_1, J_2 = derivatives(MP, sqrt(q_hat) / m_hat, 2.0 / m_hat)
    right, printed = ((m_hat * J - factor * J_2 - sqrt(q_hat) / 2 * J_1) / Sigma_hat for factor in (1.0, lambda_tilde))
    assert right == pytest.approx(m, rel=0.01)
    assert printed < 0.8 * m

    gaps = values[:, None] - values
    np.fill_diagonal(gaps, 1.0)
    slopes = (kept[:, None] - kept) / gaps
    np.fill_diagonal(slopes, (kept > 0) / Sigma_hat)
    Sigma = slopes.mean()
    third = m_hat / (2 * sqrt(q_hat)) * J_1
    assert third == pytest.approx(Sigma * Sigma_hat, rel=0.01)
    assert third < 0.5 * Sigma_hat

    alpha, rho_0, m, q, Sigma, T = 0.3, 1.7, 0.9, 1.2, 1e4, 3
    channel = ps.Softmax(T)
    z_0, z = pairs(rho_0, m, q, (40_000, channel.n_in), rng)
    p = channel.prox(z_0, z, Sigma)
    moved = np.mean(np.sum((rho_0 * z - m * z_0) * p, axis=1)) / (rho_0 * q - m * m)
    conjugate = 2 * alpha / Sigma * (channel.n_in - moved)  # Sigma_hat by (43)
    fourth = 2 * alpha * (channel.n_in - 1)
    assert fourth == pytest.approx(Sigma * conjugate, rel=0.02)
    assert fourth > 1e3 * conjugate


@pytest.mark.parametrize("beta", [0.7, 2.0])
def test_erratum_4_a_softmax_is_inverted_by_logarithms(beta):
    """(61): print has the ratios y_ab/y_aT + y_Ta/y_TT; right are their logarithms, up to the common shift x_TT."""
    rng = np.random.default_rng(4)
    R = rng.standard_normal((3, 3))
    R = R + R.T
    y = softmax(beta * R)
    ratios = y / y[:, -1:], np.broadcast_to((y[-1] / y[-1, -1])[:, None], y.shape)
    right = (np.log(ratios[0]) + np.log(ratios[1])) / beta
    printed = (ratios[0] + ratios[1]) / beta
    printed[:, -1] = printed[-1] = y[-1] / y[-1, -1] / beta
    printed[-1, -1] = 0.0
    np.testing.assert_allclose(right + R[-1, -1], R, atol=1e-13)
    np.testing.assert_allclose(softmax(beta * right), y, atol=1e-14)
    assert np.abs(printed + R[-1, -1] - R).max() > 0.5
    assert np.abs(softmax(beta * printed) - y).max() > 0.2


def test_erratum_5_the_noise_level_is_the_root_of_q_hat_over_m_hat():
    """(10), (13), Claim 1: print has the index sqrt(q_hat/m_hat); right is sqrt(q_hat)/m_hat.

    Eigenvalues of trained networks for (13), the matrix m_hat S_0 + sqrt(q_hat) GOE in units of m_hat for (10).
    """
    e, s = networks(), prediction()
    m_hat, q_hat, _ = s.conjugates
    levels = (np.arange(e.d) + 0.5) / e.d
    trained = e.eigenvalues.mean(axis=0)

    def distance(delta: float) -> float:
        law = LearnedSpectrum(ps.FreeConvolution(ATOMS, delta), s.scale, s.cutoff)
        return float(np.sqrt(np.mean((law.quantile(levels) - trained) ** 2)))

    right, printed = sqrt(q_hat) / m_hat, sqrt(q_hat / m_hat)
    assert distance(right) < 0.015
    assert distance(printed) > 0.09

    d, rng = 800, np.random.default_rng(5)
    S_0 = np.diag(np.repeat([0.0, 1.0, 2.0], [d // 2, d // 4, d // 4]))
    x = np.linalg.eigvalsh(m_hat * S_0 + sqrt(q_hat) * goe(d, rng)) / m_hat
    rise, gaps = np.maximum(x - s.cutoff, 0.0), x[:, None] - x
    np.fill_diagonal(gaps, 1.0)
    slopes = (rise[:, None] - rise) / gaps
    np.fill_diagonal(slopes, x > s.cutoff)
    seen = np.mean(slopes**2)
    assert weight_factor(ATOMS, right, s.cutoff) == pytest.approx(seen, rel=0.01)
    assert abs(weight_factor(ATOMS, printed, s.cutoff) / seen - 1) > 0.04


@pytest.mark.parametrize("n_tokens", [2, 3])
def test_erratum_6_a_free_matrix_recovers_at_one_half_of_the_labels_it_sees(n_tokens):
    """(68), section 4: print has |S - S_0|^2/d = Q_0 (1 - 2 alpha); right is Q_0 (1 - 2 (L_in - 1) alpha).

    A clean softmax label fixes R up to a shift: L_in - 1 linear equations a sample. The ridge that vanishes picks
    their solution of least norm, found here by least squares.
    """
    d, rng = 24, np.random.default_rng(6)
    rows, columns = np.triu_indices(d)
    weight = np.where(rows == columns, 1.0, sqrt(2.0))  # of an orthonormal basis of the symmetric matrices
    a, b = np.triu_indices(n_tokens)
    seen = len(a) - 1

    def error(alpha: float) -> float:
        """|S - S_0|^2/|S_0|^2 of one matrix."""
        S_0 = wishart(d, rng)
        x = rng.standard_normal((round(alpha * d * d), n_tokens, d))
        product = np.einsum("nai,naj->naij", x[:, a], x[:, b])
        product = (product + product.swapaxes(2, 3)) / 2 - (a == b)[:, None, None] * np.eye(d)
        equations = ((product[:, :-1] - product[:, -1:])[..., rows, columns] * weight).reshape(-1, len(rows))
        truth = weight * S_0[rows, columns]
        found = np.linalg.lstsq(equations, equations @ truth, rcond=1e-12)[0]
        return float(np.sum((found - truth) ** 2) / np.sum(truth**2))

    for fraction in (0.5, 0.8):
        alpha = fraction / (2 * seen)
        trained = np.mean([error(alpha) for _ in range(5)])
        assert 1 - 2 * seen * alpha == pytest.approx(trained, abs=0.06)
        assert 1 - 2 * alpha > trained + 0.18
    above = 1.2 / (2 * seen)
    assert error(above) < 1e-16
    assert 1 - 2 * above > 0.3


def test_erratum_7_the_test_error_and_the_epsilon_of_the_talk():
    """The talk's test error, 2 alpha delta^2 - Delta/2, is |S - S_0|^2/d; a fresh sample costs twice that + Delta.

    Its epsilon is 2/m_hat: the cutoff of the spectrum is lambda~ epsilon, while epsilon in [BETKZ25] is the cutoff.
    Both equations of the talk are solved as they stand, and compared with trained quadratic networks.
    """
    alpha, noise, decay = 2.0, 0.5, 0.1
    problem = ps.quadratic_network(ATOMS, alpha=alpha, weight_decay=decay, noise=noise)
    e = ps.simulate(problem, d=80, seeds=3, processes=1)

    def equations(point: Floats) -> list[float]:
        delta, epsilon = np.exp(point)
        J, J_1, J_2 = derivatives(ATOMS, delta, decay * epsilon)
        left = problem.Q_0 + noise / 2 + 2 * alpha * delta**2 - delta**2 / epsilon
        return [4 * alpha * delta - delta / epsilon - J_1, left - (J - epsilon * decay * J_2)]

    delta, epsilon = np.exp(root(equations, np.log([0.3, 0.3])).x)
    talk = 2 * alpha * delta**2 - noise / 2
    assert talk == pytest.approx(np.mean(e.estimation_error), rel=0.08)
    assert 2 * talk + noise == pytest.approx(np.mean(e.test_error), rel=0.03)
    assert talk < 0.5 * np.mean(e.test_error)

    rank = [1.0 - ps.FreeConvolution(ATOMS, delta).cdf(cutoff) for cutoff in (decay * epsilon, epsilon)]
    assert rank[0] == pytest.approx(np.mean(e.rank), abs=0.03)
    assert abs(rank[1] - np.mean(e.rank)) > 0.08
    assert ps.solve(problem).conjugates.m_hat == pytest.approx(2 / epsilon, rel=1e-5)


def test_erratum_8_the_score_of_a_hard_maximum_is_a_slope():
    """Published Bayes-optimal numbers: the score is a bivariate density; right is the slope of log Phi_2.

    Message passing on actual tokens reaches the error that belongs to the slope; the fixed point with the density is
    at more than twice that error. The slope itself is tested by differences in bayes/test_bayes.py.
    """
    alpha, channel, denoiser = 0.5, ps.Hardmax(), ps.Denoiser(MP)
    problem = ps.hardmax_attention(MP, alpha=alpha)
    a, b = np.random.default_rng(8).standard_normal((2, 50_000, 3))
    V = 1.0
    for _ in range(30):
        omega = sqrt(problem.Q_0 - V) * a
        s = channel.signs(omega + sqrt(V) * b)
        k, r = s * (sqrt(2) * omega[:, [0, 2]] - omega[:, [1]]) / sqrt(3 * V), s[:, 0] * s[:, 1] / 3
        exponent = (k[:, 0] ** 2 - 2 * r * k[:, 0] * k[:, 1] + k[:, 1] ** 2) / (2 * (1 - r * r))
        density = np.exp(-exponent) / (2 * np.pi * np.sqrt(1 - r * r)) / normal_pair_cdf(k[:, 0], k[:, 1], r)
        V = denoiser.mmse(1 / sqrt(2 * alpha * np.mean((6 + 6 * r) * density**2) / (3 * V)))
    right, printed = ps.bayes_optimal(problem).mmse, V
    reached = np.mean(ps.simulate(problem, d=60, seeds=4, trainer=ps.BayesAMP(denoiser), processes=1).estimation_error)
    assert right == pytest.approx(reached, rel=0.15)
    assert printed > 2 * reached


def test_erratum_9_the_test_error_at_the_interpolation_point():
    """Quoted as 0.5089; right is 0.5011: a matrix of d = 1500 and a million Gaussian samples, and no solver.

    At the threshold S is the positive part of S_0 + delta GOE with delta from (16). Five digits, and continuity from
    both sides, are in test_ridgeless.py::test_the_limit_is_continuous_at_interpolation.
    """

    def excess(delta: float) -> float:
        J, J_1, _ = derivatives(MP, delta, 0.0)
        return J - delta / 2 * J_1 - (MP.second_moment + 0.25)

    delta, d, rng = brentq(excess, 0.5, 5.0), 1500, np.random.default_rng(9)
    S_0 = wishart(d, rng)
    values, vectors = np.linalg.eigh(S_0 + delta * goe(d, rng))
    S = (vectors * np.maximum(values, 0.0)) @ vectors.T
    rho_0, m, q = np.sum(S_0 * S_0) / d + 0.25, np.sum(S * S_0) / d, np.sum(S * S) / d
    seen = np.mean(ps.Softmax(2).loss_at(*pairs(rho_0, m, q, (1_000_000, 3), rng)))
    assert seen == pytest.approx(0.5011, abs=2e-3)
    assert abs(seen - 0.5089) > 5e-3


def test_erratum_10_the_eigenvalues_carry_the_factor_m_hat_over_sigma_hat():
    """(13): print has eigenvalues (x - c)_+; right is (m_hat/Sigma_hat) (x - c)_+, by (53).

    The second moment of trained networks and each of their eigenvalues; theory/test_solution.py has that it is q.
    """
    e, s = networks(), prediction()
    right, printed = (LearnedSpectrum(s.spectrum.free, scale, s.cutoff) for scale in (s.scale, 1.0))
    trained = np.mean(e.eigenvalues**2)
    assert s.scale < 0.9
    assert right.moment(2) == pytest.approx(trained, rel=0.02)
    assert printed.moment(2) > 1.25 * trained
    levels = (np.arange(e.d) + 0.5) / e.d
    gaps = [np.sqrt(np.mean((law.quantile(levels) - e.eigenvalues.mean(axis=0)) ** 2)) for law in (right, printed)]
    assert gaps[0] < 0.015
    assert gaps[1] > 0.12


def test_erratum_11_the_ridge_is_multiplied_by_d():
    """(20): print has the penalty lambda |S|^2; right is d tau |S|^2, to which (66) and (67) belong.

    Matrices trained with d tau |S|^2 keep to the prediction of tau at both d; those trained with tau |S|^2 are those
    of a ridge tau/d, and leave it the further the larger d is.
    """
    tau = 0.1
    problem = ps.unfactorized_attention(ATOMS, alpha=1.0, ridge=tau, noise=0.5)
    q = ps.solve(problem).overlaps.q
    right, printed = (
        [np.mean(ps.simulate(problem.replace(ridge=ridge(d)), d=d, seeds=3, processes=1).q) for d in (16, 48)]
        for ridge in (lambda d: tau, lambda d: tau / d)
    )
    np.testing.assert_allclose(right, q, rtol=0.05)
    assert 2 * q < printed[0] < printed[1]
    unpenalised = ps.solve(problem.replace(ridge=1e-5)).overlaps.q
    assert printed[1] == pytest.approx(unpenalised, rel=0.15)


def test_erratum_12_the_error_of_a_learned_feature_has_a_factor_of_two():
    """The talk's error decomposition: print has (t/s - c)^2 + (t/s)(s + t/s - c); right is twice the last term.

    One feature s in noise of variance t = delta^2: the distance of (top eigenvalue - c) v v' from s u u'.
    """
    s, delta, c, d = 2.0, 0.5, 1.0, 400
    errors = []
    for seed in range(10):
        noisy = delta * goe(d, np.random.default_rng(seed))
        noisy[0, 0] += s
        values, vectors = np.linalg.eigh(noisy)
        kept = values[-1] - c
        errors.append(kept**2 - 2 * kept * s * vectors[0, -1] ** 2 + s**2)
    push = delta**2 / s
    right, printed = ((push - c) ** 2 + factor * push * (s + push - c) for factor in (2, 1))
    assert right == pytest.approx(np.mean(errors), rel=0.03)
    assert printed < 0.9 * np.mean(errors)
