"""What a matrix that is trained itself shows on its way, from a finite number of samples: predicted at every time."""

from __future__ import annotations

from functools import partial

import numpy as np

from presage.models.attention.declaration import ESTIMATION_ERROR, MATRIX_FOLLOWED, TEST_ERROR, TRAIN_ERROR
from presage.models.attention.flow_checks import check_matrix
from presage.models.attention.problem import Problem
from presage.protocol.errors import SolveError
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.protocol.trajectory import Trajectory
from presage.solving.linear_flow import largest_curvature, left_of_descent, left_of_flow, linear_errors

EXACT = (
    "exact in the limit of large d, where the measurements of tokens act as Gaussian ones: networks are above it, by "
    "an amount that falls as 1/d."
)


def matrix_trajectory(problem: Problem, trainer: MatrixFlow | MatrixDescent) -> Trajectory:
    """Errors of a linear model on its way from zero, by integrals over the law of its curvatures.

        phi = 1/(2 alpha L),   L = T (T + 1)/2;   tau = 4 alpha L d t,   ridge phi tau_F on the same clock

    Equation: derived: 2 alpha L measurements an entry of S, each with noise Delta/2; `linear_errors` has the integrals.
    Checked: tests/models/attention/theory/test_flows.py::test_the_check_values_of_a_finite_number_of_samples
    Checked: tests/models/attention/test_flow_witnesses.py::test_matrices_flow_as_predicted
    """
    ridge = check_matrix(problem)
    components = problem.channel.n_in  # L
    phi = 1.0 / (2.0 * problem.alpha * components)
    r = phi * ridge
    if isinstance(trainer, MatrixFlow):
        left = partial(left_of_flow, ridge=r)
    else:
        left = partial(left_of_descent, rate=trainer.rate, ridge=r)
    with np.errstate(over="ignore", invalid="ignore"):
        found = linear_errors(left, trainer.times, phi, problem.Q_0, 0.5 * problem.noise)
    steepest = largest_curvature(phi) + r
    diverges = isinstance(trainer, MatrixDescent) and trainer.rate * steepest >= 2.0
    if not np.isfinite(found.estimation_error).all():
        raise SolveError("Descent leaves the finite numbers.", f"Use a smaller <rate>, below {2.0 / steepest:.3g}.")
    values = {
        ESTIMATION_ERROR.name: found.estimation_error,
        TEST_ERROR.name: 2.0 * components * (found.estimation_error + 0.5 * problem.noise),
        TRAIN_ERROR.name: 2.0 * components * found.train_error,
    }
    bars = {
        ESTIMATION_ERROR.name: found.estimation_bar,
        TEST_ERROR.name: 2.0 * components * found.estimation_bar,
        TRAIN_ERROR.name: 2.0 * components * found.train_bar,
    }
    coarse = (
        f"rate times the largest curvature is not below 2: this descent diverges; it settles below {2 / steepest:.3g}."
    )
    notes = (EXACT, *((coarse,) if diverges else ()))
    return Trajectory(problem, trainer, MATRIX_FOLLOWED, trainer.times, values, bars, notes)
