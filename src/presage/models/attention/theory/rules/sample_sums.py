"""What is summed over samples of two tokens, compiled: the averages of state evolution and their derivatives.

With ``B = -df/dz`` a change of ``z = mean a + sigma b`` or of Sigma moves f by
``df = -B (a dmean + b dsigma + f dSigma)``, so that the quadratic forms of B in a, b and f are all that derivatives of
``E f.a``, ``E f.b``, ``E |f|^2`` and ``E l(p)`` need; ``E |B|_F^2`` needs the third derivative of the loss too.
"""

from __future__ import annotations

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.pair_prox import pair_report
from presage.models.attention.channels.prox_report import (
    LOSS_AT_P,
    LOSS_AT_Z,
    OTHER_MINIMUM,
    REPORTED,
    ROOT_2,
    SQUARE_Z,
    TRACE_ANCHOR,
    TRACE_Z,
)
from presage.models.attention.theory.rules.rule import Averages, Gaussian, stein, stein_derivatives
from presage.protocol.njit import njit

# After the report: |f|^2, f.a, f.b,
SQUARE, F_A, F_B = range(REPORTED, REPORTED + 3)
# the quadratic forms of B,
A_B_A, A_B_B, B_B_B, A_B_F, B_B_F, F_B_F = range(F_B + 1, F_B + 7)
# the slope of the loss at z along a and b, that of |B|^2 along a, b and f, and the weights.
TEST_A, TEST_B, BEND_A, BEND_B, BEND_F, WEIGHT = range(F_B + 7, F_B + 13)
SUMMED = WEIGHT + 1


@njit(cache=True, error_model="numpy")
def add_sample(total, report, weight, point, terms, label, z, Sigma, beta):  # type: ignore[no-untyped-def]
    """Add one weighted sample ``(a1, a2, b1, b2)``, of the terms of the loss at its proximal point."""
    a1, a2, b1, b2 = point
    (f1, f2), (B11, B12, B22), (g1, g2) = pair_report(terms, label[0], label[1], z[0], z[1], Sigma, beta, report)
    for k in range(REPORTED):
        total[k] += weight * report[k]
    total[SQUARE] += weight * (f1 * f1 + f2 * f2)
    total[F_A] += weight * (f1 * a1 + f2 * a2)
    total[F_B] += weight * (f1 * b1 + f2 * b2)
    B_a1, B_a2 = B11 * a1 + B12 * a2, B12 * a1 + B22 * a2
    B_b1, B_b2 = B11 * b1 + B12 * b2, B12 * b1 + B22 * b2
    total[A_B_A] += weight * (a1 * B_a1 + a2 * B_a2)
    total[A_B_B] += weight * (b1 * B_a1 + b2 * B_a2)
    total[B_B_B] += weight * (b1 * B_b1 + b2 * B_b2)
    total[A_B_F] += weight * (f1 * B_a1 + f2 * B_a2)
    total[B_B_F] += weight * (f1 * B_b1 + f2 * B_b2)
    total[F_B_F] += weight * (f1 * (B11 * f1 + B12 * f2) + f2 * (B12 * f1 + B22 * f2))
    total[TEST_A] += weight * (g1 * a1 + g2 * a2)
    total[TEST_B] += weight * (g1 * b1 + g2 * b2)
    bend_1, bend_2, own = _bend(terms[5:], label, B11, B12, B22, Sigma, beta)
    total[BEND_A] += weight * (bend_1 * a1 + bend_2 * a2)
    total[BEND_B] += weight * (bend_1 * b1 + bend_2 * b2)
    total[BEND_F] += weight * (bend_1 * f1 + bend_2 * f2 + own)
    total[WEIGHT] += weight


@njit(cache=True, error_model="numpy")
def _bend(outputs, label, B11, B12, B22, Sigma, beta):  # type: ignore[no-untyped-def]
    """Slope of ``|B|_F^2`` in z, and what Sigma does to it at fixed z beside moving p: ``-2 tr B^3``.

    ``dB = A dH A - B^2 dSigma``, ``A = 1 - Sigma B``, and ``dH = sum_i c_i' (n_i.dp) n_i n_i'`` over the rows
    ``n = (+-1, sqrt2)``, each with its own curvature ``c_i`` of the loss.
    """
    A11, A12, A22 = 1.0 - Sigma * B11, -Sigma * B12, 1.0 - Sigma * B22
    bend_1 = bend_2 = 0.0
    for row in range(2):
        sign = 1.0 if row == 0 else -1.0
        p, r = outputs[row], outputs[row] - label[row]
        w, tilt = beta * p * (1.0 - p), 1.0 - 2.0 * p
        third = 4.0 * beta * w * (3.0 * w * tilt + r * beta * tilt * tilt - 2.0 * r * w)
        n1, n2 = sign * A11 + ROOT_2 * A12, sign * A12 + ROOT_2 * A22  # A n
        pull = 2.0 * third * (n1 * (B11 * n1 + B12 * n2) + n2 * (B12 * n1 + B22 * n2))
        bend_1 += pull * n1
        bend_2 += pull * n2
    cube = B11**3 + 3.0 * B12**2 * (B11 + B22) + B22**3
    return bend_1, bend_2, -2.0 * cube


def derivatives(mean: Floats, Sigma: float) -> Floats:
    """Derivatives of ``E f.a``, ``E f.b``, ``E |f|^2``, ``E l(p)``, ``E |B|^2``, ``E l(z)`` in mean, sigma and Sigma.

    `mean` are the sums over their weight. What jumps of p add is summed over jumps.

    Equation: derived, ``df = -B (a dmean + b dsigma + f dSigma)``; the loss falls by f times the step of p.
    Checked: tests/models/attention/theory/test_expectations.py::test_derivatives_of_averages_are_those_of_differences
    """
    f_B = mean[[A_B_F, B_B_F, F_B_F]]
    return np.array(
        [
            -mean[[A_B_A, A_B_B, A_B_F]],
            -mean[[A_B_B, B_B_B, B_B_F]],
            -2.0 * f_B,
            -(mean[[F_A, F_B, SQUARE]] - Sigma * f_B),
            mean[[BEND_A, BEND_B, BEND_F]],
            [mean[TEST_A], mean[TEST_B], 0.0],
        ]
    )


def averages_of_samples(gaussian: Gaussian, means: Floats, ratio: float, slopes: Floats | None = None) -> Averages:
    """The averages that these means say, a row an estimate; `ratio` is that of the anchor to ``z_0``.

    `slopes` are the `derivatives` of the means, where there is one row and they are known.
    """
    stein_z, stein_z_0 = stein(gaussian, means[:, F_A], means[:, F_B])
    return Averages(
        slope_z=means[:, TRACE_Z],
        slope_z_0=means[:, TRACE_ANCHOR] * ratio,
        stein_z=stein_z,
        stein_z_0=stein_z_0,
        square=means[:, SQUARE],
        square_slope=means[:, SQUARE_Z],
        train_error=means[:, LOSS_AT_P],
        test_error=means[:, LOSS_AT_Z],
        jumps=float(means[:, OTHER_MINIMUM].mean()),
        derivatives=None if slopes is None else stein_derivatives(gaussian, slopes, means[0, F_B]),
    )
