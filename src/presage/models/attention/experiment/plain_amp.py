"""Message passing that is followed: every matrix on its way, and what each of them is worth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import perf_counter

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.numerical_zeros import with_numerical_zeros
from presage.laws.spectral_law import Floats
from presage.models.attention.declaration import FOLLOWED
from presage.models.attention.experiment.amp import AMP, STATIONARY, iterate
from presage.models.attention.experiment.data import Samples
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


def followed(way: Sequence[Floats], S_0: Floats, objective: Objective, tests: Iterable[Samples], n_test: int) -> Floats:
    """Rows (step, each of FOLLOWED) of the matrices of a way; all are tested on the same fresh samples."""
    d = objective.d
    total = np.zeros(len(way))
    for block in tests:
        fresh = objective.with_samples(block)
        total += [fresh.loss_at(S) for S in way]
    columns: dict[str, ArrayLike] = {
        "test_error": total / n_test,
        "estimation_error": [float(np.sum((S - S_0) ** 2)) / d for S in way],
        "rank": [np.count_nonzero(with_numerical_zeros(np.linalg.eigvalsh(S), d)) / d for S in way],
    }
    return np.array([np.arange(len(way)), *(columns[one.name] for one in FOLLOWED)], dtype=np.float64).T
