"""The steps of Bayes-optimal message passing for a matrix without symmetry, predicted one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from math import sqrt

import numpy as np

from presage.models.bilinear.declaration import FOLLOWED
from presage.models.bilinear.plain_bayes_amp import PlainBayesAMP
from presage.models.bilinear.problem import BilinearProblem
from presage.models.bilinear.theory.solution import caveats_of
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


def trajectory(problem: BilinearProblem, *, steps: int = PlainBayesAMP.steps) -> Trajectory:
    """Predict the error of Bayes-optimal message passing after each of its first `steps` steps.

    Args:
        problem: what is learned; its weight decay plays no part.
        steps: how many steps are followed; the one before the first counts as step 0.
    """
    denoiser = SingularValueDenoiser(problem.target)
    trainer = PlainBayesAMP(denoiser, steps)
    error = np.array([*islice(evolution(problem, denoiser), trainer.steps + 1)])
    values = {"estimation_error": error, "test_error": problem.components * (error + problem.noise)}
    bars = {name: ROUNDING * np.abs(value) for name, value in values.items()}
    notes = (*caveats_of(problem), *(() if problem.n_tokens is None else (TOKENS,)))
    return Trajectory(problem, trainer, FOLLOWED, np.arange(trainer.steps + 1.0), values, bars, notes)
