"""A way to learn from samples, whatever the model: settings, which the objective of a model knows how to follow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presage.protocol import checks

if TYPE_CHECKING:
    import numpy as np


class Trainer:
    """A way to learn from samples: most minimise the loss."""

    minimises: bool = True  # whether what is found is a minimum of the loss, which then needs a slope and a penalty

    def fit(self, objective: Any, rng: np.random.Generator) -> Any:
        """Learn from the samples of `objective`, from a random start; how, the objective of the model knows."""
        return objective.fit(self, rng)


def check_options(trainer: Any) -> None:
    """Complain about a tolerance or a number of steps that makes no sense; a whole number given as a float is one."""
    checks.real(
        "tol",
        trainer.tol,
        above=0.0,
        at_most=1.0,
        reason="it is a relative accuracy",
        remedy="Use for example <tol=1e-5>.",
    )
    steps = checks.integer(
        "steps",
        trainer.steps,
        at_least=1,
        reason="it is the most steps that are taken",
        remedy="Use for example <steps=2000>.",
    )
    object.__setattr__(trainer, "steps", steps)
