"""What a sequence says about the symmetric and antisymmetric parts of a matrix, if tokens look at themselves too.

``S = S_s + S_a``. With z_ab (a <= b) normals of variance Q_s = |S_s|^2/d and t_ab (a < b) of variance Q_a, scores are
``R_aa = sqrt(2) z_aa``, ``R_ab = z_ab + t_ab`` and ``R_ba = z_ab - t_ab``. Noise of variance Delta on every score adds
Delta/2 to both variances of the target.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.untied.problem import UntiedProblem
from presage.solving.block_channel import BlockChannel, BlockHats, BlockOverlaps
from presage.solving.block_prox import Loss, LossTerms

# Differences u_1 = R_11 - R_12 and u_2 = R_22 - R_21: A_s A_s' and A_a A_a'; the parts share no component.
SEEN = np.array([[[[3.0, 1.0], [1.0, 3.0]], np.zeros((2, 2))], [np.zeros((2, 2)), [[1.0, -1.0], [-1.0, 1.0]]]])


class BlockConjugates(NamedTuple):
    """Hats of the two parts (both diagonal) and the two errors of a sample."""

    hats: BlockHats
    test: float
    train: float


def softmax_rows(problem: UntiedProblem) -> Loss:
    """Loss of two rows of two keys, ``2 sum_i (s(beta u_i) - s(beta_0 u0_i))^2``, with its derivatives.

    Equation: derived, section 0 of the state evolution with P = 2.
    Checked: tests/models/untied/theory/test_blocks.py::test_the_loss_of_two_rows_has_its_derivatives
    """
    beta, beta_0 = problem.beta, problem.target_beta

    def loss(u0: Floats, u: Floats) -> LossTerms:
        s, s0 = _sigmoid(beta * u), _sigmoid(beta_0 * u0)
        e, slope = s - s0, s * (1.0 - s)
        bent = 4.0 * beta**2 * slope * (slope + e * (1.0 - 2.0 * s))
        crossed = -4.0 * beta * beta_0 * slope * s0 * (1.0 - s0)
        value = 2.0 * np.sum(e * e, axis=1)
        return LossTerms(value, 4.0 * beta * e * slope, _diagonal(bent), _diagonal(crossed))

    return loss


def softmax_conjugates(
    channel: BlockChannel, loss: Loss, rho_0: Floats, overlaps: BlockOverlaps, *, careful: bool
) -> BlockConjugates:
    """Conjugates of a softmax over two tokens, ``K = Sigma_s B_s + Sigma_a B_a``, w = 2; their parts do not mix."""
    found = channel.averages(loss, rho_0, overlaps, careful=careful)
    hats = BlockHats(*(np.diag(np.diag(hat)) for hat in found.hats))
    return BlockConjugates(hats, found.test_error, found.train_error)


def linear_conjugates(problem: UntiedProblem, rho_0: Floats, overlaps: BlockOverlaps) -> BlockConjugates:
    """Conjugates of a linear output, any number of tokens.

        L_s = T (T+1)/2,  L_a = T (T-1)/2,  m_hat_g = Sigma_hat_g = 8 alpha L_g/(1 + 4 Sigma_g)
        q_hat_g = Sigma_hat_g^2 (rho_0g - 2 m_g + q_g)/(2 alpha L_g)

    Equation: derived: the loss of a sequence is ``2 sum_g sum (z_0^g - z^g)^2`` over the L_g components of part g.
    Checked: tests/models/untied/theory/test_blocks.py::test_a_linear_output_through_the_softmax_route
    """
    T, alpha = problem.n_tokens, problem.alpha
    L = np.array([T * (T + 1) / 2.0, T * (T - 1) / 2.0])
    rho, m, q, Sigma = (np.diag(matrix) for matrix in (rho_0, *overlaps))
    error, gives = rho - 2.0 * m + q, 1.0 + 4.0 * Sigma
    stiffness = 8.0 * alpha * L / gives
    noise = stiffness**2 * error / (2.0 * alpha * L)
    hats = BlockHats(np.diag(stiffness), np.diag(noise), np.diag(stiffness))
    return BlockConjugates(hats, float(2.0 * L @ error), float(2.0 * L @ (error / gives**2)))


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * x)))


def _diagonal(entries: Floats) -> Floats:
    matrices = np.zeros((*entries.shape, entries.shape[1]))
    matrices[:, [0, 1], [0, 1]] = entries
    return matrices
