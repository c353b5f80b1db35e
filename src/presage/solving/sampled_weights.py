"""What samples make of several matrices at once, where no law of eigenvalues is known: problems at a finite size.

Targets and noises are drawn once, so that the overlaps are smooth functions of what the samples say (common random
numbers), and each problem is solved from where the last one ended. One drawing is a copy; several, each with a state
evolution of its own, show by their spread how far a finite size is off.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from presage.laws.random_frame import random_frame
from presage.laws.spectral_law import Floats
from presage.solving.block_channel import BlockHats, BlockOverlaps, square_root

Prox = Callable[[Floats, float], Floats]  # of G x d x d matrices and a step: the proximal map of the penalty
MOST_STEPS = 400
SEEN_BY = 1e-4  # least variance of a combination of noises, over the largest


class SampledWeights:
    """G matrices of size d that samples pull at, with a penalty that its proximal map stands for.

        (S_g) = argmin penalty + (1/4) sum_gk Sigma_hat_gk <S_g,S_k> - (1/2) sum_g <S_g, sum_k m_hat_gk S_0k + N_g>
        N = q_hat^(1/2) (G_1, ..., G_G)
        m_gk = <S_g,S_0k>/d,   q_gk = <S_g,S_k>/d,   Sigma = [<S_g,G_k>/d] q_hat^(-1/2), symmetrised

    The penalty is counted over d. Noises are made orthogonal to the targets and to each other, with ``<G_g,G_g> = d``,
    as they are in the limit: what is linear in them has then no error of a finite size.

    Equation: derived: the weights' side of state evolution for matrices under one orthogonally invariant penalty.
    Checked: tests/solving/test_sampled_weights.py::test_a_ridge_has_closed_overlaps
    Checked: tests/solving/test_sampled_weights.py::test_one_matrix_is_the_weight_side_of_attention
    """

    def __init__(self, targets: Floats, noises: Floats, prox: Prox) -> None:
        self.targets, self.noises, self.prox = targets, orthogonal(noises, targets), prox
        self.d = targets.shape[1]
        self.S = np.zeros_like(targets)
        self.moved = np.inf  # length of the last step of the last solve, relative

    @property
    def Q_0(self) -> Floats:
        """Overlaps of the targets that were drawn."""
        return np.asarray(products(self.targets, self.targets) / self.d)

    def overlaps(self, hats: BlockHats, *, tol: float = 1e-6, most: int = MOST_STEPS) -> BlockOverlaps:
        """Overlaps of the minimum, which is looked for from where the last one was."""
        root, pull = self._pull(hats)
        self._minimise(pull, 0.5 * hats.Sigma_hat, tol, most)
        response = np.linalg.solve(root.T, products(self.noises, self.S)).T / self.d
        return BlockOverlaps(
            products(self.S, self.targets) / self.d,
            products(self.S, self.S) / self.d,
            within_bounds(0.5 * (response + response.T), hats.Sigma_hat),
        )

    def are_all_cut(self, hats: BlockHats) -> bool:
        """Whether matrices of zeros stay where they are."""
        return not self.prox(self._pull(hats)[1], 1.0).any()

    def _pull(self, hats: BlockHats) -> tuple[Floats, Floats]:
        """The square root of ``q_hat``, and half of what samples pull at.

        Heads that are alike are pulled by one noise. A little noise of their differences is left then: it is what
        their response to it is seen by.
        """
        root = square_root(hats.q_hat, SEEN_BY)
        return root, 0.5 * (mixed(hats.m_hat, self.targets) + mixed(root, self.noises))

    def _minimise(self, pull: Floats, curvature: Floats, tol: float, most: int) -> None:
        """Accelerated proximal gradient, with the momentum of the softest direction, begun anew where it overshoots."""
        softest, stiffest = np.linalg.eigvalsh(curvature)[[0, -1]]
        ratio = sqrt(max(softest, 1e-6 * stiffest) / stiffest)
        momentum = (1.0 - ratio) / (1.0 + ratio)
        ahead = self.S
        for _ in range(most):
            new = self.prox(ahead - (mixed(curvature, ahead) - pull) / stiffest, 1.0 / stiffest)
            step = new - self.S
            overshot = float(np.sum((ahead - new) * step)) > 0.0
            self.S = new
            self.moved = float(np.linalg.norm(step)) / max(float(np.linalg.norm(new)), 1e-300)
            if self.moved <= tol * ratio:  # what is left is the last step over the rate
                return
            ahead = new if overshot else new + momentum * step


def within_bounds(response: Floats, stiffness: Floats) -> Floats:
    """A response between none and ``Sigma_hat^-1``, that of weights without a penalty: a proximal map pulls together.

    Noises that hardly pull at heads leave a response to them that is rounding, and steps from there run away.

    Equation: derived: ``0 <= Sigma_hat^(1/2) Sigma Sigma_hat^(1/2) <= 1`` of a convex penalty.
    Checked: tests/solving/test_sampled_weights.py::test_a_response_is_that_of_no_penalty_at_most
    """
    if np.linalg.eigvalsh(stiffness)[0] <= 0.0:
        return response
    root = square_root(stiffness)
    back = np.linalg.inv(root)
    parts, frame = np.linalg.eigh(root @ response @ root)
    if parts[0] >= 0.0 and parts[-1] <= 1.0:
        return response
    return np.asarray(back @ (frame * np.clip(parts, 0.0, 1.0)) @ frame.T @ back)


def mixed(matrix: Floats, blocks: Floats) -> Floats:
    """``sum_k matrix_gk X_k``."""
    return np.asarray(np.tensordot(matrix, blocks, axes=1))


def products(left: Floats, right: Floats) -> Floats:
    """``<X_g, Y_k>`` of all pairs."""
    return np.asarray(left.reshape(len(left), -1) @ right.reshape(len(right), -1).T)


def orthogonal(noises: Floats, targets: Floats) -> Floats:
    """Noises without their parts along the targets and along each other, each of squared length d."""
    basis = np.linalg.qr(targets.reshape(len(targets), -1).T)[0]
    clean: list[Floats] = []
    for noise in noises.reshape(len(noises), -1):
        rest = noise - basis @ (basis.T @ noise)
        for other in clean:
            rest = rest - other * float(other @ rest)
        clean.append(np.asarray(rest / np.linalg.norm(rest)))
    return np.asarray(np.array(clean).reshape(noises.shape) * sqrt(noises.shape[1]))


def wigner(d: int, rng: np.random.Generator) -> Floats:
    """A symmetric Gaussian matrix with a semicircle of radius 2: variance 1/d off the diagonal, 2/d on it."""
    noise = rng.standard_normal((d, d))
    return np.asarray((noise + noise.T) / sqrt(2.0 * d))


def in_random_frame(eigenvalues: Floats, rng: np.random.Generator) -> Floats:
    """A symmetric matrix of these eigenvalues in a random basis."""
    frame = random_frame(len(eigenvalues), len(eigenvalues), rng)
    return np.asarray((frame * eigenvalues) @ frame.T)


def cut_below(threshold: float) -> Prox:
    """Proximal map of ``threshold sum_g Tr S_g`` over positive semidefinite matrices: eigenvalues move down."""

    def prox(blocks: Floats, step: float) -> Floats:
        values, vectors = np.linalg.eigh(blocks)
        kept = np.maximum(values - threshold * step, 0.0)
        return np.asarray((vectors * kept[:, None, :]) @ vectors.transpose(0, 2, 1))

    return prox
