"""A rectangular problem: one matrix without symmetry, seen through bilinear measurements."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

from presage.laws.rectangular_law import RectangularLaw
from presage.models.bilinear.declaration import (
    ALPHA,
    MODEL,
    N_TOKENS,
    N_TOKENS_OF_ATTENTION,
    NOISE,
    PAIRS,
    TARGET,
    WEIGHT_DECAY,
)
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem

Pairs = Literal["cross", "distinct", "all"]


@final
@dataclass(frozen=True)
class BilinearProblem(LearningProblem):
    """A target M (p x N), the amount of data, the noise, the weight decay, and how a sample sees the target.

    Without tokens a sample is ``y = <X, M>/(p N)^(1/4) + sqrt(noise) xi`` with X Gaussian. With ``T = n_tokens`` tokens
    it is the matrix of the scores ``q_a' M k_b/sqrt(d)``, each with its own noise, over the pairs (a, b) that `pairs`
    names: "cross", all T^2 of two sequences, queries from one and keys from the other; "distinct", the T(T-1) pairs
    ``a != b`` of one sequence; "all", the T^2 pairs of one sequence, with ``Tr M/sqrt(d)`` subtracted on the diagonal.

    The loss is the sum of the squared errors plus ``weight_decay (|W_1|_F^2 + |W_2|_F^2)`` with
    ``M = W_1 W_2'/sqrt(p N)``, whose minimum over the factors is ``2 weight_decay sqrt(p N)`` times the nuclear norm
    of M. `weight_decay` is None where nothing is trained (the Bayes-optimal answer needs none), and 0 means the limit
    0+: of all minima of the loss, the one of least nuclear norm.
    """

    target: RectangularLaw = field(metadata=declared(TARGET))
    alpha: float = field(metadata=declared(ALPHA))
    noise: float = field(default=NOISE.default, metadata=declared(NOISE))
    weight_decay: float | None = field(default=WEIGHT_DECAY.default, metadata=declared(WEIGHT_DECAY))
    n_tokens: int | None = field(default=N_TOKENS.default, metadata=declared(N_TOKENS))
    pairs: Pairs = field(default=PAIRS.default, metadata=declared(PAIRS))

    model = MODEL
    parts = ("target",)

    def check_together(self) -> None:
        if not 0.0 < self.target.second_moment + self.noise < 1e12:
            raise checks.complaint(
                "target",
                "have a positive second moment, below 1e12",
                "singular values of order one are meant, and without noise a zero target leaves nothing to learn",
                self.target,
                "Scale the singular values, or set <noise> > 0.",
            )
        if self.n_tokens is None:
            return
        if self.pairs == "distinct" and self.n_tokens < 2:
            raise checks.complaint(
                "n_tokens", "be a whole number >= 2", N_TOKENS.reason, self.n_tokens, N_TOKENS.remedy
            )
        if self.target.aspect != 1.0:
            raise checks.complaint(
                "target",
                "have aspect 1",
                "queries and keys of one token have the same dimension",
                self.target,
                "Use for example <target=GaussianProduct(0.5)>, or <bilinear_regression> for a rectangular target.",
            )

    def samples_at_one(self, d: int) -> int:
        """Entries of the target, whose shorter side is d."""
        return d * round(self.target.aspect * d)

    @property
    def Q_0(self) -> float:
        """Size of the target: the variance of a clean measurement."""
        return self.target.second_moment

    @property
    def draft_accuracy(self) -> float | None:
        """Coarser than the 1 % of parts that are drawn; all other answers are integrals."""
        return 0.05 if self.n_tokens is not None and self.pairs == "all" else None

    @property
    def components(self) -> int:
        """Scores that a sample shows."""
        if self.n_tokens is None:
            return 1
        return self.n_tokens * (self.n_tokens - (self.pairs == "distinct"))

    @property
    def alpha_eff(self) -> float:
        """Measurements over the number of entries of the target."""
        return self.alpha * self.components


def bilinear_regression(
    target: RectangularLaw,
    *,
    alpha: float,
    noise: float = NOISE.default,
    weight_decay: float | None = WEIGHT_DECAY.default,
) -> BilinearProblem:
    """Regression on sequences of L tokens of dimension d: ``y = <X, S>/sqrt(d L)``, ``alpha = n/(d L)``."""
    return BilinearProblem(target, alpha, noise, weight_decay)


def untied_linear_attention(
    target: RectangularLaw,
    *,
    alpha: float,
    weight_decay: float | None,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS_OF_ATTENTION.default,
    pairs: Pairs = PAIRS.default,
) -> BilinearProblem:
    """Linear attention with separate query and key matrices, ``S = W_Q W_K'/d``, ``alpha = n/d^2``."""
    return BilinearProblem(target, alpha, noise, weight_decay, n_tokens, pairs)
