"""Bayes-optimal message passing as state evolution follows it: nothing but its steps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.trainer import STEPS_TAKEN, Trainer


@final
@dataclass(frozen=True)
class PlainBayesAMP(Trainer):
    """Message passing for the posterior mean from nothing, without damping, for so many steps.

    The `denoiser` knows the law of the target, ``SingularValueDenoiser(problem.target)``. It is there to be followed
    step by step, ``simulate(..., trainer=trajectory.trainer, keep="trajectory")`` beside ``trajectory(problem,
    steps=20)``: it ends after its steps, whether it has settled or not. For the posterior mean itself use `BayesAMP`.
    """

    denoiser: Any
    steps: int = field(default=20, metadata=declared(STEPS_TAKEN))

    minimises = False

    def check_together(self) -> None:
        if not (callable(self.denoiser) and hasattr(self.denoiser, "mmse")):
            reason, remedy = "it knows the law of the target", "Use <denoiser=SingularValueDenoiser(problem.target)>."
            raise checks.complaint("denoiser", "be a denoiser of matrices", reason, self.denoiser, remedy)
