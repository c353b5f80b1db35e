"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from math import exp, factorial, sqrt

import numpy as np
import pytest
import scipy
from numpy.polynomial import hermite_e

import presage as ps
from presage.models.multi_index.experiment import readout
from presage.models.multi_index.experiment.outside import directions
from presage.models.multi_index.experiment.samples import clean_labels, draw_features, draw_labels, weighted_covariance
from presage.models.multi_index.experiment.simulate import weights
from presage.models.multi_index.gaussian_means import moments
from presage.models.multi_index.label_law import label_law
from presage.models.multi_index.preprocessing import preprocessing, weights_of
from presage.models.multi_index.theory.outliers import outliers, weak_outliers
from presage.models.multi_index.theory.scaling import exponent, one_by_one
from presage.models.multi_index.thresholds import weak_signal_threshold
from presage.protocol.ensemble import streams
from tests.page_formulas import evaluates

BALANCED = ps.CosineLink(exp(1.5) / 4.0)
PROBLEM = ps.multi_index(ps.AbsoluteLink(), alpha=60.0, features=3, decay=0.8, noise=0.4, signal=1.5)
EQUAL = ps.committee(ps.HermiteLink(2), alpha=30.0, features=2)


@evaluates(
    r"""y = \bar y + \sqrt{\Delta}\, \xi, \qquad \bar y(x) = \sqrt{\lambda} \sum_{k=1}^{p} a_k\, f(z_k), \qquad
    z_k = w_k \cdot x, \quad x \sim \mathcal N(0, 1_d), \quad n = \alpha\, d""",
    r"a_k = k^{-\gamma} \quad (\gamma > \tfrac12), \qquad a_k = p^{-1/2} \quad (\gamma = 0)",
)
def test_labels():
    z, y = draw_labels(PROBLEM, 50, np.random.default_rng(0))
    again = np.random.default_rng(0)
    assert np.array_equal(z, again.standard_normal((50, 3)))
    xi, a = again.standard_normal(50), [k**-0.8 for k in (1, 2, 3)]
    by_hand = [sqrt(1.5) * sum(a[k] * abs(z[mu, k]) for k in range(3)) + sqrt(0.4) * xi[mu] for mu in range(50)]
    assert y == pytest.approx(by_hand, rel=1e-12)
    assert EQUAL.sizes == pytest.approx([2**-0.5] * 2)
    assert PROBLEM.samples(20) == 1200


@evaluates(
    r"""T_{\mathrm{identity}} = u, \qquad T_{\mathrm{bounded}} = \frac{u}{\sqrt{1 + u^2/9}}, \qquad
    T_{\mathrm{hermite}} = \mathrm{He}_{\beta}(u), \qquad T_{\mathrm{best}} = 1 - \frac{1}{\mathbb E[z^2 \mid y]}"""
)
def test_weights_of_labels():
    u = np.linspace(-3.0, 3.0, 7)
    assert preprocessing(PROBLEM.replace(preprocessing="identity"))(u) == pytest.approx(u)
    assert preprocessing(PROBLEM.replace(preprocessing="bounded"))(u) == pytest.approx(u / np.sqrt(1 + u**2 / 9))
    two = PROBLEM.replace(preprocessing="hermite", link=BALANCED)
    assert preprocessing(two)(u) == pytest.approx(u**2 - 1)
    best = ps.single_index(ps.AbsoluteLink(), alpha=1.0, preprocessing="best")
    law = label_law(best)
    some = slice(20, -20, 10)
    assert preprocessing(best)(law.u[some]) == pytest.approx(1 - 1 / (1 + law.excess[0][some]), rel=1e-6)
    assert PROBLEM.label_variance == pytest.approx(1.5 * (1 - 2 / np.pi) * sum(PROBLEM.sizes**2) + 0.4)


@evaluates(
    r"C = \frac{1}{n} \sum_{\mu=1}^{n} T(y^\mu) \left( x^\mu x^{\mu \top} - 1 \right)",
    r"\mathbb E\, (\hat y(x) - \bar y(x))^2_{\mathrm{new}}",
    r"\sum_k a_k^2 (1 - \|P w_k\|^2) \big/ \sum_k a_k^2",
    r"\frac{1}{p_1} \sum_{j \le p_1} |\lambda_j(C)| \big/ \sqrt{\mathbb E\, T^2}",
    r"\#\{j : \lambda_j(C) \notin [\lambda_-, \lambda_+]\}",
)
@pytest.mark.parametrize("problem", [PROBLEM, EQUAL])
def test_estimators_measure_what_the_page_defines(problem):
    d, seed, n_test = 30, 5, 4000
    found = ps.simulate(problem, d=d, seeds=[seed], n_test=n_test, processes=1)
    for_target, for_data, for_readout, for_test = streams(seed, d)
    W = draw_features(problem.features, d, for_target)
    z, y = draw_labels(problem, problem.samples(d), for_data)
    T = weights(problem, y)
    again = np.random.default_rng(7)
    C = weighted_covariance(T, z, W, again)
    x = held_samples(z, W, np.random.default_rng(7))
    by_hand = sum(T[mu] * (np.outer(x[mu], x[mu]) - np.eye(d)) for mu in range(len(T))) / len(T)
    assert np.abs(C - by_hand).max() < 1e-5
    C = weighted_covariance(T, z, W, for_data)
    values = np.linalg.eigvalsh(C)
    outside = directions(C, T, above_only=False, equal=problem.largest)
    V = outside.vectors
    a, P = problem.sizes, V @ V.T
    unlearned = sum(a[k] ** 2 * (1 - np.sum((P @ W[:, k]) ** 2)) for k in range(len(a))) / sum(a**2)
    assert found.unlearned[0] == pytest.approx(unlearned, rel=1e-9)
    top = np.sort(np.abs(values))[-problem.largest :].mean() / sqrt(np.mean(T**2))
    assert found.top_eigenvalue[0] == pytest.approx(top, rel=1e-9)
    assert found.recovered[0] == V.shape[1] == np.sum(np.isin(np.round(values, 10), np.round(outside.values, 10)))
    seen, width = readout.Coordinates(W, V), readout.column_count(V.shape[1], problem)
    fitted = readout.fit(problem, seen, width, problem.samples(d), 1e-6, for_readout)
    new_z, new_s = next(seen.draw(n_test, width, for_test))
    errors = readout.columns(new_s, problem) @ fitted - clean_labels(problem, new_z)
    assert found.excess_risk[0] == pytest.approx(np.mean(errors**2), rel=1e-9)


def held_samples(z: np.ndarray, W: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The samples behind the streamed matrix, all at once: eight parts, each from its own stream."""
    n, parts = len(z), rng.spawn(8)
    fresh = [parts[i].standard_normal((n * (i + 1) // 8 - n * i // 8, len(W)), dtype=np.float32) for i in range(8)]
    x = np.concatenate(fresh).astype(np.float64)
    return np.asarray(x + (z - x @ W) @ W.T)


@evaluates(
    r"""\psi(l) = l \left( \frac{1}{\alpha} + \mathbb E\, \frac{T}{l - T} \right), \qquad
    \mathbb E\, \frac{T^2}{(\bar l - T)^2} = \frac{1}{\alpha}, \qquad
    \mathbb E\, \frac{T\, (z_k^2 - 1)}{l_k - T} = \frac{1}{\alpha}""",
    r"\|P w_k\|^2 = \frac{1/\alpha - \mathbb E\, T^2/(l_k - T)^2}{1/\alpha + \mathbb E\, T^2 (z_k^2 - 1)/(l_k - T)^2}",
)
def test_outliers():
    """Each equation solved again by bisection, over the law of the labels."""
    law = label_law(PROBLEM)
    T, alpha = weights_of(PROBLEM, law), PROBLEM.alpha

    def mean(values):
        return law.weight @ values

    bar = scipy.optimize.brentq(lambda l: mean(T**2 / (l - T) ** 2) - 1 / alpha, T.max() + 0.2, 1e4, xtol=1e-12)
    found, size = ps.solve(PROBLEM), sqrt(mean(T**2))
    assert found.edge == pytest.approx(bar * (1 / alpha + mean(T / (bar - T))) / size, rel=1e-9)
    for k in range(3):
        pull = law.excess[k]
        l = scipy.optimize.brentq(lambda l, pull=pull: mean(T * pull / (l - T)) - 1 / alpha, bar, 1e4, xtol=1e-12)
        overlap = (1 / alpha - mean(T**2 / (l - T) ** 2)) / (1 / alpha + mean(T**2 * pull / (l - T) ** 2))
        assert found.overlaps[k] == pytest.approx(overlap, rel=1e-9)
        if k == 0:
            assert found.top_eigenvalue == pytest.approx(l * (1 / alpha + mean(T / (l - T))) / size, rel=1e-9)


@evaluates(
    r"""\mathtt{excess\_risk} = \lambda \sum_k a_k^2 \Big[ \operatorname{Var} f - \sum_{\ell=1}^{D} f_\ell^2\, h_\ell\,
    \|P w_k\|^{2 \ell} \Big]"""
)
def test_excess_risk():
    found = ps.solve(PROBLEM)
    z, w = hermite_nodes()
    f = [w @ (np.abs(z) * hermite_e.hermeval(z, [0.0] * l + [1.0])) / sqrt(factorial(l)) for l in range(7)]
    variance = 1 - 2 / np.pi
    by_hand = 1.5 * sum(
        PROBLEM.sizes[k] ** 2 * (variance - sum(f[l] ** 2 * found.overlaps[k] ** l for l in range(1, 7)))
        for k in range(3)
    )
    assert found.excess_risk == pytest.approx(by_hand, rel=1e-6)


def hermite_nodes() -> tuple[np.ndarray, np.ndarray]:
    z = np.linspace(-10, 10, 200_001)
    return z, np.exp(-(z**2) / 2) / sqrt(2 * np.pi) * (z[1] - z[0])


@evaluates(
    r"""\alpha_k = \frac{\mathbb E\, T^2}{\theta_k^2}, \qquad \|P w_k\|^2 = 1 - \frac{\alpha_k}{\alpha}, \qquad
    \alpha_k^{\mathrm{identity}} = \frac{V_y}{\lambda\, a_k^2\, c_2^2}""",
    r"\frac{1}{\alpha_k} = \mathbb E_y \left[ \left( \mathbb E[z_k^2 - 1 \mid y] \right)^2 \right]",
    r"""\beta = \min \{ b \ge 1 : \mathbb E[f(z)^b (z^2 - 1)] \ne 0 \}, \qquad
    \alpha_{\mathrm{Alg}} = \frac{\beta!}{\lambda^{\beta} \left( \mathbb E[f^{\beta} (z^2 - 1)] \right)^2}""",
)
def test_thresholds():
    law, found = label_law(PROBLEM), ps.thresholds(PROBLEM)
    T = weights_of(PROBLEM, law)
    theta = [law.weight @ (T * law.excess[k]) for k in range(3)]
    assert found.weak == pytest.approx([(law.weight @ T**2) / theta[k] ** 2 for k in range(3)], rel=1e-9)
    assert weak_outliers(PROBLEM).overlap == pytest.approx(1 - found.weak / PROBLEM.alpha, rel=1e-9)
    c_2 = sqrt(2 / np.pi)
    closed = [PROBLEM.label_variance / (1.5 * PROBLEM.sizes[k] ** 2 * c_2**2) for k in range(3)]
    assert ps.thresholds(PROBLEM.replace(preprocessing="identity")).alpha == pytest.approx(closed, rel=1e-7)
    assert found.best == pytest.approx([1 / (law.weight @ law.excess[k] ** 2) for k in range(3)], rel=1e-12)
    z, w = hermite_nodes()
    for link, b in ((ps.AbsoluteLink(), 1), (BALANCED, 2)):
        assert [abs(w @ (link(z) ** power * (z**2 - 1))) > 1e-9 for power in range(1, b + 1)] == [False] * (b - 1) + [
            True
        ]
        assert ps.noise_sensitivity(link).exponent == b
        formula = factorial(b) / (0.2**b * (w @ (link(z) ** b * (z**2 - 1))) ** 2)
        assert weak_signal_threshold(ps.single_index(link, alpha=1.0, signal=0.2)) == pytest.approx(formula, rel=1e-6)


@evaluates(
    r"""R - R_{\mathrm{floor}} = \lambda\, K^{1 - 2 \gamma} \sum_{\ell \le D} f_\ell^2 \left[
    \frac{1}{2 \gamma - 1} + \int_0^1 u^{-2 \gamma}
    \left( 1 - (1 - u^{2 \beta \gamma})^{\ell} \right) du \right]
    \sim \alpha^{-\frac{1}{\beta} \left( 1 - \frac{1}{2 \gamma} \right)}"""
)
@pytest.mark.parametrize(("gamma", "b"), [(0.8, 1), (1.3, 1), (1.0, 2)])
def test_scaling_law(gamma, b):
    problem, K = PROBLEM.replace(decay=gamma, features=50), 7.0
    f = moments(problem.link).coefficients
    total = 0.0
    for l in range(1, problem.readout_degree + 1):
        inner = scipy.integrate.quad(lambda u, l=l: u ** (-2 * gamma) * (1 - (1 - u ** (2 * b * gamma)) ** l), 0, 1)[0]
        total += f[l] ** 2 * (1 / (2 * gamma - 1) + inner)
    assert one_by_one(problem, K, b) == pytest.approx(1.5 * K ** (1 - 2 * gamma) * total, rel=1e-6)
    doubled = one_by_one(problem, K * 2 ** (1 / (2 * b * gamma)), b)  # twice the samples
    assert np.log2(doubled / one_by_one(problem, K, b)) == pytest.approx(exponent(gamma, b), rel=1e-9)
    assert exponent(gamma, b) == pytest.approx(-(1 / b) * (1 - 1 / (2 * gamma)))


def test_overlaps_of_both_sides_add_up():
    """Outliers are looked for above the bulk and below it."""
    assert outliers(PROBLEM).overlap == pytest.approx(ps.solve(PROBLEM).overlaps)
