"""The formulas of the page of this model, evaluated as they stand there, beside what the code computes."""

from __future__ import annotations

from math import exp, sqrt

import numpy as np
import pytest

import presage as ps
from presage.models.pooling.experiment.tokens import draw_sequences, draw_table, pooled
from presage.models.pooling.theory.pooled_law import PooledLaw
from presage.models.pooling.theory.transitions import stands_out
from presage.protocol.ensemble import streams
from tests.page_formulas import evaluates

RHO, ALPHA, VOCABULARY, T = 1.2, 2.0, 3.0, 6
PROBLEM = ps.attention_pooling(
    ps.GivenPooling(np.linspace(1.0, 0.3, T)),
    alpha=ALPHA,
    vocabulary=VOCABULARY,
    signal=RHO,
    classes=ps.AlignedTokens(0.9, 0.8),
    n_tokens=T,
)
DELTA, GAMMA = 1 / VOCABULARY, 1 / ALPHA


@evaluates(
    r"""E = \mu\, s^\top + Z \in \mathbb R^{d \times V}, \qquad \|\mu\|^2 = \rho, \quad Z_{iv} \sim \mathcal N(0, 1),
    \quad V = \mathtt{vocabulary}\; d"""
)
def test_the_table():
    table = draw_table(RHO, 400, 1000, np.random.default_rng(0))
    assert table.sign.sum() == 0
    assert table.direction @ table.direction == pytest.approx(1.0)
    Z = table.tokens - np.outer(table.sign, sqrt(RHO) * table.direction)
    assert (Z.mean(), Z.var()) == pytest.approx((0.0, 1.0), abs=0.01)


@evaluates(
    r"""s_t = y\, b_t, \quad \mathbb E\, b_t = r_t = r\, \mathtt{decay}^{t-1}, \qquad
    R = r r^\top + \operatorname{diag}(1 - r_t^2)"""
)
def test_correlation_of_the_classes():
    r = np.array([0.9 * 0.8**t for t in range(T)])
    np.testing.assert_allclose(PROBLEM.correlation, np.outer(r, r) + np.diag(1 - r**2))


@evaluates(
    r"""x_i = \sum_{t=1}^{T} w_t\, e_{v_{it}}, \qquad C = \frac{1}{N} \sum_{i=1}^{N} (x_i - \bar x)(x_i - \bar x)^\top,
    \qquad \kappa = \|w\|^2, \quad a = w^\top R\, w""",
    r"\langle u, \mu/\|\mu\| \rangle^2",
    r"\lambda_1(C)/\kappa",
    r"\lambda_2(C)/\kappa",
    r"\operatorname{rank}(C)/d",
)
def test_what_is_measured_of_a_table():
    d = 12
    found = ps.simulate(PROBLEM, d=d, seeds=[3], processes=1)
    for_table, for_sequences, _, _ = streams(3, d)
    table = draw_table(RHO, d, round(VOCABULARY * d), for_table)
    N = round(ALPHA * d)
    sequences = draw_sequences(PROBLEM, table, N, for_sequences)
    w = np.array(PROBLEM.weights)
    x = np.array([sum(w[t] * table.tokens[sequences[i, t]] for t in range(T)) for i in range(N)])
    X, kappa = pooled(PROBLEM, table, sequences)
    np.testing.assert_allclose(X, x)
    assert kappa == pytest.approx(w @ w)
    off = x - x.mean(axis=0)
    C = sum(np.outer(row, row) for row in off) / N
    values, vectors = np.linalg.eigh(C)
    assert found.top[0] == pytest.approx(values[-1] / kappa)
    assert found.edge[0] == pytest.approx(values[-2] / kappa)
    assert found.rank[0] == np.linalg.matrix_rank(C) / d
    assert found.alignment[0] == pytest.approx((vectors[:, -1] @ table.direction) ** 2)
    assert ps.solve(PROBLEM).gain == pytest.approx(w @ PROBLEM.correlation @ w / kappa)


@evaluates(r"w_s = \frac{1}{T} \Big[ \frac{e^\tau}{s - 1 + e^\tau} + \sum_{t > s} \frac{1}{t - 1 + e^\tau} \Big]")
def test_causal_weights():
    tau = 0.7
    own = exp(tau)
    later = [sum(1 / (t - 1 + own) for t in range(s + 1, T + 1)) for s in range(1, T + 1)]
    w = [(own / (s - 1 + own) + later[s - 1]) / T for s in range(1, T + 1)]
    np.testing.assert_allclose(ps.CausalPooling(tau).weights(np.eye(T)), w)


@evaluates(
    r"\lambda(y) = \frac{(1 + y)(1 + \delta y)(1 + \gamma y)}{y}",
    r"2 \delta \gamma\, y^3 + (\delta + \gamma + \delta \gamma)\, y^2 = 1",
    r"""m_1 = 1, \quad m_2 = 1 + \delta + \gamma, \quad
    m_3 = 1 + 3 (\delta + \gamma) + \delta^2 + \gamma^2 + 3 \delta \gamma""",
)
def test_the_bulk():
    law = PooledLaw(DELTA, GAMMA)
    x = np.linspace(law.lower_edge, law.upper_edge, 400_001)[1:-1]
    for z in (1.0 + 1.0j, 7.0 + 0.5j):
        g = np.trapezoid(law.density(x) / (z - x), x)
        y = z * g - 1
        assert (1 + y) * (1 + DELTA * y) * (1 + GAMMA * y) / y == pytest.approx(z, rel=1e-3)
    roots = np.roots([2 * DELTA * GAMMA, DELTA + GAMMA + DELTA * GAMMA, 0, -1])
    y = roots[np.isreal(roots) & (roots.real > 0)][0].real
    assert law.upper_edge == pytest.approx((1 + y) * (1 + DELTA * y) * (1 + GAMMA * y) / y)
    assert law.upper_edge == ps.solve(PROBLEM).edge
    third = 1 + 3 * (DELTA + GAMMA) + DELTA**2 + GAMMA**2 + 3 * DELTA * GAMMA
    moments = [np.trapezoid(law.density(x) * x**k, x) for k in (1, 2, 3)]
    np.testing.assert_allclose(moments, [1, 1 + DELTA + GAMMA, third], rtol=1e-4)


@evaluates(
    r"t = \frac{a}{\kappa} (\rho + \delta) - \delta",
    r"""\mathtt{table\_outlier} = (t + \delta) \Big( 1 + \frac{1}{t} \Big), \qquad
    \mathtt{table\_alignment} = 1 - \frac{\delta}{t^2}""",
    r"t^3 > (\delta + \gamma + \delta \gamma)\, t + 2 \delta \gamma",
    r"""\mathtt{top} = t + (1 + \delta + \gamma) + \frac{\delta + \gamma + \delta \gamma}{t}
    + \frac{\delta \gamma}{t^2}""",
    r"""\mathtt{alignment} = \frac{\rho}{\rho + \delta} \cdot
    \frac{1 - (\delta + \gamma + \delta \gamma)/t^2 - 2 \delta \gamma/t^3}{1 + \gamma/t}""",
    r"\alpha = \frac{t + \delta t + 2 \delta}{t^3 - \delta t}",
)
def test_the_class():
    found = ps.solve(PROBLEM)
    w, R = PROBLEM.weights, PROBLEM.correlation
    t = w @ R @ w / (w @ w) * (RHO + DELTA) - DELTA
    assert found.effective_signal == pytest.approx(t)
    assert t**3 > (DELTA + GAMMA + DELTA * GAMMA) * t + 2 * DELTA * GAMMA
    assert found.is_found
    assert not stands_out(sqrt(DELTA), DELTA, GAMMA)
    assert found.table_outlier == pytest.approx((t + DELTA) * (1 + 1 / t))
    assert found.table_alignment == pytest.approx(1 - DELTA / t**2)
    both = DELTA + GAMMA + DELTA * GAMMA
    assert found.top == pytest.approx(t + (1 + DELTA + GAMMA) + both / t + DELTA * GAMMA / t**2)
    seen = (1 - both / t**2 - 2 * DELTA * GAMMA / t**3) / (1 + GAMMA / t)
    assert found.alignment == pytest.approx(RHO / (RHO + DELTA) * seen)
    assert ps.thresholds(PROBLEM).outlier == pytest.approx((t + DELTA * t + 2 * DELTA) / (t**3 - DELTA * t))
