"""What the matrices on the way of a training are worth, at every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from presage.laws.numerical_zeros import with_numerical_zeros
from presage.laws.spectral_law import Floats
from presage.models.attention.declaration import DESCENDED, FLOWED, FOLLOWED, MATRIX_FOLLOWED
from presage.models.attention.experiment.data import Samples
from presage.models.attention.experiment.features import Frame
from presage.models.attention.experiment.objective import Objective
from presage.models.attention.population_descent import PopulationDescent
from presage.models.attention.population_flow import PopulationFlow
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.protocol.observables import Observable
from presage.protocol.trainer import Trainer

WITHOUT_SAMPLES = (PopulationFlow, PopulationDescent)
OF_A_MATRIX = (MatrixFlow, MatrixDescent)


def observables_of(trainer: Trainer) -> tuple[Observable, ...]:
    """What is measured at every time of a training."""
    if isinstance(trainer, PopulationFlow):
        return FLOWED
    if isinstance(trainer, PopulationDescent):
        return DESCENDED
    return MATRIX_FOLLOWED if isinstance(trainer, OF_A_MATRIX) else FOLLOWED


def followed(
    trainer: Trainer,
    way: Sequence[Floats],
    S_0: Floats,
    objective: Callable[[Samples], Objective],
    tests: Iterable[Samples],
    n_test: int,
    trained_on: Objective | None = None,
) -> Floats:
    """Rows (time, each observable) of the matrices of a way; all are tested on the same fresh samples."""
    d, times = len(S_0), getattr(trainer, "times", np.arange(len(way)))
    total = np.zeros(len(way))
    for block in tests:
        fresh = objective(block)
        total += [fresh.loss_at(S) for S in way]
    frame = Frame.of(S_0)
    measures: dict[str, Callable[[], ArrayLike]] = {
        "test_error": lambda: total / n_test,
        "train_error": lambda: [trained_on.loss_at(S) / trained_on.n for S in way] if trained_on else [],
        "estimation_error": lambda: [float(np.sum((S - S_0) ** 2)) / d for S in way],
        "rank": lambda: [np.count_nonzero(with_numerical_zeros(np.linalg.eigvalsh(S), d)) / d for S in way],
        "learned": lambda: [_learned(S, frame) for S in way],
        "local_exponent": lambda: [t * _slope(S, S_0) for t, S in zip(times, way, strict=True)],
    }
    return np.array([times, *(measures[one.name]() for one in observables_of(trainer))], dtype=np.float64).T


def _learned(S: Floats, frame: Frame) -> float:
    """Part of the features of the target of which half is learned."""
    s = with_numerical_zeros(frame.values, len(S))
    along = np.sum(frame.vectors * (S @ frame.vectors), axis=0)
    return float(np.mean(along[s > 0.0] >= 0.5 * s[s > 0.0])) if (s > 0.0).any() else 0.0


def _slope(S: Floats, S_0: Floats) -> float:
    """Slope in the time of the logarithm of ``|S - S_0|_F^2``, where ``dS/dtheta = (S_0 - S) S + S (S_0 - S)``."""
    left = S_0 - S
    change = left @ S + S @ left
    return -2.0 * float(np.sum(left * change)) / max(float(np.sum(left * left)), np.finfo(float).tiny)
