"""Bayes-optimal message passing as state evolution follows it: nothing but its steps."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, final

from presage.protocol import checks
from presage.protocol.fields import declared
from presage.protocol.trainer import STEPS, Trainer

MOST_STEPS = 1000
TAKEN = replace(STEPS, words="steps that are taken", at_most=MOST_STEPS, example=20)


@final
@dataclass(frozen=True)
class PlainBayesAMP(Trainer):
    """Message passing for the posterior mean from nothing, without damping, for so many steps.

    The `denoiser` knows the law of the target, ``SingularValueDenoiser(problem.target)``. It is there to be followed
    step by step, ``simulate(..., trainer=trajectory.trainer, keep="trajectory")`` beside ``trajectory(problem,
    steps=20)``: it ends after its steps, whether it has settled or not. For the posterior mean itself use `BayesAMP`.
    """

    denoiser: Any
    steps: int = field(default=20, metadata=declared(TAKEN))

    minimises = False

    def check_together(self) -> None:
        if not (callable(self.denoiser) and hasattr(self.denoiser, "mmse")):
            reason, remedy = "it knows the law of the target", "Use <denoiser=SingularValueDenoiser(problem.target)>."
            raise checks.complaint("denoiser", "be a denoiser of matrices", reason, self.denoiser, remedy)
