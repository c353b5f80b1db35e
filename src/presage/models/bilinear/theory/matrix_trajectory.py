"""What a matrix without symmetry shows that is trained itself, entry by entry: predicted at every time."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.bilinear.declaration import ESTIMATION_ERROR, MATRIX_FOLLOWED, TEST_ERROR, TRAIN_ERROR
from presage.models.bilinear.problem import BilinearProblem
from presage.protocol.errors import SolveError
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.protocol.trajectory import Trajectory
from presage.solving.linear_flow import largest_curvature, left_of_descent, left_of_flow, linear_errors

PLAIN = "training without a penalty from zero, exact in the limit of large d: the weight decay plays no part."
TOKENS = "scores of tokens are taken as Gaussian measurements: networks are above it, by an amount that falls as 1/d."


class Block(NamedTuple):
    """A part of the matrix that a sample sees apart from the others: all of it, or one symmetry."""

    phi: float  # its entries over the measurements of it
    Q_0: float  # size of the target there
    noise: float  # of a measurement
    weight: float  # of its errors in the loss of a sample
    speed: float  # its mean curvature over that of the whole


def blocks(problem: BilinearProblem) -> tuple[Block, ...]:
    """What scores of distinct tokens see is the whole matrix; with the diagonal, its two symmetries one by one.

        phi = 1/alpha_eff;   all pairs: phi_g = 1/(2 alpha L_g), L_g = T (T +- 1)/2, noise Delta/2, weight 2 L_g

    Equation: derived: r_ab = z_ab + t_ab, r_ba = z_ab - t_ab of symmetric and antisymmetric parts, r_aa = sqrt2 z_aa.
    Checked: tests/models/bilinear/test_flows.py::test_matrices_flow_as_predicted
    """
    if problem.n_tokens is None or problem.pairs != "all":
        return (Block(1.0 / problem.alpha_eff, problem.Q_0, problem.noise, problem.components, 1.0),)
    T = problem.n_tokens
    return tuple(
        Block(1.0 / (problem.alpha * count), 0.5 * problem.Q_0, 0.5 * problem.noise, float(count), count / T**2)
        for count in (T * (T + 1), T * (T - 1))
        if count
    )


def matrix_trajectory(problem: BilinearProblem, trainer: MatrixFlow | MatrixDescent) -> Trajectory:
    """Errors on the way from zero, on the clock ``tau = 2 alpha_eff sqrt(d L) t``, by integrals over curvatures.

    Equation: derived: `linear_errors` of every block.
    Checked: tests/models/bilinear/test_flows.py::test_the_seen_values
    """
    values = {one.name: np.zeros(len(trainer.times)) for one in MATRIX_FOLLOWED}
    if problem.pairs == "all" and problem.n_tokens == 1:
        values[ESTIMATION_ERROR.name] += 0.5 * problem.Q_0  # the antisymmetric part, which no sample sees
    bars = {one.name: np.zeros(len(trainer.times)) for one in MATRIX_FOLLOWED}
    for block in blocks(problem):

        def left(x: Floats, times: Floats, speed: float = block.speed) -> Floats:
            if isinstance(trainer, MatrixFlow):
                return left_of_flow(x, speed * times)
            return left_of_descent(x, times, speed * trainer.rate)

        with np.errstate(over="ignore", invalid="ignore"):
            found = linear_errors(left, trainer.times, block.phi, block.Q_0, block.noise)
        values[ESTIMATION_ERROR.name] += found.estimation_error
        values[TEST_ERROR.name] += block.weight * (found.estimation_error + block.noise)
        values[TRAIN_ERROR.name] += block.weight * found.train_error
        bars[ESTIMATION_ERROR.name] += found.estimation_bar
        bars[TEST_ERROR.name] += block.weight * found.estimation_bar
        bars[TRAIN_ERROR.name] += block.weight * found.train_bar
    steepest = max(block.speed * largest_curvature(block.phi) for block in blocks(problem))
    if not np.isfinite(values[ESTIMATION_ERROR.name]).all():
        raise SolveError("Descent leaves the finite numbers.", f"Use a smaller <rate>, below {2.0 / steepest:.3g}.")
    notes = [PLAIN, *([] if problem.n_tokens is None else [TOKENS])]
    if isinstance(trainer, MatrixDescent) and trainer.rate * steepest >= 2.0:
        notes.append(
            f"rate times the largest curvature is not below 2: descent settles below {2.0 / steepest:.3g} only."
        )
    return Trajectory(problem, trainer, MATRIX_FOLLOWED, trainer.times, values, bars, tuple(notes))
