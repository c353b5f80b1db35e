"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from itertools import islice
from math import sqrt

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.multi_matrix.experiment import amp
from presage.models.multi_matrix.experiment.objective import Objective, matrices_of
from presage.models.multi_matrix.experiment.samples import draw_matrices, draw_samples, quadratic_forms
from presage.models.multi_matrix.prox import objective as proximal_objective
from presage.models.multi_matrix.prox import proximal_points
from presage.models.multi_matrix.theory.sample_means import rule, sample_means
from presage.models.multi_matrix.theory.solution import observed
from presage.models.multi_matrix.theory.state_evolution import FixedPoint
from presage.models.multi_matrix.theory.weight_side import mirrored, shrunk
from presage.protocol.ensemble import streams
from presage.solving.vector_state_evolution import Overlaps
from presage.spectra.symmetric.free import FreeConvolution
from tests.models.multi_matrix.instance import PROBLEM, TWO_ATOMS
from tests.page_formulas import evaluates

D = 8


def forms(X, S):
    """``z_h`` of every sample, as it is written."""
    return np.array([[(x @ one @ x - np.trace(one)) / sqrt(2.0 * len(x)) for one in S] for x in X])


@evaluates(
    r"""y = g(z_{0,1}, \dots, z_{0,L}) + \sqrt{\Delta}\, \xi, \qquad
    z_{0,h} = \frac{x^\top S_{0,h}\, x - \operatorname{Tr} S_{0,h}}{\sqrt{2 d}}, \qquad n = \alpha\, d^2""",
    r"g(z) = \sum_{h=1}^{L} z_h^{p_h}",
)
def test_labels():
    S_0 = draw_matrices(PROBLEM, D, np.random.default_rng(0))
    samples = draw_samples(PROBLEM, S_0, 30, np.random.default_rng(1), 1)
    again = np.random.default_rng(1)
    X, xi = again.standard_normal((30, D)), again.standard_normal(30)
    z = forms(X, S_0)
    assert samples.y == pytest.approx(z[:, 0] + z[:, 1] ** 2 + sqrt(0.25) * xi)
    assert PROBLEM.samples(D) == 2 * D**2


@evaluates(
    r"""\mathcal L = \sum_{\mu=1}^{n} \left( y^\mu - g(z^\mu) \right)^2 + \lambda \sum_{h=1}^{L} \left( \|W^+_h\|_F^2
    + \|W^-_h\|_F^2 \right), \qquad S_h = \frac{W^+_h W^{+\top}_h - W^-_h W^{-\top}_h}{d}"""
)
def test_loss():
    rng = np.random.default_rng(2)
    S_0, W = draw_matrices(PROBLEM, D, rng), rng.standard_normal((2, 2, D, D))
    samples = draw_samples(PROBLEM, S_0, 40, rng, 1)
    S = [(plus @ plus.T - minus @ minus.T) / D for plus, minus in W]
    assert matrices_of(W) == pytest.approx(np.array(S))
    z = forms(samples.X, S)
    by_hand = np.sum((samples.y - z[:, 0] - z[:, 1] ** 2) ** 2) + 0.5 * np.sum(W**2)
    assert Objective(PROBLEM.link, samples, 0.5).at_W(W).value == pytest.approx(by_hand)


OVERLAPS = Overlaps(np.array([0.8, 0.95]), np.array([0.75, 0.96]), np.array([0.2, 0.1]))


@evaluates(
    r"""p = \operatorname*{argmin}_{u} \sum_h \frac{(u_h - z_h)^2}{2 \Sigma_h} + (y - g(u))^2, \qquad
    \ell_h = \frac{p_h - z_h}{\Sigma_h}""",
    r"""\hat m_h = 2 \alpha\, \mathbb E\, \frac{\partial \ell_h}{\partial z_{0,h}}, \qquad \hat \Sigma_h = -2 \alpha\,
    \mathbb E\, \frac{\partial \ell_h}{\partial z_h}, \qquad \hat q_h = 2 \alpha\, \mathbb E\, \ell_h^2""",
)
def test_proximal_points_and_hats():
    m, q, V = OVERLAPS
    normals, step, link = rule(2, 512, 0), 1e-5, PROBLEM.link
    z_0 = normals[:, :2]
    z = m * z_0 + np.sqrt(q - m**2) * normals[:, 2:4]
    xi = 0.5 * normals[:, 4]

    def ell(z_0, z):
        y = link(z_0) + xi
        return (proximal_points(link, y, z, V, [z, z_0]).p - z) / V

    p = z + V * ell(z_0, z)
    for k in range(3):
        y = float(link(z_0[k : k + 1])[0] + xi[k])

        def value(u, k=k, y=y):
            return np.sum((u - z[k]) ** 2 / (2.0 * V)) + (y - u[0] - u[1] ** 2) ** 2

        found = min(
            (scipy.optimize.minimize(value, start, tol=1e-12) for start in (z[k], z_0[k])), key=lambda one: one.fun
        )
        assert p[k] == pytest.approx(found.x, abs=1e-5)
        here = proximal_objective(link, np.array([y]), z[k : k + 1], V, p[k : k + 1])
        assert value(p[k]) == pytest.approx(float(here[0]))
    hats = sample_means(PROBLEM, OVERLAPS, normals).hats
    assert hats.q_hat == pytest.approx(4.0 * np.mean(ell(z_0, z) ** 2, axis=0), rel=1e-6)
    for h in range(2):
        turn = step * np.eye(2)[h]
        by_target = (ell(z_0 + turn, z) - ell(z_0 - turn, z))[:, h] / (2.0 * step)
        by_learner = (ell(z_0, z + turn) - ell(z_0, z - turn))[:, h] / (2.0 * step)
        assert hats.m_hat[h] == pytest.approx(4.0 * by_target.mean(), rel=1e-4)
        assert hats.v_hat[h] == pytest.approx(-4.0 * by_learner.mean(), rel=1e-4)


def integral(law, delta, c, integrand):
    """``int_c integrand(x, h(x)) mu`` by panels of Gauss and Legendre inside every band above c."""
    free = FreeConvolution(law, delta)
    at, weight = np.polynomial.legendre.leggauss(400)
    total = 0.0
    for left, right in free.support:
        low = max(left, c)
        if low < right:
            angle = np.arcsin(2.0 * (low - left) / (right - left) - 1.0)  # takes the square roots at edges away
            angles = 0.5 * (np.pi / 2 - angle) * at + 0.5 * (np.pi / 2 + angle)
            x = 0.5 * (left + right) + 0.5 * (right - left) * np.sin(angles)
            measure = 0.5 * (np.pi / 2 - angle) * weight * 0.5 * (right - left) * np.cos(angles)
            total += float(np.sum(measure * free.density(x) * integrand(x, free.hilbert(x))))
    return total


@evaluates(
    r"""\delta = \frac{\sqrt{\hat q}}{\hat m}, \quad c = \frac{2 \lambda}{\hat m}, \quad q = \frac{\hat m^2}{\hat
    \Sigma^2} \sum_{\pm} \int_c (x - c)^2 \mu, \quad \Sigma = \frac{2}{\hat \Sigma} \sum_{\pm} \int_c (x - c)\,
    \mathsf h\, \mu, \quad m = \frac{\hat m}{\hat \Sigma} \sum_{\pm} \Big[ \int_c x (x - c)\, \mu - 2 \delta^2 \int_c
    (x - c)\, \mathsf h\, \mu \Big]""",
    r"""\mathtt{train\_loss} = \alpha\, \mathbb E\, (y - g(p))^2 + \lambda \sum_h \frac{\hat m_h}{\hat \Sigma_h}
    \sum_{\pm} \int_c (x - c)\, \mu, \qquad \mathtt{test\_error} = \mathbb E\, (y - g(z))^2""",
)
@pytest.mark.parametrize("law", [TWO_ATOMS, ps.MarchenkoPastur(0.5)])
def test_matrices_in_noise(law):
    m_hat, q_hat, v_hat, lam = 2.0, 1.5, 2.3, 0.4
    delta, c, scale = sqrt(q_hat) / m_hat, 2.0 * lam / m_hat, m_hat / v_hat
    found = shrunk(law, m_hat, q_hat, v_hat, lam)

    def both(integrand):
        return sum(integral(side, delta, c, integrand) for side in (law, mirrored(law)))

    response = both(lambda x, h: (x - c) * h)
    assert found.q == pytest.approx(scale**2 * both(lambda x, h: (x - c) ** 2), rel=1e-4)
    assert found.v == pytest.approx(2.0 / v_hat * response, rel=1e-4)
    assert found.m == pytest.approx(scale * (both(lambda x, h: x * (x - c)) - 2.0 * delta**2 * response), rel=1e-4)
    assert found.nuclear == pytest.approx(scale * both(lambda x, h: x - c), rel=1e-4)
    problem = ps.multi_matrix(law, ps.PowersLink(1), alpha=1.5, weight_decay=lam, noise=0.3)
    overlaps = Overlaps(*(np.array([getattr(found, name)]) for name in ("m", "q", "v")))
    normals = rule(1, 256, 0)
    values = observed(problem, FixedPoint(overlaps, sample_means(problem, overlaps, normals), (found,), 0.0))
    error = law.second_moment - 2.0 * found.m + found.q + 0.3
    assert values["test_error"] == pytest.approx(error)
    trained = error / (1.0 + 2.0 * found.v) ** 2  # p of a linear label
    assert values["train_loss"] == pytest.approx(1.5 * trained + lam * found.nuclear)


@evaluates(
    r"""\omega = z - V \ell, \qquad \Lambda_h = -\frac{2}{d^2} \sum_\mu D_{hh}, \qquad S_h = \frac{1}{\Lambda_h}\, \eta
    \Big( \frac{2}{d} \sum_\mu \ell_h \frac{x x^\top - 1}{\sqrt{2 d}} + \Lambda_h S_h \Big), \qquad V_h =
    \frac{2}{d^2} \operatorname{div} S_h"""
)
def test_message_passing():
    """Of a linear label ``l = 2 (y - omega)/(1 + 2 V)``: two iterations without damping, by hand."""
    problem = ps.multi_matrix(TWO_ATOMS, ps.PowersLink(1), alpha=1.5, weight_decay=0.3, noise=0.3)
    rng = np.random.default_rng(4)
    S_0 = draw_matrices(problem, D, rng)
    X, y = samples = draw_samples(problem, S_0, problem.samples(D), rng, 1)
    S, V, ell = 0.5 * S_0[0], 1.0, np.zeros(len(y))
    found = islice(amp.message_passing(Objective(problem.link, samples, 0.3), 0.5 * S_0, 1.0, 0.0), 2)
    for state in found:
        omega = forms(X, [S])[:, 0] - V * ell
        ell, Lambda = 2.0 * (y - omega) / (1.0 + 2.0 * V), 2.0 / D**2 * len(y) * 2.0 / (1.0 + 2.0 * V)
        pull = sum(one * (np.outer(x, x) - np.eye(D)) for one, x in zip(ell, X, strict=True)) / sqrt(2.0 * D)
        theta, vectors = np.linalg.eigh(2.0 / D * pull + Lambda * S)
        s = np.sign(theta) * np.maximum(np.abs(theta) - 0.6, 0.0) / Lambda
        S = (vectors * s) @ vectors.T
        pairs = [(s[i] - s[j]) / (theta[i] - theta[j]) for i in range(D) for j in range(i)]
        V = 2.0 / D**2 * (np.sum(np.abs(theta) > 0.6) / Lambda + sum(pairs))
        assert state.S[0] == pytest.approx(S)
        assert state.V[0] == pytest.approx(V)


@evaluates(
    r"\mathbb E\, (y - g(z))^2_{\mathrm{new}}",
    r"\mathcal L/d^2",
    r"\frac{1}{n} \sum_\mu (y^\mu - g(z^\mu))^2",
    *(rf"\|S_{h} - S_{{0,{h}}}\|_F^2/d" for h in (1, 2, 3)),
    *(rf"\#\{{i : s_i(S_{h}) \ne 0\}}/d" for h in (1, 2, 3)),
)
def test_what_networks_measure():
    problem = PROBLEM.replace(link=ps.PowersLink(1, 2, 2))
    trained = ps.simulate(problem, d=D, seeds=1, n_test=50, keep="weights", processes=1)
    S, S_0 = trained.weights[0], trained.targets[0]
    for_target, for_data, _, for_test = streams(0, D)
    assert draw_matrices(problem, D, for_target) == pytest.approx(S_0)
    samples = draw_samples(problem, S_0, problem.samples(D), for_data, 1)
    fresh = draw_samples(problem, S_0, 50, for_test, 1)
    off, test = (y - problem.link(quadratic_forms(X, S)) for X, y in (samples, fresh))
    values = np.linalg.eigvalsh(S)
    assert trained.test_error[0] == pytest.approx(np.mean(test**2))
    assert trained.train_error[0] == pytest.approx(np.mean(off**2))
    assert trained.train_loss[0] == pytest.approx((np.sum(off**2) + 0.5 * D * np.abs(values).sum()) / D**2)
    for h in range(3):
        error, rank = (getattr(trained, f"{name}_{h + 1}")[0] for name in ("estimation_error", "rank"))
        assert error == pytest.approx(np.sum((S[h] - S_0[h]) ** 2) / D)
        assert rank == pytest.approx(np.mean(np.abs(values[h]) > 1e-3))
