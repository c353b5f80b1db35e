"""Bayes-optimal message passing for a matrix without symmetry; its denoiser is handed in."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.bilinear.experiment.measurements import Measurements
from presage.protocol import checks
from presage.training.bayes_amp import MatrixDenoiser


class BayesState(NamedTuple):
    """An iterate of Bayes message passing."""

    M: Floats
    V: float  # its expected error an entry of S
    g: Floats  # (y - omega)/(Delta + V) of each score


def bayes_message_passing(
    measurements: Measurements,
    labels: Floats,
    noise: float,
    denoiser: MatrixDenoiser,
    *,
    steps: int = 40,
    damping: float = 0.5,
) -> Iterator[BayesState]:
    """Iterate Bayes-optimal message passing from nothing; yield each state.

    ``omega = A M - V g``, ``g = (y - omega)/(Delta + V)``, ``q_hat = sum g^2/(p N)``,
    ``R = M + A'g/(q_hat sqrt(p N))``, and M, V are what the denoiser makes of R at noise level ``q_hat^(-1/2)``.

    Equation: [ETBMZ24], its message passing.
    Checked: tests/models/bilinear/test_bilinear.py::test_message_passing_is_on_the_bayes_curve

    Args:
        measurements: what the samples see.
        labels: scores with their noise.
        noise: its variance Delta.
        denoiser: maps singular values and a noise level to those of the estimate, and knows its error.
        steps: number of iterations.
        damping: part of the old messages that is kept; those of tokens drift away without it.
    """
    checks.real(
        "damping",
        damping,
        at_least=0.0,
        at_most=0.99,
        reason="it is the part of the old messages that is kept",
        remedy="Use for example damping=0.5.",
    )
    M, V, g = np.zeros(measurements.shape), denoiser.law.second_moment, np.zeros(labels.shape)
    for iteration in range(steps):
        omega = measurements.forward(M) - V * g
        fresh = (labels - omega) / (noise + V)
        g = fresh if iteration == 0 else (1.0 - damping) * fresh + damping * g
        q_hat = float(np.sum(g**2)) / measurements.entries
        if not 0.0 < q_hat < inf:
            return
        R = M + measurements.transpose(g) / (q_hat * sqrt(measurements.entries))
        left, values, right = np.linalg.svd(R, full_matrices=False)
        delta = 1.0 / sqrt(q_hat)
        M, V = np.asarray((left * denoiser(values, delta)) @ right), denoiser.mmse(delta)
        yield BayesState(M, V, g)
