"""Ways to train a network of this model: what becomes of the settings of each trainer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from presage.models.attention.experiment.bayes_amp import posterior_mean
from presage.models.attention.experiment.fit import Fit
from presage.models.attention.experiment.gradient import adam, lbfgs
from presage.models.attention.experiment.matrix_flow import descent, flow
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.experiment.plain_amp import plain_message_passing
from presage.models.attention.experiment.proximal_gradient import proximal_gradient
from presage.models.attention.plain_amp import PlainAMP
from presage.protocol import checks
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.protocol.trainer import Trainer
from presage.training.adam import Adam
from presage.training.bayes_amp import BayesAMP
from presage.training.lbfgs import LBFGS
from presage.training.proximal_gradient import ProximalGradient

WAYS: dict[type[Trainer], Callable[[Any, Objective, np.random.Generator], Fit]] = {
    LBFGS: lbfgs,
    Adam: adam,
    ProximalGradient: proximal_gradient,
    BayesAMP: posterior_mean,
    PlainAMP: plain_message_passing,
    MatrixFlow: flow,
    MatrixDescent: descent,
}


def fit(trainer: Trainer, objective: Objective, rng: np.random.Generator) -> Fit:
    """Train by the way of `trainer`; one of the user's own writes its own `fit`."""
    if type(trainer) not in WAYS:
        known = ", ".join(kind.__name__ for kind in WAYS)
        reason = f"this model knows AMP, {known}, and trainers that write `fit(objective, rng)` themselves"
        raise checks.complaint("trainer", "be one that this model knows", reason, trainer, "Use <trainer=LBFGS()>.")
    return WAYS[type(trainer)](trainer, objective, rng)
