"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from itertools import pairwise
from math import log, sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.boltzmann.experiment.measured import principal_alignment
from presage.models.boltzmann.experiment.objective import loss
from presage.models.boltzmann.experiment.samples import draw_directions, draw_fresh, draw_samples
from presage.models.boltzmann.theory.linear_regime import eigenvalue_law, grown
from presage.models.boltzmann.theory.two_time import descend
from presage.protocol.ensemble import streams
from tests.page_formulas import evaluates

ALPHA, LAM = 6.0, 1.4
ONE = ps.boltzmann(alpha=ALPHA, signal=LAM)
TWO = ps.boltzmann(alpha=ALPHA, signal=[2.0, 1.0], units=2, latents="signs")


@evaluates(
    r"""x = \sum_{a=1}^{k_0} \sqrt{\lambda_a}\, s_a \frac{w^*_a}{\sqrt d} + z, \qquad z \sim \mathcal N(0, 1_d),
    \qquad n = \alpha d"""
)
def test_the_data():
    d, rng = 40, np.random.default_rng(0)
    directions = draw_directions(d, 2, rng)
    X = draw_samples(TWO, directions, 50_000, rng).A * sqrt(d)
    along = X @ directions / sqrt(d) / sqrt(d)
    np.testing.assert_allclose(np.cov(along.T) * d, np.diag([1.0 + 2.0, 1.0 + 1.0]) * 1.0, atol=0.06)
    assert TWO.samples(d) == ALPHA * d
    rest = X - X @ directions @ directions.T / d
    assert np.var(rest) * d / (d - 2) == pytest.approx(1.0, abs=0.01)
    # Latents are signs: along a direction a sample is 1 or -1 beside the noise.
    kurtosis = np.mean((along[:, 0] * sqrt(d)) ** 4) - 3 * np.mean((along[:, 0] * sqrt(d)) ** 2) ** 2
    assert kurtosis == pytest.approx(-2.0 * 2.0**2, abs=0.6)


@evaluates(
    r"\phi(u) = \log \mathbb E_h\, e^{h \cdot u}, \qquad \psi(Q) = \log \mathbb E_h\, e^{h^\top Q h/2}",
    r"""\phi(u) = \sum_i \log \cosh u_i, \qquad
    \psi(Q) = \tfrac12 (Q_{11} + Q_{22}) + \log \cosh Q_{12} \quad (k = 2)""",
)
def test_functions_of_the_units():
    h = np.random.default_rng(0).choice([-1.0, 1.0], size=(400_000, 2))
    u, Q = np.array([0.4, -0.9]), np.array([[0.5, 0.3], [0.3, 0.8]])
    law = ps.BinaryUnits()
    assert law.moments(u[None]).phi[0] == pytest.approx(log(np.mean(np.exp(h @ u))), abs=5e-3)
    assert law.psi(Q) == pytest.approx(log(np.mean(np.exp(0.5 * np.sum(h @ Q * h, axis=1)))), abs=5e-3)
    assert law.moments(u[None]).phi[0] == pytest.approx(np.sum(np.log(np.cosh(u))))
    assert law.psi(Q) == pytest.approx(0.5 * (Q[0, 0] + Q[1, 1]) + log(np.cosh(Q[0, 1])))


@evaluates(
    r"""\mathcal L(W) = \sum_{\mu=1}^{n} \phi\big( W^\top x_\mu/\sqrt d \big) - n\, \psi(Q), \qquad
    Q = \frac{W^\top W}{d}""",
    r"M_1 Q^{-1} M_1^\top",
    r"|M_1|",
    r"M_{k_0} Q^{-1} M_{k_0}^\top",
    r"\operatorname{Tr} Q/k",
    r"\mathbb E\, \phi(W^\top x_{\mathrm{new}}/\sqrt d) - \psi(Q)",
    r"\mathcal L/n",
    r"\langle u_1, w^*_1/|w^*_1| \rangle^2",
)
def test_what_is_measured_of_a_machine():
    d = 30
    e = ps.simulate(TWO, d=d, seeds=[2], processes=1, keep="weights")
    for_target, for_data, _, for_test = streams(2, d)
    directions = draw_directions(d, 2, for_target)
    samples = draw_samples(TWO, directions, TWO.samples(d), for_data)
    W, X = e.weights[0], samples.A * sqrt(d)
    Q, M = W.T @ W / d, directions.T @ W / d
    L = sum(np.sum(np.log(np.cosh(W.T @ x / sqrt(d)))) for x in X) - len(X) * TWO.hidden.psi(Q)
    assert e.train_likelihood[0] == pytest.approx(L / len(X))
    assert loss(samples.A, W, TWO.hidden).value == pytest.approx(-L / d)
    assert e.alignment[0] == pytest.approx(M[0] @ np.linalg.inv(Q) @ M[0])
    assert e.last_alignment[0] == pytest.approx(M[1] @ np.linalg.inv(Q) @ M[1])
    assert e.overlap[0] == pytest.approx(np.linalg.norm(M[0]))
    assert e.size[0] == pytest.approx(np.trace(Q) / 2)
    u = np.linalg.eigh(X.T @ X / len(X))[1][:, -1]
    assert e.pca_alignment[0] == pytest.approx((u @ directions[:, 0]) ** 2 / d)
    assert principal_alignment(samples) == pytest.approx(e.pca_alignment[0])
    fresh = draw_fresh(TWO, e.n_test, for_test).seen_by(directions, W)
    assert e.test_likelihood[0] == pytest.approx(np.mean(np.sum(np.log(np.cosh(fresh)), axis=1)) - TWO.hidden.psi(Q))


@evaluates(
    r"""\psi(Q) = -\tfrac12 \log \det(1 - Q), \qquad
    W = \sqrt d\; U \operatorname{diag}\big( \sqrt{1 - 1/\ell_i} \big)"""
)
def test_gaussian_units():
    Q, law, d = np.array([[0.4, 0.1], [0.1, 0.3]]), ps.GaussianUnits(), 50
    assert law.psi(Q) == pytest.approx(-0.5 * log(np.linalg.det(np.eye(2) - Q)))
    rng = np.random.default_rng(1)
    A = draw_samples(TWO, draw_directions(d, 2, rng), TWO.samples(d), rng).A
    l, U = np.linalg.eigh(d * A.T @ A / len(A))
    W = sqrt(d) * U[:, -2:] @ np.diag(np.sqrt(1.0 - 1.0 / l[-2:]))
    assert loss(A, W, law).slope < 1e-12


def means_of_one(m, q, v):
    """E g^2, E dg, E dg^2 and E phi over the field of ONE, by solving for p at places of om."""
    sigma = sqrt(q + LAM * m * m)
    om = np.linspace(-9.0 * sigma, 9.0 * sigma, 20_001)
    weight = np.exp(-0.5 * (om / sigma) ** 2)
    weight /= weight.sum()
    p = om.copy()
    for _ in range(200):
        p = om + v * np.tanh(p)
    g = np.tanh(p)
    H = 1.0 - g * g
    dg = H / (1.0 - v * H)
    return [weight @ values for values in (g * g, dg, dg * dg, np.log(np.cosh(p)))]


@evaluates(
    r"""\omega = \sum_a \sqrt{\lambda_a}\, s_a M_a + \mathcal N(0, Q), \qquad p = \omega + g(p)\, V, \qquad
    \partial g = H (1 - V H)^{-1}""",
    r"""V \leftarrow (\Lambda - D)^{-1}, \qquad M \leftarrow \hat M V, \qquad
    Q \leftarrow V (\hat M^\top \hat M + \hat Q) V""",
    r"""\hat M = \alpha\, \mathbb E \big[ \sqrt \lambda\, s\, g \big], \qquad
    \hat Q = \alpha\, \mathbb E\, g^\top g, \qquad D = \alpha\, \mathbb E\, \partial g""",
    r"""v = \frac{1 + \lambda}{\alpha \lambda}, \qquad \mathbb E[\partial g](\sigma) = \frac{1}{1 + \lambda}, \qquad
    m^2 = \frac{\sigma^2 - \alpha v^2\, \mathbb E\, g^2}{1 + \lambda}""",
    r"\mathtt{replicon} = \alpha\, v^2\, \mathbb E\, (\partial g)^2 < 1",
)
def test_the_fixed_point():
    found = ps.solve(ONE)
    m, q, v = found.overlap, found.size, float(found.V[0, 0])
    square, slope, slopes, phi = means_of_one(m, q, v)
    D, Qh = ALPHA * slope, ALPHA * square
    Mh = ALPHA * LAM * m * slope  # E[sqrt(lam) s g] by Stein's lemma
    assert v == pytest.approx(1.0 / (ALPHA - D), rel=1e-6)
    assert Mh * v == pytest.approx(m, rel=1e-6)
    assert v * (Mh**2 + Qh) * v == pytest.approx(q, rel=1e-6)
    assert v == pytest.approx((1.0 + LAM) / (ALPHA * LAM), rel=1e-9)
    assert slope == pytest.approx(1.0 / (1.0 + LAM), rel=1e-6)
    sigma2 = q + LAM * m * m
    assert m * m == pytest.approx((sigma2 - ALPHA * v * v * square) / (1.0 + LAM), rel=1e-6)
    assert found.replicon == pytest.approx(ALPHA * v * v * slopes, rel=1e-6)
    assert found.replicon < 1.0
    assert found.train_likelihood == pytest.approx(phi - 0.5 * q, rel=1e-6)


@evaluates(
    r"""\lambda > \frac{1}{\sqrt \alpha}, \qquad
    \mathtt{pca\_alignment} = \frac{1 - 1/(\alpha \lambda^2)}{1 + 1/(\alpha \lambda)}"""
)
def test_principal_components():
    found = ps.solve(ONE).pca_alignment
    assert found == pytest.approx((1.0 - 1.0 / (ALPHA * LAM**2)) / (1.0 + 1.0 / (ALPHA * LAM)))
    assert ps.solve(ONE.replace(signal=0.99 / sqrt(ALPHA))).pca_alignment == 0.0
    assert ps.solve(ONE.replace(signal=1.01 / sqrt(ALPHA))).pca_alignment > 0.0


@evaluates(
    r"""u^t = \sqrt \lambda\, s\, M^t + \omega^t + \sum_{r < t} g^r L(t, r), \qquad
    \operatorname{cov}(\omega^t, \omega^r) = C(t, r)""",
    r"""L(t+1, q) = L(t, q) P_t + \frac{\eta}{\alpha} \Big[ 1_{q = t} + \sum_{q < r \le t} L(r, q)\, \Gamma(t, r)
    \Big]""",
    r"""a(t+1) = a(t) P_t + \frac{\eta}{\alpha} \sum_{r \le t} a(r)\, \Gamma(t, r), \qquad
    c(t+1) = c(t) P_t + \frac{\eta}{\alpha} \Big[ \hat M^t + \sum_{r \le t} c(r)\, \Gamma(t, r) \Big]""",
    r"""M^t = M_0 a(t) + c(t), \qquad C(t, t') = a^\top Q_0 a + a^\top M_0^\top c + c^\top M_0 a + c^\top c
    + \sum_{r, r'} L(t, r)^\top C_g(r, r')\, L(t', r')""",
)
def test_the_two_time_equations():
    """Three steps of one binary unit on a sign, with its own sampled fields and loops as the equations stand."""
    alpha, lam, eta, m_0, q_0, steps, N = 3.0, 2.0, 0.1, 0.2, 0.4, 3, 400_000
    problem = ps.boltzmann(alpha=alpha, signal=lam, latents="signs")
    rng = np.random.default_rng(0)
    P = 1.0 - eta
    a, c, M = [1.0], [0.0], []
    L, C, Cg, Gam = (np.zeros((steps + 1, steps + 1)) for _ in range(4))
    g: list[np.ndarray] = []
    H: list[np.ndarray] = []
    xi = rng.standard_normal((steps + 1, N))
    xi = np.linalg.solve(np.linalg.cholesky(np.cov(xi, bias=True)), xi - xi.mean(axis=1, keepdims=True))
    for t in range(steps + 1):
        M.append(m_0 * a[t] + c[t])
        for s in range(t + 1):
            memory = sum(L[t, r] * Cg[r, q] * L[s, q] for r in range(t) for q in range(s))
            C[t, s] = C[s, t] = a[t] * q_0 * a[s] + a[t] * m_0 * c[s] + c[t] * m_0 * a[s] + c[t] * c[s] + memory
        om = np.linalg.cholesky(C[: t + 1, : t + 1] + 1e-12 * np.eye(t + 1))[t] @ xi[: t + 1]
        u = sqrt(lam) * M[t] + om + sum(g[r] * L[t, r] for r in range(t))
        g.append(np.tanh(u))
        H.append(1.0 - g[t] ** 2)
        for r in range(t + 1):
            Cg[t, r] = Cg[r, t] = alpha * np.mean(g[t] * g[r])
            D = {r: np.ones(N)}
            for later in range(r + 1, t + 1):
                D[later] = np.sum([L[later, s] * H[s] * D[s] for s in range(r, later)], axis=0)
            Gam[t, r] = alpha * np.mean(H[t] * D[t])
        Mh = alpha * sqrt(lam) * np.mean(g[t])
        if t < steps:
            a.append(a[t] * P + eta / alpha * sum(a[r] * Gam[t, r] for r in range(t + 1)))
            c.append(c[t] * P + eta / alpha * (Mh + sum(c[r] * Gam[t, r] for r in range(t + 1))))
            for q in range(t + 1):
                inner = sum(L[r, q] * Gam[t, r] for r in range(q + 1, t + 1))
                L[t + 1, q] = L[t, q] * P + eta / alpha * ((q == t) + inner)
    way = descend(problem, np.array([[m_0]]), np.array([[q_0]]), eta, steps, 2**14, 1)
    np.testing.assert_allclose(way.M[:, 0, 0], M, atol=3e-4)
    np.testing.assert_allclose(way.C[:, :, 0, 0], C, atol=5e-4)
    np.testing.assert_allclose(way.L[:, :, 0, 0], L, atol=2e-4)
    np.testing.assert_allclose(way.Gam[:steps, :steps, 0, 0], Gam[:steps, :steps], atol=4e-3)


@evaluates(
    r"""\frac{m(t)}{m_0} = -\frac{1}{2 \pi i} \oint \big( 1 + \eta (z - 1) \big)^t\, G(z)\, dz, \qquad
    G(z) = \frac{-1}{z\, (1 + (1 + \lambda)\, \mu(z))}"""
)
def test_small_weights():
    """The contour as a square around the spectrum, by the trapezoidal rule, beside the sum over the law."""
    eta, t = 0.2, 6
    corners = np.array([-0.5 - 1.0j, 6.0 - 1.0j, 6.0 + 1.0j, -0.5 + 1.0j, -0.5 - 1.0j])
    z = np.concatenate([np.linspace(one, other, 40_000) for one, other in pairwise(corners)])
    b = z - 1.0 + 1.0 / ALPHA
    root = np.sqrt(b * b - 4.0 * z / ALPHA)
    both = np.stack([-b + root, -b - root]) * ALPHA / (2.0 * z)
    s = np.where(both[0].imag * z.imag > 0.0, both[0], both[1])  # a transform of a positive law
    mu = -(1.0 - 1.0 / ALPHA) / z + s / ALPHA
    G = -1.0 / (z * (1.0 + (1.0 + LAM) * mu))
    whole = -np.trapezoid((1.0 + eta * (z - 1.0)) ** t * G, z) / (2j * np.pi)
    here = grown(eigenvalue_law(ALPHA, LAM), eta, np.array([float(t)]))[0]
    assert here == pytest.approx(whole.real, rel=1e-5)
    assert abs(whole.imag) < 1e-5
