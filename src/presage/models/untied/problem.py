"""One attention head with query and key matrices of its own: who looks at whom, and what is shown of the scores."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, final

from presage.laws.absolute_values import AbsoluteValues
from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import SpectralLaw
from presage.models.untied.declaration import (
    ALPHA,
    BETA,
    BETA_0,
    MASK,
    MODEL,
    MOST_KEYS,
    N_KEYS,
    N_TOKENS,
    NOISE,
    OF_PARTS,
    OUTPUT,
    PENALTY,
    TARGET,
    TARGET_GAIN,
    WEIGHT_DECAY,
)
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.observables import Observable
from presage.protocol.problem import LearningProblem

Mask = Literal["cross", "causal", "off-diagonal", "self"]
Output = Literal["softmax", "linear"]
Penalty = Literal["weight-decay", "frobenius"]
TARGETS = (RectangularLaw, SpectralLaw)


@final
@dataclass(frozen=True)
class UntiedProblem(LearningProblem):
    """A target matrix, the amount of data, and a head ``S = W_Q W_K'/d`` (d x d, of full width) that learns it.

    A sample has T = `n_tokens` tokens x_a of d standard normal entries, and shows rows of scores
    ``R_ab = x_a' S z_b/sqrt(d)``, one row a token a, over the keys z_b that its `mask` leaves:

    - "cross": K = `n_keys` tokens of another, independent sequence (K = T where `n_keys` is left out);
    - "causal": ``z_b = x_b`` with b < a, strictly before it (row a has a - 1 keys; the first row has none);
    - "off-diagonal": ``z_b = x_b`` with b != a;
    - "self": ``z_b = x_b`` for all b, ``Tr S/sqrt(d)`` taken off the score of a token with itself.

    The label is ``y = sigma(beta_0 (R_0 + sqrt(noise) xi))``, sigma the softmax of each row, R_0 the scores of the
    target S_0 and xi standard normal, a number of its own for every score; the learner shows ``sigma(beta R)``. With
    ``output="linear"`` they are ``y = R_0 + sqrt(noise) xi`` and R. With a `target_gain` v_0 labels are v_0 times the
    softmax, and the learner shows ``v sigma(beta R)`` with a gain v that is learned too, without a penalty; where it is
    None there is no gain, ``v = v_0 = 1``. There are ``n = alpha d^2`` samples. The loss is

        sum over samples, rows and keys of (y_ab - output_ab)^2 + weight_decay (|W_Q|_F^2 + |W_K|_F^2)

    with no factor in front; its minimum over the factors of one S has ``2 weight_decay d |S|_*`` as penalty. With
    ``penalty="frobenius"`` S itself is trained and the penalty is ``weight_decay d |S|_F^2``. `weight_decay` is None
    where nothing is trained, and 0 means the limit 0+.

    The target has singular values of order one and ``Q_0 = |S_0|_F^2/d``; its frames are independent and uniform, or,
    for a law of eigenvalues (with any mask but "off-diagonal"), it is symmetric.
    """

    target: RectangularLaw | SpectralLaw = field(metadata=declared(TARGET))
    alpha: float = field(metadata=declared(ALPHA))
    weight_decay: float | None = field(default=None, metadata=declared(WEIGHT_DECAY))
    noise: float = field(default=NOISE.default, metadata=declared(NOISE))
    n_tokens: int = field(default=N_TOKENS.default, metadata=declared(N_TOKENS))
    n_keys: int | None = field(default=None, metadata=declared(N_KEYS))
    mask: Mask = field(default=MASK.default, metadata=declared(MASK))
    output: Output = field(default=OUTPUT.default, metadata=declared(OUTPUT))
    beta: float = field(default=BETA.default, metadata=declared(BETA))
    beta_0: float | None = field(default=None, metadata=declared(BETA_0))  # that of the learner where it is left out
    penalty: Penalty = field(default=PENALTY.default, metadata=declared(PENALTY))
    target_gain: float | None = field(default=TARGET_GAIN.default, metadata=declared(TARGET_GAIN))

    model = MODEL
    parts = ("target",)

    def check_together(self) -> None:
        self._check_target()
        if self.n_keys is not None and self.mask != "cross":
            reason = "the keys are the tokens of the sequence itself; only another sequence has a length of its own"
            raise checks.complaint("n_keys", "be left out", reason, self.n_keys, 'Leave it out, or use <mask="cross">.')
        if self.output == "linear" and not (self.beta == 1.0 and self.beta_0 is None):
            name = "beta" if self.beta != 1.0 else "beta_0"
            reason = "a linear output is the scores themselves and has no temperature"
            remedy = 'Leave it out, or use <output="softmax">.'
            raise checks.complaint(name, "be left out", reason, getattr(self, name), remedy)
        if self.output == "linear" and self.target_gain is not None:
            reason = "the scale of linear scores is that of the matrix, and a gain beside it has no value of its own"
            remedy = 'Leave it out, or use <output="softmax">.'
            raise checks.complaint("target_gain", "be left out", reason, self.target_gain, remedy)
        self._check_rows()

    def _check_target(self) -> None:
        target = self.target
        if not 0.0 < target.second_moment + self.noise < 1e12:
            raise checks.complaint(
                "target",
                "have a positive second moment, below 1e12",
                "singular values of order one are meant, and without noise a zero target leaves nothing to learn",
                target,
                "Scale the singular values, or set <noise> > 0.",
            )
        if isinstance(target, RectangularLaw) and target.aspect != 1.0:
            raise checks.complaint(
                "target",
                "have aspect 1",
                "queries and keys of one token have the same dimension",
                target,
                "Use for example <target=GaussianProduct(0.5)>, or <bilinear_regression> for a rectangular target.",
            )
        if self.symmetric and self.mask == "off-diagonal":
            raise checks.complaint(
                "target",
                "be a law of singular values where two tokens look at each other",
                "their two scores see a matrix and its transpose, which of a symmetric target are the same, and that "
                "is known for tokens that look at themselves too",
                target,
                'Use for example <target=GaussianProduct(0.5)>, or <mask="self">, <mask="causal"> or <mask="cross">.',
            )

    def _check_rows(self) -> None:
        """At least one row that shows something, and no more keys than the theory of a softmax can integrate over."""
        least = self._least_tokens
        if self.n_tokens < least:
            reason = "a softmax of one key is 1 whatever the score" if self.softmax else "a row needs a key"
            if self.mask == "self":
                reason = "one token shows the symmetric part of the matrix only"
            must, remedy = f"be a whole number >= {least} here", f"Use for example <n_tokens={least}>."
            raise checks.complaint("n_tokens", must, reason, self.n_tokens, remedy)
        if not self.softmax:
            return
        if self.mask == "cross" and self.keys[0] < 2:
            name = "n_tokens" if self.n_keys is None else "n_keys"
            reason = "a softmax of one key is 1 whatever the score"
            raise checks.complaint(name, "be a whole number >= 2", reason, self.keys[0], "Use for example <n_keys=2>.")
        if self.mask == "self" and self.n_tokens > 2:
            raise checks.complaint(
                "n_tokens",
                "be 2 for a softmax over all tokens of a sequence",
                "with more tokens the scores of a token with itself make rows that were never set beside networks",
                self.n_tokens,
                'Use <n_tokens=2>, <mask="off-diagonal">, or <output="linear">, which is known for any number.',
            )
        if max(self.keys) > MOST_KEYS:
            raise checks.complaint(
                "n_keys" if self.n_keys is not None else "n_tokens",
                f"leave at most {MOST_KEYS} keys a row",
                "the proximal map of a row has a dimension for each key but one, and more are not supported",
                max(self.keys),
                f'Use fewer tokens, or <output="linear">, or for two sequences <n_keys={MOST_KEYS}> or less.',
            )

    @property
    def _least_tokens(self) -> int:
        if self.mask in ("cross", "self"):
            return 1 if self.mask == "cross" else 2
        return 3 if self.softmax else 2

    def samples_at_one(self, d: int) -> int:
        """Entries of the target."""
        return d * d

    @property
    def softmax(self) -> bool:
        """Whether the output is the softmax of each row of scores."""
        return self.output == "softmax"

    @property
    def draft_accuracy(self) -> float:
        """Coarser where weights are drawn, whose answers have error bars of 1 %."""
        return 0.05 if self.mask == "self" else 0.01

    @property
    def symmetric(self) -> bool:
        """Whether the target is symmetric."""
        return isinstance(self.target, SpectralLaw)

    @cached_property
    def singular_values(self) -> RectangularLaw:
        """Law of the target's singular values: of a symmetric one the absolute values of its eigenvalues."""
        return AbsoluteValues(self.target) if isinstance(self.target, SpectralLaw) else self.target

    @property
    def Q_0(self) -> float:
        """Size of the target, ``|S_0|_F^2/d``: the variance of a clean score of distinct tokens."""
        return self.target.second_moment

    @property
    def target_beta(self) -> float:
        """Inverse temperature of the target, as a number."""
        return self.beta if self.beta_0 is None else self.beta_0

    @property
    def v_0(self) -> float:
        """Gain of the target's output, 1 where none is learned."""
        return 1.0 if self.target_gain is None else self.target_gain

    def has(self, observable: Observable) -> bool:
        """Whether a number is one of this problem: a gain that is learned, parts of an error that are seen apart."""
        if observable.name == "gain":
            return self.target_gain is not None
        return self.mask == "self" or observable not in OF_PARTS

    @property
    def keys(self) -> tuple[int, ...]:
        """How many keys each row has, in the order of the rows; a row without any is left out."""
        T = self.n_tokens
        if self.mask == "cross":
            return (T if self.n_keys is None else self.n_keys,) * T
        if self.mask == "causal":
            return tuple(range(1, T))
        return (T - (self.mask == "off-diagonal"),) * T

    @property
    def components(self) -> int:
        """Numbers that a sample shows: its scores, for a softmax one less in each row, which sees no common shift."""
        return sum(self.keys) - self.softmax * len(self.keys)

    @property
    def alpha_eff(self) -> float:
        """Measurements over the number of entries of the target."""
        return self.alpha * self.components


def untied_attention(
    target: RectangularLaw | SpectralLaw,
    *,
    alpha: float,
    weight_decay: float | None,
    noise: float = NOISE.default,
    n_tokens: int = N_TOKENS.default,
    n_keys: int | None = None,
    mask: Mask = MASK.default,
    output: Output = OUTPUT.default,
    beta: float = BETA.default,
    beta_0: float | None = None,
    penalty: Penalty = PENALTY.default,
    target_gain: float | None = TARGET_GAIN.default,
) -> UntiedProblem:
    """Attention with separate query and key matrices, ``S = W_Q W_K'/d``, ``alpha = n/d^2``; see `UntiedProblem`."""
    scores = (noise, n_tokens, n_keys, mask, output, beta, beta_0)
    return UntiedProblem(target, alpha, weight_decay, *scores, penalty, target_gain)
