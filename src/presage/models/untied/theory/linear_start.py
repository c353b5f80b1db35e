"""Where a linear output of the same stiffness would be: a start for the conjugates of a softmax."""

from __future__ import annotations

from math import log, sqrt

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.bilinear.theory.explicit_map import solve_bilinear_point
from presage.models.untied.problem import UntiedProblem


def linear_start(problem: UntiedProblem, slope: float) -> Floats:
    """Logarithms of m_hat, q_hat, Sigma_hat if the loss of a measurement were `slope` times a squared error.

    The loss ``slope (y - r)^2`` with weight decay lambda is ``(y - r)^2`` with ``lambda/slope``: for weight decay its
    noise level and cutoff are those of bilinear regression, for a ridge they are closed.

    Equation: derived, `bilinear_map` and the linear conjugates in other units.
    Checked: tests/models/untied/theory/test_limits.py::test_the_start_of_a_small_signal_is_the_answer
    """
    strength, target, alpha = problem.weight_decay, problem.singular_values, problem.alpha_eff
    assert strength is not None
    if problem.penalty == "weight-decay" and strength > 0.0:
        point = solve_bilinear_point(target, problem.noise, alpha, strength / slope)
        stiffness = 2.0 * strength / point.c
        return np.array([log(stiffness), 2.0 * log(point.delta * stiffness), log(stiffness)])
    tau, Q_0, noise = strength / slope, problem.Q_0, problem.noise
    b = alpha - 1.0 + tau  # x = 2 Sigma solves tau x^2 + b x - 1 = 0, from Sigma (2 alpha/(1 + 2 Sigma) + 2 tau) = 1
    Sigma = 1.0 / (sqrt(b * b + 4.0 * tau) + b) if b > 0.0 else 0.25 * (sqrt(b * b + 4.0 * tau) - b) / tau
    stiffness = 2.0 * alpha / (1.0 + 2.0 * Sigma)
    kept = stiffness * Sigma
    error = ((1.0 - kept) ** 2 * Q_0 + kept**2 * noise / alpha) / (1.0 - kept**2 / alpha)
    q_hat = stiffness**2 * (error + noise) / alpha
    return np.array([log(slope * stiffness), log(max(slope**2 * q_hat, 1e-300)), log(slope * stiffness)])
