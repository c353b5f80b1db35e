"""What the weights make of the data: from the conjugates to the overlaps, with every derivative.

The data amount to one noisy matrix, ``S_0 + delta Z`` with Z_ij ~ N(0, 1/d), and a penalty shrinks it.
"""

from __future__ import annotations

from math import exp
from typing import NamedTuple

import numpy as np

from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats
from presage.models.untied.theory.channel import Overlaps
from presage.spectra.rectangular.convolution import rectangular_functionals


class Shrunk(NamedTuple):
    """The minimum over the weights, given the logarithms of m_hat, q_hat, Sigma_hat."""

    overlaps: Overlaps
    jacobian: Floats  # of (m, q, Sigma) in the three logarithms
    delta: float  # sqrt(q_hat)/m_hat
    cutoff: float  # singular values of S_0 + delta Z below it become zero
    scale: float  # of what is left of the others
    estimation_error: float
    rank: float
    cost: float  # the penalty over d^2
    relative_error: float  # of the integrals


def shrunk_by_weight_decay(target: RectangularLaw, weight_decay: float, logs: Floats) -> Shrunk:
    """Overlaps of weight decay on both factors: singular values ``scale (x - c)_+`` of those, x, of ``S_0 + delta Z``.

        delta = sqrt(q_hat)/m_hat,   c = 2 lambda/m_hat,   scale = m_hat/Sigma_hat
        q = scale^2 J,   m = scale [int_c x (x-c) nu - delta^2 I],   Sigma = I/Sigma_hat

    Equation: derived: ``S = argmin (Sigma_hat/2)|S|^2 - <S, m_hat S_0 + sqrt(q_hat) Z> + 2 lambda |S|_*``; m by Stein.
    Checked: tests/models/untied/theory/test_weights.py::test_derivatives_agree_with_differences
    Checked: tests/models/untied/theory/test_weights.py::test_shrunk_matrices_of_a_size_agree
    """
    m_hat, _, Sigma_hat = np.exp(logs).tolist()
    delta, c, scale = exp(0.5 * logs[1] - logs[0]), 2.0 * weight_decay / m_hat, m_hat / Sigma_hat
    f = rectangular_functionals(target, delta, c)
    M = f.J + c * f.first - delta**2 * f.I
    m, q, Sigma = scale * M, scale**2 * f.J, f.I / Sigma_hat
    d_delta, d_c, d_scale = (np.array(row) for row in ([-delta, 0.5 * delta, 0.0], [-c, 0, 0], [scale, 0, -scale]))
    dM = (c * delta * f.hilbert - delta**2 * f.dI_ddelta) * d_delta
    dM = dM + (delta**2 * f.hilbert - f.first - c * f.rank) * d_c
    dJ = 2.0 * delta * f.I * d_delta - 2.0 * f.first * d_c
    dI = f.dI_ddelta * d_delta + f.dI_dc * d_c
    jacobian = np.stack(
        [
            scale * dM + M * d_scale,
            scale**2 * dJ + 2.0 * scale * f.J * d_scale,
            dI / Sigma_hat - np.array([0.0, 0.0, Sigma]),
        ]
    )
    # Q_0 - 2 m + q and Q_0 - m^2/q without the cancellation of a nearly perfect fit: scale is 1, the risk is known
    kept = 1.0 - scale
    error = scale * f.risk + kept * (target.second_moment - scale * f.J)
    more = scale * (c * f.first - delta**2 * f.I + kept * f.J)  # m - q
    left = error - more * more / q if q > 0.0 else target.second_moment
    cost = 2.0 * weight_decay * scale * f.first
    return Shrunk(Overlaps(m, q, Sigma, left), jacobian, delta, c, scale, error, f.rank, cost, f.relative_error)


def shrunk_by_ridge(Q_0: float, ridge: float, logs: Floats) -> Shrunk:
    """Overlaps of a ridge on the matrix itself, ``tau d |S|_F^2``; of least squares at tau = 0.

        Sigma = 1/(Sigma_hat + 2 tau),   m = Q_0 m_hat Sigma,   q = (m_hat^2 Q_0 + q_hat) Sigma^2

    Equation: derived: ``S = argmin (Sigma_hat/2 + tau)|S|^2 - <S, m_hat S_0 + sqrt(q_hat) Z>``.
    Checked: tests/models/untied/theory/test_weights.py::test_derivatives_agree_with_differences
    Checked: tests/models/untied/theory/test_limits.py::test_a_ridge_on_a_linear_output_is_ridge_regression
    """
    m_hat, q_hat, Sigma_hat = np.exp(logs).tolist()
    Sigma = 1.0 / (Sigma_hat + 2.0 * ridge)
    scale = m_hat * Sigma
    m, q = Q_0 * scale, scale**2 * Q_0 + q_hat * Sigma**2
    gives = Sigma_hat * Sigma  # -dlog Sigma/dlog Sigma_hat
    jacobian = np.array(
        [
            [m, 0.0, -m * gives],
            [2.0 * scale**2 * Q_0, q_hat * Sigma**2, -2.0 * q * gives],
            [0.0, 0.0, -Sigma * gives],
        ]
    )
    variance = q_hat * Sigma**2
    error = (1.0 - scale) ** 2 * Q_0 + variance
    left = Q_0 * variance / q
    delta = exp(0.5 * logs[1] - logs[0])
    return Shrunk(Overlaps(m, q, Sigma, left), jacobian, delta, 0.0, scale, error, 1.0, ridge * q, 0.0)
