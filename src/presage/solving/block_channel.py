"""What samples say of several blocks of components that are seen together, through P combinations of them.

A sample has blocks of components ``z^g`` (g is a head, or the symmetric or antisymmetric part of a matrix). Those of
the target and of the learner are Gaussian with overlaps between blocks, independent over components, and the output
sees ``u = sum_g A_g z^g``. Only the products ``A_g A_k'`` play a part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.solving.block_prox import Loss, LossTerms, ProximalPoints, proximal_points


class BlockOverlaps(NamedTuple):
    """What G blocks of the learner share with the target's and with each other, and how far they give way."""

    m: Floats  # G x G: rows of the learner, columns of the target
    q: Floats
    Sigma: Floats


class BlockState(NamedTuple):
    """Overlaps of blocks, and the gain of the outputs as an array of one."""

    m: Floats
    q: Floats
    Sigma: Floats
    gain: Floats

    @property
    def overlaps(self) -> BlockOverlaps:
        """Without the gain."""
        return BlockOverlaps(self.m, self.q, self.Sigma)


class BlockHats(NamedTuple):
    """What the samples say about the blocks."""

    m_hat: Floats  # G x G: rows of the learner, columns of the target
    q_hat: Floats
    Sigma_hat: Floats


@dataclass(frozen=True, eq=False)
class BlockAverages:
    """Averages over samples of one rule."""

    hats: BlockHats
    train_error: float  # E l(u0, p)
    test_error: float  # E l(u0, u)
    u0: Floats  # the samples, n x P each, for averages of one's own
    u: Floats
    points: ProximalPoints

    def stein(self, products: Floats, scale: float) -> tuple[Floats, Floats]:
        """``m_hat`` and ``Sigma_hat`` without a derivative: ``[E D0, E D] = E[lam (u0, u)'] Cov^-1``.

        A second opinion, which sees jumps of the proximal point too, and has more noise. The covariance is that of
        the points: what is linear in them has none.
        """
        P = self.u.shape[1]
        lam, both = -self.points.terms.gradient, np.hstack([self.u0, self.u])
        slopes = lam.T @ both @ np.linalg.pinv(both.T @ both, rcond=1e-10, hermitian=True)
        return scale * traces(slopes[:, :P], products), -scale * traces(slopes[:, P:], products)


class BlockChannel:
    """Hats of blocks from their overlaps, over fixed points of a scrambled Sobol sequence.

        p = argmin_h (h-u)' K^-1 (h-u)/2 + l(u0,h),   K = sum_gk Sigma_gk A_g A_k'
        lam = -g_l(p),   D = dlam/du = -(1 + H_l K)^-1 H_l,   D0 = dlam/du0 = -(1 + H_l K)^-1 C_l
        m_hat_gk = scale E tr(A_g' D0 A_k),   Sigma_hat_gk = -scale E tr(A_g' D A_k)
        q_hat_gk = scale E lam' A_g A_k' lam

    `products[g, k]` is ``A_g A_k'``, P x P; `scale` is ``2 alpha`` for blocks of symmetric or antisymmetric matrices
    and alpha for those of full ones; `rho_0` are the overlaps of the target's blocks with each other, noise included.
    `permutations` of the blocks that change nothing are averaged over, which leaves less noise in soft directions.
    The proximal point is looked for from u, from u0 and from between, and where it was the last time.

    Equation: derived, as for one block: the replica-symmetric channel with matrices for numbers.
    Checked: tests/solving/test_block_channel.py::test_one_block_is_the_channel_of_attention
    Checked: tests/solving/test_block_channel.py::test_hats_of_a_linear_channel_are_closed
    """

    def __init__(
        self,
        products: Floats,
        *,
        scale: float,
        nodes: int,
        seed: int,
        permutations: Sequence[Sequence[int]] = (),
    ) -> None:
        self.products = np.asarray(products, dtype=np.float64)
        self.blocks, self.P = self.products.shape[0], self.products.shape[2]
        self.scale = scale
        self.permutations = [np.asarray(order) for order in permutations] or [np.arange(self.blocks)]
        self.normals = normal_points(2 * self.P, nodes, seed)
        self._last: Floats | None = None

    def averages(self, loss: Loss, rho_0: Floats, overlaps: BlockOverlaps, *, careful: bool = True) -> BlockAverages:
        """Averages at a state; without care only where the proximal points were the last time is looked at."""
        covariance = self.covariance(rho_0, overlaps)
        both = self.normals @ square_root(covariance)
        u0, u = np.ascontiguousarray(both[:, : self.P]), np.ascontiguousarray(both[:, self.P :])
        K = self.seen(overlaps.Sigma)
        if not K.any():  # weights that are all cut do not give way
            terms = loss(u0, u)
            value = float(np.mean(terms.value))
            return BlockAverages(self.hats_of(terms, K), value, value, u0, u, ProximalPoints(u, terms.value, terms))
        starts = [u, u0, 0.5 * (u + u0)] if careful or self._last is None else []
        starts += [] if self._last is None else [self._last]
        points = proximal_points(loss, u0, u, K, starts)
        self._last = points.p
        hats = self.hats_of(points.terms, K)
        test = float(np.mean(loss(u0, u).value))
        return BlockAverages(hats, float(np.mean(points.terms.value)), test, u0, u, points)

    def jumps(self, found: BlockAverages) -> Floats:
        """By how much ``m_hat`` and ``Sigma_hat`` differ without derivatives, relative to their largest entries."""
        others = (self.averaged(hat) for hat in found.stein(self.products, self.scale))
        pairs = zip(others, (found.hats.m_hat, found.hats.Sigma_hat), strict=True)
        return np.array([(other - hat) / max(float(np.max(np.abs(hat))), 1e-300) for other, hat in pairs])

    def hats_of(self, terms: LossTerms, K: Floats) -> BlockHats:
        """The three hats from what the loss is at the proximal points."""
        lam = -terms.gradient
        bent = np.eye(self.P) + terms.hessian @ K
        slopes = -np.linalg.solve(bent, np.concatenate([terms.cross, terms.hessian], axis=2)).mean(axis=0)
        m_hat = self.scale * traces(slopes[:, : self.P], self.products)
        Sigma_hat = -self.scale * traces(slopes[:, self.P :], self.products)
        q_hat = self.scale * np.einsum("ij,gkij->gk", lam.T @ lam / len(lam), self.products)
        return BlockHats(
            self.averaged(m_hat),
            self.averaged(0.5 * (q_hat + q_hat.T)),
            self.averaged(0.5 * (Sigma_hat + Sigma_hat.T)),
        )

    def averaged(self, matrix: Floats) -> Floats:
        """Mean of a matrix over the permutations of its blocks."""
        return np.asarray(np.mean([matrix[np.ix_(order, order)] for order in self.permutations], axis=0))

    def seen(self, overlaps: Floats) -> Floats:
        """``sum_gk overlaps_gk A_g A_k'``: a matrix of blocks as the output sees it."""
        return np.asarray(np.einsum("gk,gkij->ij", overlaps, self.products))

    def covariance(self, rho_0: Floats, overlaps: BlockOverlaps) -> Floats:
        """Covariance of (u0, u)."""
        crossed = self.seen(overlaps.m)
        return np.block([[self.seen(rho_0), crossed.T], [crossed, self.seen(overlaps.q)]])


def traces(slope: Floats, products: Floats) -> Floats:
    """``tr(A_g' D A_k) = tr(D A_k A_g')`` of every pair of blocks."""
    return np.asarray(np.einsum("ij,kgji->gk", slope, products))


def square_root(covariance: Floats, least: float = 0.0) -> Floats:
    """Symmetric square root; eigenvalues, which rounding may make negative, are at least so much of the largest."""
    values, vectors = np.linalg.eigh(0.5 * (covariance + covariance.T))
    return np.asarray((vectors * np.sqrt(np.maximum(values, least * values[-1]))) @ vectors.T)


@cache
def normal_points(dimension: int, nodes: int, seed: int) -> Floats:
    """Scrambled Sobol points of a standard Gaussian, nodes x dimension."""
    from scipy.special import ndtri
    from scipy.stats import qmc  # slow to load

    uniform = qmc.Sobol(dimension, scramble=True, rng=seed).random(nodes)
    points = np.asarray(ndtri(np.clip(uniform, 1e-15, 1.0 - 1e-15)))
    points.flags.writeable = False
    return points
