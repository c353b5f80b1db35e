"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest
import scipy

import presage as ps
from presage.models.diagonal.experiment.simulate import draw_samples, draw_target
from presage.models.diagonal.experiment.training import Data, train_factors, train_proximal
from presage.protocol.ensemble import streams
from tests.page_formulas import evaluates

DELTA, DECAY, ALPHA = 0.4, 0.2, 0.8
SPARSE = ps.PointMasses([0.0, 1.0, 2.0], [0.6, 0.2, 0.2])
PROBLEMS = {
    draw: ps.diagonal_network(SPARSE, alpha=ALPHA, weight_decay=DECAY, noise=DELTA, draw=draw)
    for draw in ("fixed", "gaussian")
}


@evaluates(
    r"""y = \frac{x \cdot \theta_0}{\sqrt d} + \sqrt{\Delta}\, \xi, \qquad x \sim \mathcal N(0, 1_d), \quad
    \xi \sim \mathcal N(0, 1), \quad n = \alpha\, d"""
)
def test_labels():
    theta_0 = np.arange(5.0)
    A, labels = draw_samples(theta_0, DELTA, 8, np.random.default_rng(0))
    again = np.random.default_rng(0)
    x, xi = again.standard_normal((8, 5)), again.standard_normal(8)
    np.testing.assert_allclose(A, x / sqrt(5), rtol=1e-13)
    np.testing.assert_allclose(labels, [x[mu] @ theta_0 / sqrt(5) + sqrt(DELTA) * xi[mu] for mu in range(8)])


@evaluates(
    r"""\theta_{0,i} = s_i \quad (\text{fixed}), \qquad \theta_{0,i} \sim \mathcal N(0, s_i^2) \quad (\text{gaussian}),
    \qquad Q_0 = \mathbb E\, \theta_0^2"""
)
def test_entries_of_the_target():
    fixed = draw_target(PROBLEMS["fixed"], 10, np.random.default_rng(0))
    assert sorted(fixed) == [0.0] * 6 + [1.0] * 2 + [2.0] * 2
    gaussian = draw_target(PROBLEMS["gaussian"], 100_000, np.random.default_rng(0))
    assert np.mean(gaussian == 0.0) == pytest.approx(0.6, abs=1e-9)
    assert np.mean(gaussian**2) == pytest.approx(PROBLEMS["gaussian"].Q_0, rel=0.03)
    assert np.mean(gaussian**4) == pytest.approx(3 * (0.2 * 1 + 0.2 * 16), rel=0.1)
    assert pytest.approx(np.mean(fixed**2)) == PROBLEMS["fixed"].Q_0


@evaluates(
    r"""\mathcal L(u, v) = \sum_{\mu=1}^{n} \Big( y^\mu - \sum_{i=1}^{d} \frac{u_i v_i\, x^\mu_i}{\sqrt d} \Big)^2
    + \lambda \left( \|u\|^2 + \|v\|^2 \right)""",
    r"\theta_i = u_i v_i",
    r"\mathcal L(\theta) = \|y - A \theta\|^2 + 2 \lambda \|\theta\|_1",
    r"\mathbb E\, (y - x \cdot \theta/\sqrt d)^2_{\mathrm{new}}",
    r"\mathcal L/d",
    r"\frac{1}{n} \sum_{\mu} (y^\mu - x^\mu \cdot \theta/\sqrt d)^2",
    r"\|\theta - \theta_0\|^2/d",
    r"\#\{i : \theta_i \ne 0\}/d",
)
@pytest.mark.parametrize("draw", PROBLEMS)
def test_trained_vectors_measure_what_the_page_defines(draw):
    problem, d, n_test = PROBLEMS[draw], 20, 300
    found = ps.simulate(problem, d=d, seeds=[4], n_test=n_test, processes=1)
    for_target, for_data, for_trainer, for_test = streams(4, d)
    theta_0, n = draw_target(problem, d, for_target), round(ALPHA * d)
    x = for_data.standard_normal((n, d))
    y = x @ theta_0 / sqrt(d) + sqrt(DELTA) * for_data.standard_normal(n)
    data = Data(x / sqrt(d), y, DECAY)
    tol, steps = ps.ProximalGradient().tol, ps.ProximalGradient().steps
    theta = train_proximal(data, for_trainer, tol=tol, steps=steps).theta
    error = sum((y[mu] - x[mu] @ theta / sqrt(d)) ** 2 for mu in range(n))
    whole = error + 2 * DECAY * np.sum(np.abs(theta))
    fresh = for_test.standard_normal((n_test, d))
    new = fresh @ theta_0 / sqrt(d) + sqrt(DELTA) * for_test.standard_normal(n_test)
    assert found.test_error[0] == pytest.approx(np.mean((new - fresh @ theta / sqrt(d)) ** 2), rel=1e-9)
    assert found.train_error[0] == pytest.approx(error / n, rel=1e-9)
    assert found.train_loss[0] == pytest.approx(whole / d, rel=1e-9)
    assert found.estimation_error[0] == pytest.approx(np.sum((theta - theta_0) ** 2) / d, rel=1e-9)
    assert found.nonzero[0] == np.mean(theta != 0.0)
    # Balanced factors pay that l1 norm, and training the factors finds no lower minimum.
    u, v = np.sqrt(np.abs(theta)), np.sign(theta) * np.sqrt(np.abs(theta))
    by_hand = sum((y[mu] - sum(u * v * x[mu]) / sqrt(d)) ** 2 for mu in range(n)) + DECAY * (u @ u + v @ v)
    assert by_hand == pytest.approx(whole, rel=1e-12)
    factors = train_factors(data, np.random.default_rng(0), tol=1e-6, steps=20_000)
    assert factors.loss == pytest.approx(whole, rel=1e-5)


@evaluates(
    r"\theta = \operatorname{sign}(x)\, (|x| - c)_+, \qquad x = \theta_0 + \delta z",
    r"""\alpha\, \delta^2 = \Delta + \mathtt{estimation\_error}, \qquad
    \lambda = c\, (\alpha - \mathtt{nonzero}), \qquad \mathtt{nonzero} = P(|x| > c)""",
    r"\mathtt{test\_error} = \mathtt{estimation\_error} + \Delta",
    r"""\alpha\, \mathtt{train\_error} = \frac{\delta^2 \lambda^2}{c^2}, \qquad
    \mathtt{train\_loss} = \alpha\, \mathtt{train\_error} + 2 \lambda\, \mathbb E\, |\theta|""",
)
@pytest.mark.parametrize("draw", PROBLEMS)
def test_the_limit_is_a_soft_threshold_of_a_noisy_vector(draw):
    s, count = ps.solve(PROBLEMS[draw]), 2_000_000
    rng = np.random.default_rng(0)
    theta_0 = draw_target(PROBLEMS[draw], count, rng)
    x = theta_0 + s.delta * rng.standard_normal(count)
    theta = np.sign(x) * np.maximum(np.abs(x) - s.cutoff, 0.0)
    assert s.estimation_error == pytest.approx(np.mean((theta - theta_0) ** 2), rel=5e-3)
    assert s.nonzero == pytest.approx(np.mean(np.abs(x) > s.cutoff), abs=2e-3)
    assert ALPHA * s.delta**2 == pytest.approx(DELTA + s.estimation_error, rel=1e-9)
    assert s.cutoff * (ALPHA - s.nonzero) == pytest.approx(DECAY, rel=1e-9)
    assert s.test_error == pytest.approx(s.estimation_error + DELTA, rel=1e-12)
    assert ALPHA * s.train_error == pytest.approx((s.delta * DECAY / s.cutoff) ** 2, rel=1e-12)
    whole = ALPHA * s.train_error + 2 * DECAY * np.mean(np.abs(theta))
    assert s.train_loss == pytest.approx(whole, rel=5e-3)


@evaluates(
    r"""\alpha = 1, \qquad \alpha = r + 2 (1 - r)\, Q(\chi) \quad\text{with}\quad
    r \chi = 2 (1 - r) \left( \phi(\chi) - \chi\, Q(\chi) \right)"""
)
def test_thresholds():
    r, normal = 0.4, scipy.stats.norm
    chi = scipy.optimize.brentq(
        lambda chi: 2 * (1 - r) * (normal.pdf(chi) - chi * normal.sf(chi)) - r * chi, 0.0, 10.0, xtol=1e-14
    )
    found = ps.thresholds(PROBLEMS["fixed"])
    assert found.interpolation == 1.0
    assert found.minimal_l1_norm == pytest.approx(r + 2 * (1 - r) * normal.sf(chi), rel=1e-10)


@evaluates(
    r"E(c) = \frac{2 \gamma}{2 \gamma - 1}\, \frac{M}{d}\, A^{1/\gamma}\, c^{2 - 1/\gamma}",
    r"""R_{\mathrm{II}} = E(\lambda/\alpha), \qquad R_{\mathrm{IV}} = E(\chi \delta), \qquad
    R_{\mathrm V} = \delta^2 J(\chi), \qquad \alpha = 2 Q(\chi)""",
    r"""R_{\mathrm{III}} = \frac{\alpha c^2 + \Delta}{\alpha - 1}, \quad c = \frac{\lambda}{\alpha - 1}, \qquad
    R_{\mathrm{VI}} = \frac{\Delta}{\alpha - 1}, \qquad
    R_{\mathrm{peak}} = \left( \frac{\Delta^2 \sqrt{\pi/2}}{4 \lambda} \right)^{2/3}""",
)
@pytest.mark.parametrize("draw", PROBLEMS)
def test_scaling_laws(draw):
    gamma, d, normal = 1.25, 1000, scipy.stats.norm
    law = ps.PowerLaw(gamma, d)
    A = law.atoms.positions.max()
    M = 1.0 if draw == "fixed" else scipy.integrate.quad(lambda z: 2 * z ** (1 / gamma) * normal.pdf(z), 0.0, 40.0)[0]

    def E(c: float) -> float:
        return float(2 * gamma / (2 * gamma - 1) * M / d * A ** (1 / gamma) * c ** (2 - 1 / gamma))

    def said(phase: str, alpha: float, decay: float, noise: float) -> float:
        problem = ps.diagonal_network(law, alpha=alpha, weight_decay=decay, noise=noise, draw=draw)
        found = ps.scaling(problem, factor=None)
        assert found.phase == phase
        return float(found.law_value)

    assert said("II", 2.0, 3.0, 0.5) == pytest.approx(E(3.0 / 2.0), rel=1e-9)
    chi = {alpha: normal.isf(alpha / 2) for alpha in (0.03, 0.3)}
    J = {alpha: 2 * ((1 + x**2) * normal.sf(x) - x * normal.pdf(x)) for alpha, x in chi.items()}
    R = said("IV", 0.03, 1e-6, 0.01)
    assert pytest.approx(E(chi[0.03] * sqrt((0.01 + R) / (0.03 - J[0.03]))), rel=1e-9) == R
    assert said("V", 0.3, 1e-6, 0.5) == pytest.approx(0.5 / (0.3 - J[0.3]) * J[0.3], rel=1e-9)
    c = 0.05 / 999.0
    assert said("III", 1000.0, 0.05, 1e-7) == pytest.approx((1000.0 * c**2 + 1e-7) / 999.0, rel=1e-9)
    assert said("VI", 10.0, 1e-6, 0.5) == pytest.approx(0.5 / 9.0, rel=1e-9)
    assert said("peak", 1.0, 1e-4, 0.5) == pytest.approx((0.5**2 * sqrt(np.pi / 2) / 4e-4) ** (2 / 3), rel=1e-9)
