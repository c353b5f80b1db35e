"""The least test error of a student that knows the target up to a factor, measured on drawn samples."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.models.attention.experiment.data import sample_target, stream
from presage.models.attention.experiment.tokens import Gaussian, Tokens
from presage.models.attention.problem import Problem
from presage.protocol.ensemble import streams

LARGEST = 3.0  # factor on the target, in units of the ratio of the temperatures


class MeasuredFloor(NamedTuple):
    """The factor of least test error, that error, and its standard error."""

    scale: float
    test_error: float
    bar: float


def measured_floor(
    problem: Problem, *, d: int, samples: int = 200_000, seed: int = 0, tokens: Tokens | None = None
) -> MeasuredFloor:
    """Least test error of ``s S_0`` over s, for a target of dimension d and scores as they are.

    Where few eigenvalues make most of the target, as with a power law, scores ``x_a' S_0 x_b`` are not Gaussian at any
    d, and this is not the floor of the theory.
    """
    for_target, for_data, _, for_noise = streams(seed, d)
    S_0 = sample_target(problem.target, d, for_target)
    blocks = stream(S_0, problem.channel, samples, for_data, tokens=tokens or Gaussian(), noise=0.0)
    z = np.concatenate([block.z_0 for block in blocks])
    z_0 = z + sqrt(0.5 * problem.noise) * for_noise.standard_normal(z.shape)

    def error(s: float) -> float:
        return float(np.mean(problem.channel.loss_at(z_0, s * z)))

    largest = LARGEST * problem.channel.beta_ratio
    s = float(scipy.optimize.minimize_scalar(error, bounds=(0.0, largest), method="bounded").x)
    losses = problem.channel.loss_at(z_0, s * z)
    return MeasuredFloor(s, float(losses.mean()), float(losses.std(ddof=1) / sqrt(samples)))
