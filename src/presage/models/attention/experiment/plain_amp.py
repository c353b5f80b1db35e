"""Message passing that is followed: every matrix on its way."""

from __future__ import annotations

from time import perf_counter

import numpy as np

from presage.models.attention.experiment.amp import AMP, STATIONARY, iterate
from presage.models.attention.experiment.fit import Fit, certify
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.plain_amp import PlainAMP
from presage.training.history import step_of

SETTLED = 1e-6  # relative: a matrix that a step moves by no more has settled, as that of `AMP`


def plain_message_passing(trainer: PlainAMP, objective: Objective, rng: np.random.Generator) -> Fit:
    """All steps without damping; `way` has the matrix before the first and after each."""
    began, history = perf_counter(), []
    state = AMP().begin(objective)
    way = [state.S]
    for iteration in range(trainer.steps):
        state = iterate(objective, state, 0.0, iteration)
        history.append(step_of(began, state.loss))
        way.append(state.S)
    data = objective.at_S(state.S)
    certificate = certify(objective, state.S, data)
    moved = float(np.linalg.norm(way[-1] - way[-2])) / max(float(np.linalg.norm(way[-1])), 1e-300)
    settled = moved <= SETTLED and certificate.residual <= STATIONARY * SETTLED
    return Fit(
        state.S,
        data.value + objective.penalty_at(state.S),
        data.value / objective.n,
        certificate,
        settled,
        trainer.steps + 1,
        perf_counter() - began,
        np.array(history),
        way=tuple(way),
    )
