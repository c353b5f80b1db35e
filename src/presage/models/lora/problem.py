"""Two stages: a layer that is pre-trained and frozen, and an adapter of low rank that is trained on top of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, final

from presage.laws.power_law import PowerLaw
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.penalties.frobenius import Frobenius
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.problem import Problem
from presage.models.lora.declaration import (
    ALPHA,
    MODEL,
    MOST_TOKENS,
    PRETRAINING,
    RANK,
    RECALIBRATION,
    REUSE,
    SELECTION,
    STRENGTH,
    TARGET_RANK,
    WEIGHT_DECAY,
)
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem

Reuse = Literal["nothing", "sequences", "noise"]
POWER = (
    "the frozen matrix is meant to have eigenvalues of order one, and those of a power law are of order sqrt(d): "
    "this is outside of what was checked."
)


@final
@dataclass(frozen=True)
class LoraProblem(LearningProblem):
    """A pre-trained layer ``S``, frozen, and an adapter ``w`` of `rank` columns that learns what is new.

    With ``chi = X w/sqrt(d)`` for the tokens X of a sequence, the scores of the student are
    ``R = b R_S + chi chi' - Tr(w'w/d) 1``, ``R_S = (X S X' - Tr S 1)/sqrt(d)`` those of the frozen layer and
    ``b = recalibration``. The labels are those of the pre-training's target with ``chi_0 chi_0' - Tr(w_0'w_0/d) 1``
    added, w_0 of `target_rank` columns of squared length ``strength d``; noise and channel are those of the
    pre-training. ``N' = alpha d`` samples are trained on, with the penalty ``weight_decay |w|^2``.

    `selection` below 1 labels the fraction of a pool whose frozen scores are smallest. `reuse` takes the sequences from
    the pre-training: "sequences" with labels of fresh noise, "noise" with the noise that their labels had.
    """

    pretraining: Problem = field(metadata=declared(PRETRAINING))
    alpha: float = field(metadata=declared(ALPHA))
    weight_decay: float = field(metadata=declared(WEIGHT_DECAY))
    strength: float = field(default=STRENGTH.default, metadata=declared(STRENGTH))
    rank: int = field(default=RANK.default, metadata=declared(RANK))
    target_rank: int = field(default=TARGET_RANK.default, metadata=declared(TARGET_RANK))
    recalibration: float = field(default=RECALIBRATION.default, metadata=declared(RECALIBRATION))
    selection: float = field(default=SELECTION.default, metadata=declared(SELECTION))
    reuse: Reuse = field(default=REUSE.default, metadata=declared(REUSE))

    model = MODEL
    parts = ("pretraining",)

    def check_together(self) -> None:
        before = self.pretraining
        if not isinstance(before.channel, Linear | Softmax):
            raise checks.complaint(
                "pretraining",
                "have a linear or a softmax output",
                "the fine-tuning is known for these two channels",
                type(before.channel).__name__,
                "Use for example <pretraining=attention(...)> or <pretraining=linear_attention(...)>.",
            )
        if not isinstance(before.penalty, NuclearPSD | Frobenius):
            raise checks.complaint(
                "pretraining",
                "have weight decay on its factors or a ridge",
                "the fine-tuning was checked for layers that are trained so",
                type(before.penalty).__name__,
                "Use for example <pretraining=attention(...)>.",
            )
        if before.channel.n_tokens > MOST_TOKENS:
            raise checks.complaint(
                "pretraining",
                f"have at most {MOST_TOKENS} tokens",
                "the proximal map of a sample has a dimension for each token, and more are not supported",
                before.channel.n_tokens,
                "Use for example <n_tokens=2>.",
            )
        before.must_have_a_penalty()
        if self.selection < 1.0 and self.reuse != "nothing":
            raise checks.complaint(
                "selection",
                "be 1 where sequences are reused",
                "frozen scores of sequences that the layer was trained on are selected by another law",
                self.selection,
                'Use <selection=1.0>, or <reuse="nothing">.',
            )

    def samples_at_one(self, d: int) -> int:
        """The dimension: an adapter has d numbers a column."""
        return d

    @property
    def n_tokens(self) -> int:
        """Tokens of a sequence."""
        return self.pretraining.channel.n_tokens

    @property
    def noise(self) -> float:
        """Variance of the label noise, the same in both stages."""
        return self.pretraining.noise

    @property
    def linear(self) -> bool:
        """Whether the output is the scores themselves."""
        return self.pretraining.channel.linear

    @property
    def notes(self) -> tuple[str, ...]:
        """What the pre-training has to say, and targets outside of what was checked."""
        power = (POWER,) if isinstance(self.pretraining.target, PowerLaw) else ()
        return (*self.pretraining.notes, *power)
