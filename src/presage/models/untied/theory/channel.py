"""What the data say about the matrix: from the overlaps of scores to the conjugates, row by row.

Rows of distinct tokens decouple: the softmax is row-wise, and the scores of a row are independent normals given the
overlaps. So every conjugate is a sum over the rows of a sample.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from presage.models.untied.problem import UntiedProblem
from presage.models.untied.theory.pair_row import pair_averages
from presage.models.untied.theory.row_averages import RowAverages
from presage.models.untied.theory.wide_row import lattice, scattered, wide_averages


class Overlaps(NamedTuple):
    """What the weights give: ``m = <S, S_0>/d``, ``q = |S|_F^2/d``, Sigma the response of S to a pull.

    `left` is ``Q_0 - m^2/q``, what S does not say about S_0. It is told apart, since m and q of a nearly perfect fit do
    not have the digits of it.
    """

    m: float
    q: float
    Sigma: float
    left: float

    @classmethod
    def told(cls, Q_0: float, m: float, q: float, Sigma: float) -> Self:
        """Overlaps far from a perfect fit."""
        return cls(m, q, Sigma, Q_0 - m * m / q if q > 0.0 else Q_0)

    def moved(self, by: Sequence[float]) -> Self:
        """Overlaps at other m, q and Sigma, with all the digits of what is left."""
        dm, dq, dSigma = by
        m, q = self.m + dm, self.q + dq
        left = self.left - (2.0 * self.m + dm) * dm / self.q + m * m * dq / (self.q * q)
        return type(self)(m, q, self.Sigma + dSigma, left)


class Conjugates(NamedTuple):
    """What the data give: the pull towards the target, the variance of its noise, the stiffness; and two errors."""

    m_hat: float
    q_hat: float
    Sigma_hat: float
    test: float  # loss of a fresh sample
    train: float  # and of one that was trained on
    jumps: float  # part of the response that is jumps between two minima of the proximal map; nan where not known
    gain: float = 1.0  # the best gain of the outputs at the proximal points


class Rule(NamedTuple):
    """How the average over the scores of a row is taken: points across a plane, across a lattice, or scattered ones."""

    across: int  # each direction of a row of two keys
    lattice: int  # each direction of a row of three
    points: int = 0  # for longer rows, and the seed of their scramble
    seed: int = 0


def conjugates_of(problem: UntiedProblem, overlaps: Overlaps, rule: Rule, v: float = 1.0) -> Conjugates:
    """Conjugates of scores of distinct tokens, of outputs with a gain v.

        m_hat = alpha E tr dlam/dr_0,   Sigma_hat = -alpha E tr dlam/dr,   q_hat = alpha E |lam|^2

    summed over the rows of a sample, ``rho_0 = Q_0 + Delta``. The loss is stationary in a gain at fixed overlaps,

        v = v_0 E <sigma(p), sigma_0>/E |sigma(p)|^2

    with the proximal points p, and the same sums. The softmax of one key is 1, and tells nothing but the gain.

    Equation: derived, section 0 of the state evolution with w = 1 and independent rows.
    Checked: tests/models/untied/theory/test_check_values.py::test_two_keys_of_half_rank
    Checked: tests/models/untied/theory/test_rows.py::test_responses_are_what_stein_says
    Checked: tests/models/untied/theory/test_gain.py::test_the_loss_is_least_at_the_gain
    """
    if not problem.softmax:
        return _linear(problem, overlaps)
    total = RowAverages(*[0.0] * len(RowAverages._fields))
    for keys, rows in Counter(problem.keys).items():
        row = row_averages(problem, keys, overlaps, rule, v)
        total = RowAverages(*(so_far + rows * more for so_far, more in zip(total, row, strict=True)))
    alpha = problem.alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        by_stein = np.divide([total.stein, total.stein_0], [total.response, total.response_0])
    jumps = float(np.abs(by_stein - 1.0).max())
    return Conjugates(
        alpha * total.response_0,
        alpha * total.pull,
        -alpha * total.response,
        total.test,
        total.train,
        jumps,
        problem.v_0 * total.along / total.square,
    )


def row_averages(problem: UntiedProblem, keys: int, overlaps: Overlaps, rule: Rule, v: float) -> RowAverages:
    """Averages over one row with so many keys."""
    v_0 = problem.v_0
    if keys == 1:
        apart = (v - v_0) ** 2
        return RowAverages(0.0, 0.0, 0.0, apart, apart, 1.0, 1.0, 0.0, 0.0)
    m, q, Sigma, left = overlaps
    scores = (m, q, left + problem.noise, Sigma, problem.beta, problem.target_beta)
    if keys == 2:
        return pair_averages(*scores, rule.across, v, v_0)
    nodes = lattice(rule.lattice) if keys == 3 else scattered(keys, rule.points, rule.seed)
    return wide_averages(*scores, nodes, v, v_0)


def _linear(problem: UntiedProblem, overlaps: Overlaps) -> Conjugates:
    """Conjugates of a linear output, L scores a sample.

        m_hat = Sigma_hat = 2 alpha L/(1 + 2 Sigma),   q_hat = Sigma_hat^2 (rho_0 - 2 m + q)/(alpha L)

    Equation: derived; with the weight side it is the map of bilinear regression, ``lambda = c (alpha L - I)``.
    Checked: tests/models/untied/theory/test_limits.py::test_a_linear_output_is_bilinear_regression
    """
    L, (m, q, Sigma, left) = problem.components, overlaps
    stiffness = 2.0 * problem.alpha * L / (1.0 + 2.0 * Sigma)
    error = left + problem.noise + ((m - q) ** 2 / q if q > 0.0 else 0.0)  # rho_0 - 2 m + q
    test = L * error
    return Conjugates(
        stiffness,
        stiffness**2 * error / (problem.alpha * L),
        stiffness,
        test,
        test / (1.0 + 2.0 * Sigma) ** 2,
        0.0,
    )
