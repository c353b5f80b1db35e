"""What weight decay makes of a matrix in noise, beside a real matrix."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

import presage as ps
from presage.laws.random_frame import random_frame
from presage.models.multi_matrix.experiment.objective import soft_threshold
from presage.models.multi_matrix.theory.weight_side import Mirrored, mirrored, shrunk
from tests.models.multi_matrix.instance import TWO_ATOMS

D = 500
HATS = (2.0, 1.5, 2.3)  # m_hat, q_hat, v_hat
DECAY = 0.4


def sampled(law, m_hat, q_hat, v_hat, weight_decay):
    """Target, noise and estimate of one large matrix."""
    rng = np.random.default_rng(7)
    frame = random_frame(D, D, rng)
    S_0 = (frame * law.sample(D, rng)) @ frame.T
    G = rng.standard_normal((D, D))
    G = (G + G.T) / sqrt(2.0 * D)
    theta, vectors = np.linalg.eigh(m_hat * S_0 + sqrt(q_hat) * G)
    s = soft_threshold(theta, 2.0 * weight_decay) / v_hat
    return S_0, G, (vectors * s) @ vectors.T, s


@pytest.mark.parametrize("law", [TWO_ATOMS, ps.MarchenkoPastur(0.5), ps.PointMasses([-0.5, 2.0], [0.7, 0.3])])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_overlaps_of_a_sampled_matrix(law, sign):
    m_hat, q_hat, v_hat = sign * HATS[0], *HATS[1:]
    S_0, G, S, s = sampled(law, m_hat, q_hat, v_hat, DECAY)
    found = shrunk(law, m_hat, q_hat, v_hat, DECAY)
    assert found.m == pytest.approx(np.sum(S * S_0) / D, rel=0.01)
    assert found.q == pytest.approx(np.sum(S * S) / D, rel=0.01)
    assert found.v == pytest.approx(np.sum(S * G) / D / sqrt(q_hat), rel=0.02)  # Stein's lemma
    assert found.rank == pytest.approx(np.count_nonzero(s) / D, abs=0.01)
    assert found.nuclear == pytest.approx(np.abs(s).sum() / D, rel=0.01)


def test_response_is_a_derivative():
    """The overlaps are derivatives of one function of the hats: dm/d(sqrt q_hat) is <S_0, dS> and so on."""
    m_hat, q_hat, v_hat = HATS
    step = 1e-5

    def energy(m_hat, q_hat, v_hat):  # -min of the penalised quadratic, over d: (v_hat/4) |S|^2 at its minimum
        return v_hat * shrunk(TWO_ATOMS, m_hat, q_hat, v_hat, DECAY).q / 4.0

    found = shrunk(TWO_ATOMS, *HATS, DECAY)
    assert (energy(m_hat + step, q_hat, v_hat) - energy(m_hat - step, q_hat, v_hat)) / step == pytest.approx(found.m)
    assert (energy(m_hat, q_hat + step, v_hat) - energy(m_hat, q_hat - step, v_hat)) / step == pytest.approx(
        found.v / 2.0
    )


def test_a_symmetric_law_is_twice_one_side():
    from presage.spectra.symmetric.functionals import functionals

    m_hat, q_hat, v_hat = HATS
    f = functionals(TWO_ATOMS, sqrt(q_hat) / m_hat, 2.0 * DECAY / m_hat)
    found = shrunk(TWO_ATOMS, *HATS, DECAY)
    assert found.q == pytest.approx(2.0 * (m_hat / v_hat) ** 2 * f.J)
    assert found.v * v_hat == pytest.approx(4.0 * f.I)
    assert mirrored(TWO_ATOMS) is TWO_ATOMS


def test_mirror_images():
    law = ps.MarchenkoPastur(0.5)
    other = mirrored(law)
    assert isinstance(other, Mirrored)
    assert other.moment(3) == pytest.approx(-law.moment(3))
    assert other.support == pytest.approx(-law.support[::-1, ::-1])
    assert float(other.cdf(-0.7)) == pytest.approx(1.0 - float(law.cdf(0.7)), abs=1e-6)
    z = np.array([0.3 + 0.2j, -1.0 + 1.0j])
    assert mirrored(ps.PointMasses([-0.5, 2.0])).stieltjes(z) == pytest.approx(
        Mirrored(ps.PointMasses([-0.5, 2.0])).stieltjes(z)
    )


def test_nothing_is_left_of_what_is_too_small():
    found = shrunk(TWO_ATOMS, 1e-9, 1e-3, 1.0, 0.5)
    assert (found.m, found.q, found.v, found.rank) == (0.0, 0.0, 0.0, 0.0)
    assert shrunk(TWO_ATOMS, 0.0, 9.0, 1.0, 0.5).m == 0.0
