"""The way of a training of a matrix without symmetry, predicted: of Bayes-optimal message passing step by step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import sqrt

import numpy as np

from presage.models.bilinear.declaration import FOLLOWED
from presage.models.bilinear.plain_bayes_amp import PlainBayesAMP
from presage.models.bilinear.problem import BilinearProblem
from presage.models.bilinear.theory.matrix_trajectory import matrix_trajectory
from presage.models.bilinear.theory.solution import caveats_of
from presage.protocol import checks
from presage.protocol.matrix_descent import MatrixDescent
from presage.protocol.matrix_flow import MatrixFlow
from presage.protocol.trajectory import Trajectory
from presage.spectra.rectangular.denoising import SingularValueDenoiser

ROUNDING = 1e-8  # relative, of the integral behind an error
TOKENS = (
    "scores of tokens are not independent measurements, and messages of finite networks drift away from this way "
    "without damping, the more so the fewer their tokens' dimensions."
)


def evolution(problem: BilinearProblem, denoiser: SingularValueDenoiser) -> Iterator[float]:
    """Estimation error of every step, from that of nothing on.

    ``q_hat = alpha/(Delta + V)``, ``V = MMSE(q_hat^(-1/2))``

    Equation: [ETBMZ24], its state evolution, with alpha counting measurements.
    Checked: tests/models/bilinear/test_trajectory.py::test_it_ends_at_the_bayes_error
    Checked: tests/models/bilinear/test_trajectory.py::test_message_passing_goes_this_way
    """
    V = problem.Q_0
    while True:
        yield V
        q_hat = problem.alpha_eff / (problem.noise + V)
        V = denoiser.mmse(1.0 / sqrt(q_hat))


def trajectory(
    problem: BilinearProblem, *, steps: int = PlainBayesAMP.steps, trainer: MatrixFlow | MatrixDescent | None = None
) -> Trajectory:
    """Predict the errors of a training after each of its first `steps` steps, or at so many times of a flow.

    Args:
        problem: what is learned; its weight decay plays no part.
        steps: how many steps or times are followed; the one before the first counts as step 0.
        trainer: whose: Bayes-optimal message passing, unless it is given; `MatrixFlow` or `MatrixDescent` train the
            matrix itself, from zero and without a penalty.
    """
    if trainer is not None:
        reason = "these are the ways that are known step by step, beside Bayes-optimal message passing"
        remedy = "Leave it out, or use <trainer=MatrixFlow()>."
        checks.instance("trainer", trainer, (MatrixFlow, MatrixDescent), reason=reason, remedy=remedy)
        return matrix_trajectory(problem, replace(trainer, steps=steps))
    denoiser = SingularValueDenoiser(problem.target)
    messages = PlainBayesAMP(denoiser, steps)
    error = np.array([*islice(evolution(problem, denoiser), messages.steps + 1)])
    values = {"estimation_error": error, "test_error": problem.components * (error + problem.noise)}
    bars = {name: ROUNDING * np.abs(value) for name, value in values.items()}
    notes = (*caveats_of(problem), *(() if problem.n_tokens is None else (TOKENS,)))
    return Trajectory(problem, messages, FOLLOWED, np.arange(messages.steps + 1.0), values, bars, notes)
