"""A problem of several heads of tied attention, target and learner alike, whose outputs are combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import Literal, final

from presage.laws.spectral_law import SpectralLaw
from presage.models.multihead.declaration import (
    ALPHA,
    BETA,
    BETA_0,
    COMBINE,
    KAPPA,
    MODEL,
    N_HEADS,
    N_HEADS_OR_LAWS,
    N_TOKENS,
    NOISE,
    PENALTY,
    TARGET,
    TARGET_GAIN,
    WEIGHT_DECAY,
)
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.observables import Observable
from presage.protocol.problem import LearningProblem

Combine = Literal["concatenate", "mean", "sum"]
PenaltyOn = Literal["weight-decay", "frobenius"]


@final
@dataclass(frozen=True)
class MultiheadProblem(LearningProblem):
    """Heads ``S_01, ..., S_0H`` free of each other, the amount of data, the noise, the penalty, and what is seen.

    The scores of head h in a sequence of T tokens are ``R_h = (x S_h x' - Tr S_h 1)/sqrt(d)``. Those of the target
    have noise, of variance ``noise`` on the diagonal and ``noise/2`` off it, symmetric, independent over heads and
    samples. With ``n = alpha d^2`` samples the loss is ``sum |y - yhat|_F^2`` plus the penalty, and yhat is

        "concatenate"  [v_1 softmax(beta R_1), ..., v_H softmax(beta R_H)]      H of T x T
        "mean"         v/H sum_h softmax(beta R_h)               T x T
        "sum"          sum_h R_h                                 T x T, no softmax

    y is the same of the target, with `beta_0` (`beta` where it is left out) and the gain ``v_0 = target_gain`` in every
    place. Where `target_gain` is None there is no gain, ``v = v_0 = 1``; else v is learned, without a penalty, one for
    a mean of heads and one a head for concatenated outputs. A sum of scores has its noise once, of variance `noise`,
    and not once a head: of its heads the sum alone can be found, and all that is measured is of ``sum_h S_h``.

    The penalty "weight-decay" is ``weight_decay sum_h |W_h|_F^2`` with ``S_h = W_h W_h'/sqrt(m d)``, ``m = kappa d``,
    which is ``d sqrt(kappa) weight_decay sum_h Tr S_h``; "frobenius" is ``d weight_decay sum_h |S_h|_F^2`` on symmetric
    matrices that are trained entry by entry, which have no width. The heads of the learner are numbered as the target's
    by the permutation with the largest ``sum_h Tr S_h S_0h``.
    """

    target: SpectralLaw = field(metadata=declared(TARGET))  # of every head, or of the first one
    alpha: float = field(metadata=declared(ALPHA))
    weight_decay: float = field(metadata=declared(WEIGHT_DECAY))
    noise: float = field(default=NOISE.default, metadata=declared(NOISE))
    n_heads: int = field(default=N_HEADS.default, metadata=declared(N_HEADS))
    n_tokens: int = field(default=N_TOKENS.default, metadata=declared(N_TOKENS))
    beta: float = field(default=BETA.default, metadata=declared(BETA))
    beta_0: float | None = field(default=BETA_0.default, metadata=declared(BETA_0))
    kappa: float = field(default=KAPPA.default, metadata=declared(KAPPA))
    combine: Combine = field(default=COMBINE.default, metadata=declared(COMBINE))
    penalty: PenaltyOn = field(default=PENALTY.default, metadata=declared(PENALTY))
    target_gain: float | None = field(default=TARGET_GAIN.default, metadata=declared(TARGET_GAIN))
    other_targets: tuple[SpectralLaw, ...] = ()  # laws of the heads after the first, where they are not all the same

    model = MODEL
    parts = ("target",)

    def check_together(self) -> None:
        self._check_laws()
        if self.penalty == "frobenius" and self.kappa != KAPPA.default:
            raise checks.complaint(
                "kappa",
                "be left out here",
                "matrices that are trained entry by entry have no width",
                self.kappa,
                'Leave it out, or use <penalty="weight-decay">.',
            )
        if self.combine == "sum":
            self._check_sum()
        elif self.n_tokens < 2:
            raise checks.complaint(
                "n_tokens",
                "be at least 2",
                "the softmax of a single entry is 1 whatever the weights, nothing can be learned",
                self.n_tokens,
                'Use <n_tokens=2>, or <combine="sum">.',
            )
        elif self.n_tokens > 2 and (self.target_gain is not None or (self.combine == "mean" and self.n_heads > 1)):
            raise checks.complaint(
                "n_tokens",
                "be 2 here",
                "softmax heads that are averaged, and a learned gain, are known for two tokens",
                self.n_tokens,
                'Use <n_tokens=2>, or <combine="concatenate"> without <target_gain>.',
            )

    def _check_laws(self) -> None:
        laws, told = self.other_targets, getattr(self, "n_heads", None)
        if told is None:  # as many as laws are given, and two of one law
            object.__setattr__(self, "n_heads", 1 + len(laws) if laws else N_HEADS.default)
        if laws and len(laws) != self.n_heads - 1:
            raise checks.complaint(
                "n_heads",
                f"be {len(laws) + 1}, the number of laws of the target",
                "a learner has as many heads as its target: any other number is an open problem",
                self.n_heads,
                "Leave it out, or give one law for all heads.",
            )
        for law in laws:
            TARGET.checked("target", law)
        if all(law == self.target for law in laws):
            object.__setattr__(self, "other_targets", ())  # so that a number of the one law is that of every head
        if not all(0.0 < law.second_moment < 1e12 for law in self.targets):
            raise checks.complaint(
                "target",
                "have a positive second moment, below 1e12",
                "eigenvalues of order one are meant, and a head of zeros has nothing to learn",
                self.target,
                "Scale the eigenvalues.",
            )

    def _check_sum(self) -> None:
        for name, idle in (("beta", self.beta == BETA.default), ("beta_0", self.beta_0 is None)):
            if not idle:
                reason = "a sum of scores has no softmax, and a temperature plays no part in it"
                raise checks.complaint(name, "be left out here", reason, getattr(self, name), "Leave it out.")
        if self.target_gain is not None:
            reason = (
                "the scale of a sum of scores is that of its matrices, and a gain beside them has no value of its own"
            )
            raise checks.complaint(
                "target_gain", "be left out here", reason, self.target_gain, 'Leave it out, or use <combine="mean">.'
            )

    def samples_at_one(self, d: int) -> int:
        return d * d

    @property
    def targets(self) -> tuple[SpectralLaw, ...]:
        """The law of each head of the target."""
        return (self.target, *self.other_targets) if self.other_targets else (self.target,) * self.n_heads

    @property
    def target_beta(self) -> float:
        """Inverse temperature of the target, as a number."""
        return self.beta if self.beta_0 is None else self.beta_0

    @property
    def v_0(self) -> float:
        """Gain of the target's output, 1 where none is learned."""
        return 1.0 if self.target_gain is None else self.target_gain

    @property
    def lambda_tilde(self) -> float:
        """Price of ``Tr S_h`` over d: ``sqrt(kappa) weight_decay``."""
        return sqrt(self.kappa) * self.weight_decay

    @property
    def draft_accuracy(self) -> float | None:
        """Coarser than the 1 % of heads that are averaged or have a gain; heads that are learned apart have but one."""
        return 0.05 if self.combine == "mean" or self.target_gain is not None else None

    def has(self, observable: Observable) -> bool:
        """Whether a number is one of this problem: a single head has no other, a sum of scores shows its sum alone."""
        if observable.name == "gain":
            return self.target_gain is not None
        if observable.name.startswith("cross_"):
            return self.n_heads > 1 and self.combine != "sum"
        return True

    @property
    def notes(self) -> tuple[str, ...]:
        """What its laws have to say, each sentence once."""
        return tuple(dict.fromkeys(line for law in self.targets for line in law.notes))


def multihead_attention(
    target: SpectralLaw | Sequence[SpectralLaw],
    *,
    alpha: float,
    weight_decay: float,
    noise: float = NOISE.default,
    n_heads: int | None = N_HEADS_OR_LAWS.default,
    n_tokens: int = N_TOKENS.default,
    beta: float = BETA.default,
    beta_0: float | None = BETA_0.default,
    kappa: float = KAPPA.default,
    combine: Combine = COMBINE.default,
    penalty: PenaltyOn = PENALTY.default,
    target_gain: float | None = TARGET_GAIN.default,
) -> MultiheadProblem:
    """Several tied heads that are learned together: one law for each of `n_heads` (2) heads, or a tuple of laws."""
    laws = tuple(target) if isinstance(target, Sequence) else (target,)
    if not laws:
        reason = "every head of the target has one"
        raise checks.complaint(
            "target", "be a law, or a tuple of laws", reason, target, f"Use for example <target={TARGET.example}>."
        )
    several = isinstance(target, Sequence)
    return MultiheadProblem(
        laws[0],
        alpha,
        weight_decay,
        noise,
        (len(laws) if several else N_HEADS.default) if n_heads is None else n_heads,
        n_tokens,
        beta,
        beta_0,
        kappa,
        combine,
        penalty,
        target_gain,
        laws[1:],
    )
