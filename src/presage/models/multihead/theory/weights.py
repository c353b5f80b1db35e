"""The weights' side of several heads: what a penalty makes of what the samples say, exactly or at a finite size."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.theory.order_parameters import Conjugates as OneHeadConjugates
from presage.models.attention.theory.state_evolution import weight_side
from presage.models.multihead.problem import MultiheadProblem
from presage.solving.block_channel import BlockHats, BlockOverlaps
from presage.solving.drawn_targets import free_targets
from presage.solving.sampled_weights import SampledWeights, cut_below, wigner
from presage.solving.vector_state_evolution import Conjugates, overlaps_of

FIRST_STEPS, STEPS = 200, 12  # of the convex problem, the first time and from where the last one ended
CLOSE = 1e-5  # relative distance at which it is solved
ZERO = 1e-9  # an eigenvalue below this was cut


class Weights(ABC):
    """Turns hats into overlaps, and remembers what was paid for the last weights and of which rank they are."""

    Q_0: Floats  # overlaps of the heads of the target with each other
    paid: float = 0.0  # penalty over d^2
    rank: float = 1.0

    @abstractmethod
    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        """Overlaps of the weights that these hats make."""


class RidgeWeights(Weights):
    """Matrices trained entry by entry, with ``d tau sum_h |S_h|_F^2``: closed, for any number of heads.

        Sigma = (Sigma_hat + 4 tau)^-1,   m = Sigma m_hat Q_0,   q = Sigma (m_hat Q_0 m_hat' + q_hat) Sigma'

    Equation: derived: a Gaussian integral for each entry.
    Checked: tests/models/multihead/test_check_values.py::test_heads_with_a_ridge
    """

    def __init__(self, problem: MultiheadProblem) -> None:
        self.tau, self.Q_0 = problem.weight_decay, overlaps_of_targets(problem.targets)

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        ridge = 4.0 * self.tau * np.eye(len(self.Q_0))
        found = overlaps_of(Conjugates(hats.m_hat, hats.q_hat, hats.Sigma_hat, ridge), self.Q_0)
        self.paid = self.tau * float(np.trace(found.q))
        return BlockOverlaps(*found)


class OneHead(Weights):
    """A single head: the integrals of one tied head, without sampling."""

    def __init__(self, problem: MultiheadProblem) -> None:
        self.problem, self.Q_0 = problem, overlaps_of_targets(problem.targets)
        price = problem.weight_decay
        self.penalty = NuclearPSD(price) if problem.penalty == "weight-decay" else Frobenius(price)

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        conjugates = OneHeadConjugates(*(float(part[0, 0]) for part in hats))
        side = weight_side(self.penalty, self.problem.target, self.problem.kappa, conjugates)
        self.paid, self.rank = side.penalty, side.rank
        return BlockOverlaps(*(np.array([[value]]) for value in side.overlaps))


class SampledHeads(Weights):
    """Weight decay on the factors of several heads: a convex problem of H matrices at size d, drawn from a seed.

    The eigenvalues of a head of the target are quantiles of its law, scaled to the second moment that it has, and heads
    overlap as they do in the limit.
    """

    def __init__(self, problem: MultiheadProblem, d: int, seed: int) -> None:
        self.lambda_tilde = problem.lambda_tilde
        rng = np.random.default_rng([seed, d])
        targets = free_targets(problem.targets, d, rng)
        noises = np.array([wigner(d, rng) for _ in problem.targets])
        self.sampled = SampledWeights(targets, noises, cut_below(self.lambda_tilde))
        self.Q_0 = self.sampled.Q_0
        self._steps = FIRST_STEPS

    def overlaps(self, hats: BlockHats) -> BlockOverlaps:
        found = self.sampled.overlaps(hats, tol=CLOSE, most=self._steps)
        self._steps = STEPS
        S, d = self.sampled.S, self.sampled.d
        self.paid = self.lambda_tilde * float(np.trace(S, axis1=1, axis2=2).sum()) / d
        return found

    def count_rank(self) -> None:
        """Count the eigenvalues that were kept."""
        self.rank = float(np.mean(np.linalg.eigvalsh(self.sampled.S) > ZERO))


def overlaps_of_targets(laws: tuple[SpectralLaw, ...]) -> Floats:
    """``Q_0hk = Tr S_0h S_0k/d``: of heads that are free of each other the product of their means."""
    means = np.array([law.mean for law in laws])
    Q_0 = np.outer(means, means)
    np.fill_diagonal(Q_0, [law.second_moment for law in laws])
    return Q_0
