"""Symmetric and antisymmetric part of one matrix, where samples see the two through different numbers of scores.

Scores of a token with itself see the symmetric part only. ``S = S_s + S_a``: with z_ab (a <= b) normals of variance
``|S_s|^2/d`` and t_ab (a < b) of variance ``|S_a|^2/d`` they are ``R_aa = sqrt(2) z_aa``, ``R_ab = z_ab + t_ab`` and
``R_ba = z_ab - t_ab``; noise of variance Delta on every score adds Delta/2 to both variances of the target.

A ridge is closed. A nuclear norm of the sum of two parts with stiffnesses of their own has no known law: it is solved
at a finite size. `parts_state_evolution` goes between them and the data.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, Protocol

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.solving.block_channel import BlockHats, BlockOverlaps
from presage.solving.sampled_weights import Prox, SampledWeights, wigner

NONE = np.zeros(1)
CLOSE = 1e-5  # relative distance at which a convex problem is solved
NOT_ZERO = 1e-7  # singular values above it, relative to the largest, are none of rounding


class PartConjugates(NamedTuple):
    """Hats of the two parts (all diagonal) and the two errors of a sample."""

    hats: BlockHats
    test: float
    train: float
    jumps: Floats = NONE  # relative differences of hats from those without derivatives, where they were looked at
    gain: float | None = None  # the best gain of the outputs, where one is learned


# Of overlaps, of the gain of the outputs (1 where none is learned), and whether to look from all starts.
Data = Callable[[BlockOverlaps, float, bool], PartConjugates]


class Weights(Protocol):
    """What the weights make of the hats."""

    @property
    def Q_0(self) -> Floats: ...
    def overlaps(self, hats: BlockHats) -> BlockOverlaps: ...


def linear_parts(tokens: int, alpha: float, rho_0: Floats, overlaps: BlockOverlaps) -> PartConjugates:
    """Conjugates of scores that are shown as they are, any number of tokens T.

        L_s = T (T+1)/2,  L_a = T (T-1)/2,  m_hat_g = Sigma_hat_g = 8 alpha L_g/(1 + 4 Sigma_g)
        q_hat_g = Sigma_hat_g^2 (rho_0g - 2 m_g + q_g)/(2 alpha L_g)

    Equation: derived: the loss of a sequence is ``2 sum_g sum (z_0^g - z^g)^2`` over the L_g components of part g.
    Checked: tests/solving/test_matrix_parts.py::test_scores_as_they_are_through_proximal_maps
    """
    L = np.array([tokens * (tokens + 1) / 2.0, tokens * (tokens - 1) / 2.0])
    rho, m, q, Sigma = (np.diag(matrix) for matrix in (rho_0, *overlaps))
    error, gives = rho - 2.0 * m + q, 1.0 + 4.0 * Sigma
    stiffness = 8.0 * alpha * L / gives
    noise = stiffness**2 * error / (2.0 * alpha * L)
    hats = BlockHats(np.diag(stiffness), np.diag(noise), np.diag(stiffness))
    return PartConjugates(hats, float(2.0 * L @ error), float(2.0 * L @ (error / gives**2)))


class RidgeParts:
    """Weights with a ridge ``tau d |S|_F^2``, closed for each part; least squares at tau = 0.

        Sigma_g = 1/(Sigma_hat_g + 4 tau),  m_g = Q_0g m_hat_g Sigma_g,  q_g = (m_hat_g^2 Q_0g + q_hat_g) Sigma_g^2

    Equation: derived, the minimum of `SampledWeights` with the penalty ``tau |S|_F^2``.
    Checked: tests/solving/test_matrix_parts.py::test_a_ridge_is_that_of_drawn_matrices
    """

    def __init__(self, Q_0: Floats, tau: float) -> None:
        self.Q_0, self.tau = np.diag(Q_0), tau

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        m_hat, q_hat, Sigma_hat = (np.diag(hat) for hat in hats)
        Q_0 = np.diag(self.Q_0)
        Sigma = 1.0 / (Sigma_hat + 4.0 * self.tau)
        m, q = Q_0 * m_hat * Sigma, (m_hat**2 * Q_0 + q_hat) * Sigma**2
        return BlockOverlaps(np.diag(m), np.diag(q), np.diag(Sigma))


class DrawnParts:
    """Weights with the penalty ``threshold d |S|_*``, of one target and one noise of a size.

        S = argmin threshold |S|_* + sum_g [(Sigma_hat_g/4)|S_g|^2 - <S_g, m_hat_g S_0g + sqrt(q_hat_g) G_g>/2]

    G_s is symmetric Gaussian, G_a antisymmetric with entries N(0, 1/d).

    Equation: derived, `SampledWeights` for two parts under the nuclear norm of their sum.
    Checked: tests/solving/test_matrix_parts.py::test_equal_hats_of_the_parts_are_one_matrix
    """

    def __init__(self, S_0: Floats, threshold: float, rng: np.random.Generator) -> None:
        d = len(S_0)
        noise = rng.standard_normal((d, d))
        noises = np.stack([wigner(d, rng), (noise - noise.T) / sqrt(2.0 * d)])
        self.sampled = SampledWeights(parts(S_0), noises, nuclear(threshold))
        self.Q_0 = np.diag(np.diag(self.sampled.Q_0))

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        found = self.sampled.overlaps(hats, tol=CLOSE)
        return BlockOverlaps(*(np.diag(np.diag(matrix)) for matrix in found))

    @property
    def singular_values(self) -> Floats:
        """Of the matrix as it stands, increasing, what is rounding set to zero."""
        values = np.linalg.svd(self.sampled.S.sum(axis=0), compute_uv=False)[::-1]
        return np.where(values > NOT_ZERO * max(values[-1], 1e-300), values, 0.0)


def parts(S: Floats) -> Floats:
    """Symmetric and antisymmetric part of a matrix."""
    return np.stack([0.5 * (S + S.T), 0.5 * (S - S.T)])


def nuclear(threshold: float) -> Prox:
    """Proximal map of ``threshold |S_s + S_a|_*`` in the two parts: singular values of their sum move down."""

    def prox(blocks: Floats, step: float) -> Floats:
        left, values, right = scipy.linalg.svd(blocks.sum(axis=0), check_finite=False)
        kept = np.maximum(values - threshold * step, 0.0)
        return parts((left * kept) @ right)

    return prox
