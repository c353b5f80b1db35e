"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import comb, factorial, prod, sqrt

import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval

import presage as ps
from presage.models.compositional.experiment.coordinates import HermiteCoordinates, QuadraticForms, coordinates_of
from presage.models.compositional.experiment.krylov import Found
from presage.models.compositional.experiment.layers import outputs, predicted, second_layer, upper_layers, used_labels
from presage.models.compositional.experiment.samples import FirstLayer, Samples
from presage.models.compositional.experiment.target import Target, draw_target
from presage.models.compositional.theory.moments import moments
from tests.page_formulas import evaluates

PROBLEM = ps.compositional(alpha=40.0, features=3, decay=0.7)
D, ALPHA = 55, 40.0


def draws(problem: ps.CompositionalProblem, count: int = 1_000_000) -> tuple[np.ndarray, np.ndarray]:
    """Features and the second layer of many samples."""
    h = np.random.default_rng(0).standard_normal((count, problem.features))
    return h, (h**2 - 1) @ problem.strengths / sqrt(2)


def mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means over samples, and four standard errors."""
    return values.mean(axis=0), 4 * values.std(axis=0) / sqrt(len(values))


@evaluates(
    r"""F_a(x) = \prod_{i=1}^{d} \frac{\mathrm{He}_{a_i}(x_i)}{\sqrt{a_i!}}, \quad \sum_i a_i = q, \qquad
    x \sim \mathcal N(0, 1_d), \qquad D = \binom{d + q - 1}{q}, \quad n = \alpha D"""
)
@pytest.mark.parametrize(("d", "q"), [(10, 2), (4, 3)])
def test_coordinates(d, q):
    source = HermiteCoordinates(d, q)
    x = np.random.default_rng(0).standard_normal((5, d)).astype(np.float32)
    F = source.of(x)
    for column, indices in enumerate(combinations_with_replacement(range(d), q)):
        a = [indices.count(i) for i in range(d)]
        value = prod(hermeval(x[:, i], [0] * k + [1]) / sqrt(factorial(k)) for i, k in enumerate(a))
        assert F[:, column] == pytest.approx(value, abs=1e-4)
    assert source.count == comb(d + q - 1, q) == PROBLEM.replace(degree=q).samples_at_one(d)
    assert PROBLEM.replace(degree=q).samples(d) == round(ALPHA * comb(d + q - 1, q))


@evaluates(
    r"""h_i = \langle A_i, F \rangle, \qquad h_2 = \frac{1}{\sqrt 2} \left( h^\top B h - \operatorname{Tr} B \right),
    \quad \|B\|_F = 1, \qquad y = \mathrm{link}(h_2)""",
    r"""\lambda_i = Z z_i\, i^{-g}, \qquad Z = \Big( \sum_{i=1}^{d_1} i^{-2g} \Big)^{-1/2}""",
)
def test_labels():
    problem = ps.dense_compositional(alpha=40.0, features=3, link=ps.TanhLink(2.0))
    source = coordinates_of(problem, 10)
    target = draw_target(problem, source, np.random.default_rng(0))
    samples = Samples(source, 20, 1, 3)
    F = samples.block(0)[1].astype(np.float64)
    h = F @ target.A
    second = [(row @ target.B @ row - np.trace(target.B)) / sqrt(2) for row in h]
    assert np.linalg.norm(target.B) == pytest.approx(1.0)
    assert samples.labels(target) == pytest.approx(np.tanh(2 * np.array(second)), abs=1e-5)
    for signs, z in (("positive", [1, 1, 1]), ("alternating", [1, -1, 1])):
        Z = sum(i ** (-2 * 0.7) for i in (1, 2, 3)) ** -0.5
        expected = [Z * sign * i**-0.7 for i, sign in zip((1, 2, 3), z, strict=True)]
        assert PROBLEM.replace(signs=signs).strengths == pytest.approx(expected)


@evaluates(
    r"""C = \frac{1}{n} \sum_{\mu=1}^{n} T^\mu \left( F^\mu F^{\mu\top} - 1 \right)""",
    r"""\langle A, F \rangle = \frac{1}{\sqrt 2} \langle S, X \rangle, \qquad
    C[S] = \frac{1}{2n} \sum_\mu T^\mu \left( \langle X^\mu, S \rangle X^\mu - 2 S \right), \qquad X = x x^\top - 1""",
)
def test_matrix_of_the_first_layer():
    source, n = QuadraticForms(6), 300
    samples = Samples(source, n, 5, 1)
    T = used_labels(np.random.default_rng(0).standard_normal(n) ** 3, 1.5)
    x = samples.block(0)[1].astype(np.float64)
    F = HermiteCoordinates(6, 2).of(samples.block(0)[1]).astype(np.float64)
    C = sum(t * (np.outer(f, f) - np.eye(21)) for t, f in zip(T, F, strict=True)) / n
    A = np.random.default_rng(1).standard_normal((21, 1))
    S = source.matrices(A)
    X = np.array([np.outer(row, row) - np.eye(6) for row in x])
    forms = np.einsum("mij,ij->m", X, S)
    assert F @ A[:, 0] == pytest.approx(forms / sqrt(2), abs=1e-4)
    image = sum(t * (form * one - 2 * S) for t, form, one in zip(T, forms, X, strict=True)) / (2 * n)
    product = FirstLayer(samples, T).times(A)
    assert product == pytest.approx(C @ A, abs=1e-4)
    assert source.matrices(product) == pytest.approx(image, abs=1e-4)


@evaluates(
    r"""\hat B = \frac{1}{n} \sum_\mu y^\mu \left( \hat h^\mu \hat h^{\mu\top} - 1 \right), \qquad
    \hat h_2 = \langle \hat B, \hat h \hat h^\top - 1 \rangle, \qquad \hat y = a + b\, \hat h_2"""
)
def test_layers_above():
    rng = np.random.default_rng(0)
    h, y = rng.standard_normal((500, 3)), rng.standard_normal(500)
    y = y - y.mean()
    B = sum(label * (np.outer(row, row) - np.eye(3)) for label, row in zip(y, h, strict=True)) / 500
    assert second_layer(h, y) == pytest.approx(B)
    second = np.array([np.sum(B * (np.outer(row, row) - np.eye(3))) for row in h])
    assert outputs(h, B) == pytest.approx(second)
    b, a = np.polyfit(second, y, 1)
    layers = upper_layers(Found(np.zeros(3), np.eye(3), 1, True), h, y, None)
    assert predicted(layers, h) == pytest.approx(a + b * second)


@evaluates(
    r"""\theta_i = \mathbb E\, T (h_i^2 - 1), \qquad s^2 = \frac{\mathbb E\, T^2}{\alpha}, \qquad
    n_i = D\, \frac{\mathbb E\, T^2}{\theta_i^2}""",
    r"""\mathbb E\, h_i^2 f(h_2) = \mathbb E\, f(h_2 + \sqrt 2\, \lambda_i\, \mathcal E)""",
)
def test_signals_and_noise():
    problem = PROBLEM.replace(link=ps.TanhLink(1.0))
    h, second = draws(problem)
    T = np.tanh(second)
    T = T - T.mean()
    signal, error = mean(T[:, None] * (h**2 - 1))
    assert np.all(np.abs(ps.solve(problem).signals - signal) < error)
    variance, error = mean(T**2)
    assert abs(moments(problem).variance - variance) < error
    assert (ps.solve(problem).edges[1] / 2) ** 2 == pytest.approx(moments(problem).variance / ALPHA)
    exact = ps.thresholds(problem).each * problem.samples_at_one(10)
    assert exact == pytest.approx(D * variance / signal**2, rel=0.02)
    exponential = np.random.default_rng(1).exponential(size=len(h))
    for i, strength in enumerate(problem.strengths):
        left, error = mean(h[:, i] ** 2 * np.tanh(second))
        right, other = mean(np.tanh(second + sqrt(2) * strength * exponential))
        assert abs(left - right) < sqrt(error**2 + other**2)


@evaluates(
    r"""\theta_i = \sqrt 2\, \lambda_i, \qquad r_i = \frac{\mathbb E\, T^2 h_i^2}{\mathbb E\, T^2} = 1 + 4 \lambda_i^2,
    \qquad n_i = \frac{D}{2 \lambda_i^2}""",
    r"""n_i = D\, \frac{\|B\|_F^2}{2 b_i^2}""",
    r"""\cos_i^2 = \frac{1 - n_i/n}{1 + (r_i - 1)\, n_i/n} \quad (n > n_i), \qquad
    \mu_i = \theta_i + \frac{r_i s^2}{\theta_i}""",
)
def test_plain_labels():
    lam, solution = PROBLEM.strengths, ps.solve(PROBLEM)
    h, y = draws(PROBLEM)
    ratio, error = mean(y[:, None] ** 2 * h**2)
    r = 1 + 4 * lam**2
    assert np.all(np.abs(ratio - r) < error)
    assert solution.signals == pytest.approx(sqrt(2) * lam)
    n, n_i = PROBLEM.samples(10), D / (2 * lam**2)
    assert solution.thresholds * D == pytest.approx(n_i)
    dense = ps.dense_compositional(
        alpha=ALPHA, features=4
    )  # B is rotated and of unit norm: any other has its thresholds
    B = 3.0 * draw_target(dense, coordinates_of(dense, 10), np.random.default_rng(0)).B
    b = np.linalg.eigvalsh(B)
    expected = np.sort(D * np.linalg.norm(B) ** 2 / (2 * b**2))
    assert np.sort(ps.thresholds(dense).each) * D == pytest.approx(expected)
    assert solution.overlaps == pytest.approx((1 - n_i / n) / (1 + (r - 1) * n_i / n))
    assert solution.eigenvalues == pytest.approx(sqrt(2) * lam + r / ALPHA / (sqrt(2) * lam))


@evaluates(
    r"""\psi(g) = \frac 1g + \mathbb E\, \frac{T}{1 - g T/\alpha}, \qquad
    \varphi_i(g) = \mathbb E\, \frac{T h_i^2}{1 - g T/\alpha}, \qquad \mu_i = \psi(g) = \varphi_i(g), \qquad
    \cos_i^2 = \frac{\psi'(g)}{\psi'(g) - \varphi_i'(g)}"""
)
def test_clipped_labels():
    """Both functions as means over draws, solved by bisection: eigenvalue and overlap of the first feature."""
    problem = PROBLEM.replace(clip=1.5, alpha=15.0)
    solution = ps.solve(problem)
    h, T = draws(problem)
    T = np.clip(T, -1.5, 1.5)
    T, square = T - T.mean(), h[:, 0] ** 2

    def psi(g: float) -> float:
        return float(1 / g + np.mean(T / (1 - g * T / 15)))

    def phi(g: float) -> float:
        return float(np.mean(T * square / (1 - g * T / 15)))

    low, high = 0.3, 3.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if psi(middle) > phi(middle) else (low, middle)
    step = 1e-3
    down, up = ((f(low + step) - f(low - step)) / (2 * step) for f in (psi, phi))
    assert solution.eigenvalues[0] == pytest.approx(psi(low), rel=5e-3)
    assert solution.overlaps[0] == pytest.approx(down / (down - up), abs=5e-3)


@evaluates(
    r"""\frac{D}{n_i} = u\, \mathbb E\, \frac{T (h_i^2 - 1)}{1 - u T} = u^2\, \mathbb E\, \frac{T^2}{(1 - u T)^2}"""
)
def test_thresholds_of_clipped_labels():
    """Both sides as means over a million draws, equal at a u that bisection finds; of features of both signs."""
    problem = PROBLEM.replace(clip=1.5)
    h, T = draws(problem)
    T = np.clip(T, -1.5, 1.5)
    for i, side in ((0, 1.0), (1, -1.0)):
        labels = side * (T - T.mean())
        added = h[:, i] ** 2 - 1
        low, high = 1e-3, (1 - 1e-6) / labels.max()
        for _ in range(40):
            u = 0.5 * (low + high)
            shown = u * labels / (1 - u * labels)
            low, high = (u, high) if np.mean(shown * added) > np.mean(shown**2) else (low, u)
        assert ps.thresholds(problem).each[i] * D == pytest.approx(D / np.mean(shown**2), rel=0.02)


@evaluates(
    r"""\mathtt{test\_error} = 1 - \frac{1}{2 \operatorname{Var} y}
    \sum_i \left( \mathbb E\, y (h_i^2 - 1) \right)^2 \cos_i^4"""
)
def test_error_of_the_layers():
    problem = PROBLEM.replace(link=ps.TanhLink(1.0))
    solution = ps.solve(problem)
    h, second = draws(problem)
    y = np.tanh(second)
    signal = np.mean((y - y.mean())[:, None] * (h**2 - 1), axis=0)
    error = 1 - np.sum(signal**2 * solution.overlaps**2) / (2 * y.var())
    assert solution.test_error == pytest.approx(error, abs=5e-3)
    plain = ps.solve(PROBLEM)
    assert plain.test_error == pytest.approx(np.sum(PROBLEM.strengths**2 * (1 - plain.overlaps**2)))


@evaluates(
    r"""m = (2 Z^2 \alpha)^{1/(2g)}, \qquad R_{\mathrm{sequence}} = Z^2 m^{1 - 2g}
    \left( 2 - \frac{1}{2g + 1} + \frac{1}{2g - 1} \right) \quad (g > 1/2)""",
    r"""R_{\mathrm{slow}} = 1 - \left( \frac{m}{d_1} \right)^{1 - 2g}
    \left( 1 - 2 (1 - 2g) + \frac{1 - 2g}{1 + 2g} \right) \quad (g < 1/2), \qquad
    R_{\mathrm{all}} = \frac{d_1 + 4}{\alpha}""",
)
def test_scaling_laws():
    def said(phase: str, alpha: float, features: int, g: float) -> tuple[float, float, float]:
        found = ps.scaling(ps.compositional(alpha=alpha, features=features, decay=g), factor=None)
        assert found.phase == phase
        Z2 = 1 / sum(i ** (-2 * g) for i in range(1, features + 1))
        return float(found.law_value), Z2, (2 * Z2 * alpha) ** (1 / (2 * g))

    value, Z2, m = said("sequence", 50.0, 300, 1.2)
    assert value == pytest.approx(Z2 * m**-1.4 * (2 - 1 / 3.4 + 1 / 1.4))
    value, _, m = said("slow", 500.0, 3000, 0.3)
    assert value == pytest.approx(1 - (m / 3000) ** 0.4 * (1 - 0.8 + 0.4 / 1.6))
    assert said("all", 1e5, 7, 0.8)[0] == pytest.approx(11 / 1e5)


@evaluates(
    r"\mathbb E\, (y - \hat y)^2_{\mathrm{new}} / \operatorname{Var} y",
    r"\frac{1}{d_1} \sum_i \| P A_i \|^2",
    r"\| P A_1 \|^2",
    r"\max_k |\mu_k|",
)
def test_what_networks_measure():
    """A network of one seed, again by hand: its features, its eigenvalues, its error on other samples."""
    problem, d = PROBLEM.replace(alpha=60.0), 10
    ensemble = ps.simulate(problem, d=d, seeds=1, processes=1, n_test=50_000, trainer=ps.LayerWise(method="dense"))
    source = coordinates_of(problem, d, formed=True)
    for_target, for_data, *_ = ps.streams(0, d)
    target: Target = draw_target(problem, source, for_target)
    keys = [int(key) for key in for_data.integers(2**62, size=2)]
    F, fresh, test = (
        np.concatenate([s.block(k)[1] for k in range(s.count)]).astype(np.float64)
        for s in (Samples(source, 3300, keys[0], 9), Samples(source, 3300, keys[1], 6), Samples(source, 50_000, 1, 6))
    )
    y, y_fresh, y_test = (target.labels(one @ target.A) for one in (F, fresh, test))
    C = (F.T * (y - y.mean())) @ F / 3300
    values, vectors = np.linalg.eigh(C)
    top = np.argsort(-np.abs(values))[:3]
    P = vectors[:, top] @ vectors[:, top].T
    parts = [np.sum((P @ a) ** 2) for a in target.A.T]
    assert ensemble.mean_overlap[0] == pytest.approx(np.mean(parts), abs=1e-4)
    assert ensemble.first_overlap[0] == pytest.approx(parts[0], abs=1e-4)
    assert ensemble.largest_eigenvalue[0] == pytest.approx(np.abs(values).max(), abs=1e-4)
    h, h_test = fresh @ vectors[:, top], test @ vectors[:, top]
    B = second_layer(h, y_fresh)
    b, a = np.polyfit(outputs(h, B), y_fresh, 1)
    error = np.mean((y_test - a - b * outputs(h_test, B)) ** 2) / y_test.var()
    assert ensemble.test_error[0] == pytest.approx(error, rel=0.05)
