"""A problem of this model: what is learned, from how much data, with what noise and what penalty."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.laws.spectral_law import SpectralLaw
from presage.models.attention.channels.channel import Channel
from presage.models.attention.declaration import ALPHA, CHANNEL, KAPPA, MODEL, NOISE, PENALTY, TARGET
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.problem import LearningProblem


@final
@dataclass(frozen=True)
class Problem(LearningProblem):
    """Three choices (target, channel, penalty) and three numbers (alpha, noise, kappa)."""

    target: SpectralLaw = field(metadata=declared(TARGET))
    channel: Channel = field(metadata=declared(CHANNEL))
    penalty: Penalty = field(metadata=declared(PENALTY))
    alpha: float = field(metadata=declared(ALPHA))
    noise: float = field(default=NOISE.default, metadata=declared(NOISE))
    kappa: float = field(default=KAPPA.default, metadata=declared(KAPPA))

    model = MODEL
    parts = ("channel", "penalty", "target")

    def check_together(self) -> None:
        if self.alpha < 1e-9:
            reason = "with less data than that every digit of the answer is noise"
            raise checks.complaint("alpha", "be at least 1e-9", reason, self.alpha, "Use for example <alpha=0.5>.")
        if not self.target.second_moment < 1e12:
            raise checks.complaint(
                "target",
                "have a second moment below 1e12",
                "eigenvalues of order one are meant, and digits are lost long before that",
                self.target,
                "Measure it in larger units: scale the eigenvalues down.",
            )
        if not self.target.second_moment + self.noise > 0:
            raise checks.complaint(
                "target",
                "have a positive second moment when there is no noise",
                "a zero target with clean labels has nothing to learn and nothing to fit",
                self.target,
                "Give it an eigenvalue, or set <noise> > 0.",
            )

    def samples_at_one(self, d: int) -> int:
        return d * d

    @property
    def Q_0(self) -> float:
        """Second moment of the target's eigenvalues."""
        return self.target.second_moment

    @property
    def rho_0(self) -> float:
        """Variance of a component of the target's pre-activation, label noise included: ``Q_0 + noise/2``."""
        return self.Q_0 + 0.5 * self.noise

    def must_have_a_penalty(self) -> None:
        """Complain if nothing is paid for the weights: what a minimum of the loss looks like is then not determined."""
        if self.penalty.vanishes:
            name = str(self.penalty.scaled_by)
            raise checks.complaint(
                name,
                "be above 0 here",
                "without a penalty the minimum of the loss need not be unique",
                self.penalty.scaling,
                f"Use a small value such as <{name}=1e-4>, or <ridgeless()> for the vanishing limit.",
            )
