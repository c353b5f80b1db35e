"""Flow and descent of a quadratic network on the loss of infinitely many samples, in closed form at every size."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas, lapack

from presage.laws.spectral_law import Floats

LONGEST = 5.0  # largest eigenvalue times the length of a step of the semigroup: e^{2 s theta} keeps its digits


class Eigenvalues(NamedTuple):
    """What is learned of each feature of the target, and what is left of it, which loses no digits as it vanishes."""

    learned: Floats
    left: Floats


def flow_of_eigenvalues(s: Floats, eps: float, theta: Floats) -> Eigenvalues:
    """What is learned of features of strength s after the time theta, from ``S = eps 1``.

        s(theta) = s eps e^{2 s theta}/(s + eps (e^{2 s theta} - 1)),   eps/(1 + 2 eps theta) where s = 0

    Equation: derived: ds/dtheta = 2 s (s_i - s), of dW/dtheta = (S_0 - S) W in the frame of S_0.
    Checked: tests/models/attention/theory/test_flows.py::test_eigenvalues_solve_their_equation
    """
    # Numerator and denominator over the larger of 1 and e^{2 s theta}, so that nothing is beyond the numbers.
    grown = 2.0 * s * theta
    over, under = np.exp(np.minimum(grown, 0.0)), np.exp(-np.maximum(grown, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(grown == 0.0, 2.0 * theta, np.expm1(-np.abs(grown)) / -np.abs(s))
    # 1 + eps (e^{2 s theta} - 1)/s, times `under`: the growth that is left to a small start
    whole = under + eps * slope
    return Eigenvalues(eps * over / whole, (s - eps) * under / whole)


def half_times(s: Floats, eps: float | Floats) -> Floats:
    """When half of each feature is learned, from ``S = eps 1``; 0 where it is to begin with, infinite where s <= 0.

        theta_i = ln(s_i/eps - 1)/(2 s_i)

    Equation: derived: s(theta) = s/2 in the flow of eigenvalues.
    Checked: tests/models/attention/theory/test_flows.py::test_half_of_a_feature_is_learned_at_its_half_time
    """
    positive = np.where(s > 0.0, s, 1.0)
    time = np.log(np.maximum(positive / eps - 1.0, 1.0)) / (2.0 * positive)
    return np.where(s > 0.0, time, np.inf)


def gaussian_starts(width: int, d: int, deviation: float) -> Floats:
    """The eps from which each feature grows, the strongest first, of Gaussian weights and features far apart.

        eps_i = w^2 (m - i + 1)/sqrt(m d),   i = 1 ... m;   none for i > m

    These are means: half-times of single starts spread by about ``1/(2 s_i)`` around those that follow from them.

    Equation: derived: what is left of W for feature i beside those before it is a Schur complement, chi squared of
        m - i + 1 degrees of freedom.
    Checked: tests/models/attention/theory/test_flows.py::test_half_times_of_gaussian_weights
    """
    i = np.arange(1, min(width, d) + 1)
    return np.asarray(deviation**2 * (width - i + 1) / np.sqrt(width * d))


def riccati(s_0: Floats, V: Floats, theta: float) -> Floats:
    """The factor V with ``S = V V'`` after the time theta, in the frame of the target, where it has eigenvalues s_0.

        S(theta) = e^{S_0 theta} V [1 + V' S_0^-1 (e^{2 S_0 theta} - 1) V]^-1 V' e^{S_0 theta}

    It is evaluated in steps, since the formula is one of a semigroup: in one go the inverse loses all digits.

    Equation: derived: the Riccati equation dS/dtheta = S_0 S + S S_0 - 2 S^2, linear in the inverse of S.
    Checked: tests/models/attention/theory/test_flows.py::test_the_check_value_of_the_riccati_equation
    Checked: tests/models/attention/theory/test_flows.py::test_steps_of_the_semigroup_agree_with_an_ode_solver
    """
    count = max(1, ceil(float(np.max(np.abs(s_0))) * theta / LONGEST))
    for _ in range(count):
        V = riccati_step(s_0, V, theta / count)
    return V


def riccati_step(s_0: Floats, V: Floats, theta: float) -> Floats:
    """The same in one go, for short times: ``V <- e^{S_0 theta} V C^-T`` with ``C C' = 1 + V' B V``."""
    grown = 2.0 * s_0 * theta
    with np.errstate(divide="ignore", invalid="ignore"):
        B = np.where(grown == 0.0, 2.0 * theta, np.expm1(grown) / s_0)
    U = np.sqrt(B)[:, None] * V
    inner = U.T @ U
    inner.flat[:: len(inner) + 1] += 1.0
    C, failed = lapack.dpotrf(inner, lower=True, overwrite_a=True)
    if failed:
        raise np.linalg.LinAlgError("1 + V' B V is not positive: S has left the finite numbers")
    # V C^-T, columns first as LAPACK has them
    return np.asarray(blas.dtrsm(1.0, C, np.exp(0.5 * grown)[:, None] * V, side=True, lower=True, trans_a=True))


def step_of_eigenvalues(s: Floats, learned: Floats, rate: float) -> Floats:
    """What is learned of features of strength s after one more step of descent.

        s <- s (1 + eta (s_i - s))^2,   which converges where eta s_max < 1

    Equation: derived: W <- W + eta (S_0 - S) W in the frame of S_0.
    Checked: tests/models/attention/theory/test_flows.py::test_descent_converges_where_it_should
    """
    return np.asarray(learned * (1.0 + rate * (s - learned)) ** 2)
