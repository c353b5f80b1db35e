"""A way to learn from samples, whatever the model: settings, which the objective of a model knows how to follow."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from presage.protocol.fields import Declared, Number

if TYPE_CHECKING:
    import numpy as np

TOL = Number("relative accuracy", above=0.0, at_most=1.0, reason="it is a relative accuracy", example=1e-5)
STEPS = Number("most steps that are taken", at_least=1, whole=True, example=2000)
# Of a trainer that is followed step by step, and ends after its steps whether it has settled or not.
STEPS_TAKEN = Number("steps that are taken", at_least=1, at_most=1000, whole=True, example=20)
DAMPING = Number("part of the old messages that is kept", at_least=0.0, at_most=0.99, example=0.3)


def handed_in(kind: type) -> str:
    """What a trainer of a posterior mean is made of: its first field, which `bayes_optimal` has by name."""
    return dataclasses.fields(kind)[0].name


class Trainer(Declared):
    """A way to learn from samples: most minimise the loss."""

    minimises: bool = True  # whether what is found is a minimum of the loss, which then needs a slope and a penalty
    clock: str = "steps of the training"  # what the times of a trajectory are, on an axis
    moment: str = "step"  # what one of them is called
    geometric: bool = False  # whether they are evenly spaced by their logarithm

    def fit(self, objective: Any, rng: np.random.Generator) -> Any:
        """Learn from the samples of `objective`, from a random start; how, the objective of the model knows."""
        return objective.fit(self, rng)
