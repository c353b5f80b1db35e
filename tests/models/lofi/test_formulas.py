"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from math import factorial, pi, sqrt

import numpy as np
import pytest
import scipy
from numpy.polynomial import hermite_e

import presage as ps
from presage.models.lofi.experiment.kernel import Kernel
from presage.models.lofi.experiment.lifts import RandomLift
from presage.models.lofi.experiment.simulate import Known
from presage.models.lofi.experiment.surrogate import covariances, draw_labels, select
from presage.models.lofi.theory.emergence import many_samples, weak
from presage.models.lofi.theory.floor import deep_overlap, floor
from presage.models.lofi.theory.label_law import label_laws
from presage.protocol.ensemble import streams
from tests.page_formulas import evaluates

STRENGTHS = (1.0, -0.7, 0.5)
THREE = ps.SquaresLink(STRENGTHS)
PROBLEM = ps.lofi(THREE, alpha=6.0, tail=0.8)


@evaluates(
    r"""F \sim \mathcal N(0, 1_D), \qquad h_k = \langle a_k, F \rangle, \quad \langle a_k, a_l \rangle = \delta_{kl},
    \qquad y = f(h) - \mathbb E f(h), \qquad n = \alpha D""",
    r"""f_{\mathrm{squares}} = \tanh \Big( \sum_k \lambda_k \frac{h_k^2 - 1}{\sqrt 2} \Big), \quad
    \sum_k \lambda_k^2 = 1""",
    r"""f_{\mathrm{nested}} = \tanh \frac{g_1^2 - g_2^2}{2}, \qquad
    g_1 = \sum_{i=1}^{m} e_i \frac{h_i^2 - 1}{\sqrt{2m}}, \quad
    g_2 = \sum_{i=1}^{m} e_i \frac{h_{m+i}^2 - 1}{\sqrt{2m}}""",
)
def test_labels():
    h, y = draw_labels(PROBLEM, 30, np.random.default_rng(0))
    norm = sqrt(sum(one**2 for one in STRENGTHS))
    raw = [np.tanh(sum(STRENGTHS[k] / norm * (h[mu, k] ** 2 - 1) / sqrt(2) for k in range(3))) for mu in range(30)]
    assert y == pytest.approx(np.array(raw) - np.mean(raw), rel=1e-12)
    assert PROBLEM.samples(50) == 300
    h = np.random.default_rng(1).standard_normal((5, 6))
    g_1, g_2 = ([sum((-1) ** i * (row[s + i] ** 2 - 1) / sqrt(6) for i in range(3)) for row in h] for s in (0, 3))
    by_hand = [np.tanh((a**2 - b**2) / 2) for a, b in zip(g_1, g_2, strict=True)]
    assert ps.NestedLink(3)(h) == pytest.approx(by_hand, rel=1e-12)


@evaluates(
    r"""z = (F, t), \quad \|t\|^2 = \rho D, \qquad
    \rho = \frac{\mathbb E\, \sigma^2 - \sum_{k \le q} \mu_k^2}{\mu_q^2}, \qquad
    \mu_k^2 = \frac{\left( \mathbb E\, \sigma(u) \mathrm{He}_k(u) \right)^2}{k!}"""
)
def test_tail():
    """The orders of an activation by sums on a fine grid; and samples with many further coordinates of that norm."""
    u, step = np.linspace(-10.0, 10.0, 400_001, retstep=True)
    weight = np.exp(-(u**2) / 2) / sqrt(2 * pi) * step
    sigma = np.abs(u) + 0.3 * u**3
    masses = [(weight @ (sigma * hermite_e.hermeval(u, [0.0] * k + [1.0]))) ** 2 / factorial(k) for k in range(3)]
    by_hand = (weight @ sigma**2 - sum(masses)) / masses[2]
    assert ps.kernel_tail(lambda u: np.abs(u) + 0.3 * u**3) == pytest.approx(by_hand, rel=1e-6)
    rng, n, D, rho, many = np.random.default_rng(2), 60, 20, 0.8, 60_000
    t = sqrt(rho * D / many) * rng.standard_normal((n, many))
    assert t @ t.T == pytest.approx(rho * D * np.eye(n), abs=1.5)


@evaluates(
    r"C = \frac 1n \sum_{\mu=1}^{n} y^\mu z^\mu z^{\mu\top}",
    r"\|P a_1\|^2",
    r"\frac 1p \sum_k \|P a_k\|^2",
    r"\max_j |\lambda_j(C)|",
    r"\mathbb E \left( y - \mathbb E[y \mid \hat h] \right)^2 \big/ \operatorname{Var} y",
    r"\frac{1}{p_2} \sum_j R^2(g_j \mid \hat h\, \hat h^\top)",
)
def test_selections_measure_what_the_page_defines():
    problem, d, seed = ps.lofi(THREE, alpha=12.0), 60, 3
    found = ps.simulate(problem, d=d, seeds=[seed], n_test=200_000, processes=1)
    _, for_data, _, _ = streams(seed, d)
    V = select(problem, d, "sides", for_data, 1).vectors
    P = V @ V.T
    assert found.first_overlap[0] == pytest.approx(np.sum(P[:, 0] ** 2), rel=1e-9)
    assert found.mean_overlap[0] == pytest.approx(np.mean([np.sum(P[:, k] ** 2) for k in range(3)]), rel=1e-9)
    _, for_data, _, _ = streams(seed, d)
    h, y = draw_labels(problem, problem.samples(d), for_data)
    C, _ = covariances(h, y, for_data.permutation(y), d, for_data, 1)
    assert found.largest_eigenvalue[0] == pytest.approx(np.abs(np.linalg.eigvalsh(C)).max(), rel=1e-9)
    # Means given the selected features by many draws of the rest, and a regression on their products.
    rng, known = np.random.default_rng(0), Known.of(np.eye(d, 3), V)
    s = rng.standard_normal((4000, 3))
    rest = [THREE(known.draw(s, rng)) for _ in range(400)]
    variance = np.var(rest)
    expected = np.mean(np.var(rest, axis=0, ddof=1)) / variance
    assert found.floor[0] == pytest.approx(expected, abs=0.02)
    F = rng.standard_normal((60_000, d))
    hat, g = F @ V, (F[:, :3] ** 2 - 1) / sqrt(2)
    products = np.stack([np.ones(len(F)), *(hat[:, i] * hat[:, j] for i in range(3) for j in range(i, 3))], axis=1)
    left = g - products @ np.linalg.lstsq(products, g, rcond=None)[0]
    r2 = [1 - np.var(left[:, k]) / np.var(g[:, k]) for k in range(3)]
    assert found.deep_overlap[0] == pytest.approx(np.mean(r2), abs=0.02)


@evaluates(
    r"""Z = \frac{1}{\sqrt P}\, \sigma \Big( \frac{h W}{c} \Big), \qquad
    M = \frac 1n\, G^{1/2} \operatorname{diag}(y)\, G^{1/2} = B \Lambda B^\top, \qquad A = G^{-1/2} B, \qquad
    \hat h(x) = G(x, X)\, A""",
    r"""G(h, h') = \frac{r}{2 \pi} \left( \sin t + (\pi - t) \cos t \right), \qquad r = \frac{\|h\| \|h'\|}{c^2}, \quad
    \cos t = \frac{\langle h, h' \rangle}{\|h\| \|h'\|}""",
)
def test_lift_and_kernel():
    rng = np.random.default_rng(4)
    X, x = rng.standard_normal((25, 4)), rng.standard_normal((3, 4))
    y = np.tanh(X[:, 0] ** 2)
    y -= y.mean()
    c = sqrt(np.mean(np.sum(X**2, axis=1)))
    lift = RandomLift(X, 7, "relu", rng)
    assert lift.rows(x) == pytest.approx(np.maximum(x @ lift.W / c, 0) / sqrt(7), rel=1e-12)

    def G(one, other):
        norms = np.linalg.norm(one) * np.linalg.norm(other)
        t = np.arccos(np.clip(one @ other / norms, -1.0, 1.0))
        return norms / c**2 * (np.sin(t) + (pi - t) * np.cos(t)) / (2 * pi)

    gram = np.array([[G(a, b) for b in X] for a in X])
    kernel = Kernel(X, "relu", normalise=False, centre=False)
    assert kernel.gram == pytest.approx(gram, rel=1e-7)
    root = scipy.linalg.sqrtm(gram).real
    values, B = np.linalg.eigh(root @ np.diag(y) @ root / 25)
    order = np.argsort(-np.abs(values))[:3]
    A = np.linalg.inv(root) @ B[:, order]
    found = kernel.selected(y, 3, "size", rng)
    assert found.values == pytest.approx(values[order], rel=1e-6)
    ours, theirs = kernel.features(x, found.vectors), np.array([[G(a, b) for b in X] for a in x]) @ A
    assert np.abs(ours) == pytest.approx(np.abs(theirs), rel=1e-4)


@evaluates(
    r"""\theta_k = \mathbb E\, y (h_k^2 - 1), \qquad
    \alpha_k^{\mathrm{weak}} = \frac{\mathbb E\, y^2}{\theta_k^2}, \qquad
    \cos_k^2 = 1 - \frac{\alpha_k^{\mathrm{weak}}}{\alpha}, \qquad
    \lambda_k = \theta_k + \frac{\mathbb E\, y^2}{\alpha\, \theta_k}""",
    r"1 - \cos_k^2 = \frac{\mathbb E\, y^2 h_k^2}{\alpha\, \theta_k^2}",
)
def test_weak_features_and_many_samples():
    """Expectations by a grid of one's own."""
    x, w = hermite_e.hermegauss(60)
    w = w / w.sum()
    h = np.stack([one.ravel() for one in np.meshgrid(x, x, x, indexing="ij")], axis=1)
    weight = (w[:, None, None] * w[:, None] * w).ravel()
    y = THREE(h)
    y = y - weight @ y
    theta = np.array([weight @ (y * (h[:, k] ** 2 - 1)) for k in range(3)])
    square = weight @ y**2
    found = weak(label_laws(THREE)[0], 7.0)
    assert found.overlap == pytest.approx(1 - square / theta**2 / 7.0, abs=1e-4)
    assert found.eigenvalue == pytest.approx(theta + square / (7.0 * theta), abs=1e-4)
    assert ps.thresholds(PROBLEM).weak == pytest.approx(square / theta**2, rel=1e-4)
    rows = np.array([weight @ (y**2 * h[:, k] ** 2) for k in range(3)])
    assert many_samples(label_laws(THREE)[0], 50.0) == pytest.approx(rows / (50.0 * theta**2), rel=1e-4)


@evaluates(
    r"""P_k(x) = \mathbb E\, \frac{y h_k^2}{x - y}, \quad P_0(x) = \mathbb E\, \frac{y}{x - y}, \qquad
    (P_k - P_0) \Big( P_k - \frac{\rho}{\alpha} \Big) = \frac{P_k}{\alpha}, \qquad \lambda_k = x P_k""",
    r"""g = 1 - \frac{\rho}{\alpha P_k}, \qquad a = \frac 1\alpha - g^2\, \mathbb E\, \frac{y^2}{(x - y)^2}, \qquad
    b = g^2\, \mathbb E\, \frac{y^2 h_k^2}{(x - y)^2}, \qquad
    \cos_k^2 = \frac{a}{a + b} \quad (a > 0,\ g > 0)""",
    r"""(1 - g) \Big( \frac 1\alpha + g P_0 \Big) = \frac{g \rho}{\alpha}, \qquad
    g^2\, \mathbb E\, \frac{y^2}{(x - y)^2} = \frac 1\alpha, \qquad
    \lambda_{\mathrm{edge}} = \frac xg \Big( \frac 1\alpha + g P_0 \Big)""",
    r"""\alpha_k = \frac{1}{(P_k - P_0)^2}\, \mathbb E\, \frac{y^2}{(x - y)^2} =
    \frac{1}{P_k - P_0} + \frac{\rho}{P_k}""",
)
def test_sharp_features():
    """Each equation is satisfied by what the code says, at an x that is found from the eigenvalue."""
    law, alpha, rho = label_laws(THREE)[0], PROBLEM.alpha, PROBLEM.tail
    found, each = ps.solve(PROBLEM), ps.thresholds(PROBLEM).alpha
    for k in range(3):
        side = np.sign(law.theta[k])
        y = side * law.y

        def mean(values):
            return law.weight @ values

        def P(x, k=k, y=y):
            return mean(y * law.second[k] / (x - y))

        def P_0(x, y=y):
            return mean(y / (x - y))

        x = np.geomspace(1.001 * y.max(), 200.0, 4000)
        rest = np.array([(P(one) - P_0(one)) * (P(one) - rho / alpha) - P(one) / alpha for one in x])
        last = np.flatnonzero(np.diff(np.sign(rest)))[-1]
        at = scipy.optimize.brentq(
            lambda x, P=P, P_0=P_0: (P(x) - P_0(x)) * (P(x) - rho / alpha) - P(x) / alpha, x[last], x[last + 1]
        )
        g = 1 - rho / (alpha * P(at))
        a = 1 / alpha - g**2 * mean(y**2 / (at - y) ** 2)
        b = g**2 * mean(y**2 * law.second[k] / (at - y) ** 2)
        assert side * found.eigenvalues[k] == pytest.approx(at * P(at), rel=1e-7)
        assert found.overlaps[k] == pytest.approx(a / (a + b), rel=1e-6)

        def g_of(x, P_0=P_0):
            return scipy.optimize.brentq(
                lambda part: (1 - part) * (1 / alpha + part * P_0(x)) - part * rho / alpha, 1e-6, 1.0
            )

        bar = scipy.optimize.brentq(
            lambda x, y=y, g_of=g_of: g_of(x) ** 2 * mean(y**2 / (x - y) ** 2) - 1 / alpha, 1.001 * y.max(), at
        )
        edge = bar / g_of(bar) * (1 / alpha + g_of(bar) * P_0(bar))
        assert edge == pytest.approx(found.upper_edge if side > 0 else -found.lower_edge, rel=1e-6)

        def sizes(x, y=y, P=P, P_0=P_0):
            return mean(y**2 / (x - y) ** 2) / (P(x) - P_0(x)) ** 2, 1 / (P(x) - P_0(x)) + rho / P(x)

        beyond = np.geomspace(1.0005 * y.max(), 100.0, 3000)
        signs = np.sign([np.subtract(*sizes(one)) for one in beyond])
        first = np.flatnonzero(np.diff(signs))[0]
        emerges = scipy.optimize.brentq(lambda x, sizes=sizes: np.subtract(*sizes(x)), beyond[first], beyond[first + 1])
        assert each[k] == pytest.approx(sizes(emerges)[1], rel=1e-5)


@evaluates(
    r"""\mathtt{floor} = 1 - \frac{\mathbb E\, y(h)\, y(h')}{\operatorname{Var} y}, \quad
    h'_k = c_k h_k + \sqrt{1 - c_k^2}\, z_k, \qquad R_j^2 = \sum_k q_{jk}^2 c_k^2, \qquad c_k = \cos_k^2"""
)
def test_floor_and_depth():
    c, rng = np.array([0.9, 0.7, 0.4]), np.random.default_rng(5)
    h, z = rng.standard_normal((2, 400_000, 3))
    y, other = THREE(h), THREE(c * h + np.sqrt(1 - c**2) * z)
    by_hand = 1 - np.mean((y - y.mean()) * (other - y.mean())) / np.var(y)
    value, bar = floor(THREE, c)
    assert value == pytest.approx(by_hand, abs=bar + 6e-3)
    nested, q = ps.NestedLink(2), np.kron(np.eye(2), [sqrt(0.5), -sqrt(0.5)])
    cs = np.array([0.9, 0.8, 0.7, 0.6])
    r2 = [sum(q[j, k] ** 2 * cs[k] ** 2 for k in range(4)) for j in range(2)]
    assert deep_overlap(nested, cs) == pytest.approx(np.mean(r2), rel=1e-12)
