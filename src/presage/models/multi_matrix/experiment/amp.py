"""Approximate message passing for several matrices: messages of samples and matrices in turn, a denoiser a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.experiment.objective import Objective, soft_threshold
from presage.models.multi_matrix.experiment.samples import quadratic_forms
from presage.models.multi_matrix.prox import proximal_points, responses
from presage.protocol.errors import TrainError

LEAST = 1e-12  # response of a matrix that has become zero
REMEDY = "Use more <damping> or <m_0>, or <trainer=LBFGS()>."


class State(NamedTuple):
    """Matrices after an iteration."""

    S: Floats  # L x d x d
    V: Floats  # L: their responses, Sigma_h of the theory
    loss: float  # whole, at the matrices before


def message_passing(
    objective: Objective, S: Floats, v_0: float, damping: float, *, onsager: float = 1.0
) -> Iterator[State]:
    """Every iteration; `onsager` is for controls, which show that it must be one.

        omega = z - V f,   f = (p - omega)/V,   Lambda_h = -(2/d^2) sum_mu D_hh
        Theta_h = (2/d) sum_mu f_h (x x' - 1)/sqrt(2d) + Lambda_h S_h
        S_h = shrink(Theta_h)/Lambda_h,   V_h = (2/d^2) div S_h

    f and V keep a part `damping` of the old; Lambda, which is what f gives way by, does likewise.

    Equation: derived: [BETKZ25] (41) with a message for every matrix, coupled by the proximal point of a sample.
    Checked: tests/models/multi_matrix/test_experiment.py::test_message_passing_ends_in_a_stationary_point
    """
    link, (X, y), d = objective.link, objective.samples, objective.d
    V = np.full(len(S), v_0)
    f: Floats = np.zeros((len(y), len(S)))
    Lambda: Floats | None = None
    p: Floats | None = None
    while True:
        z = quadratic_forms(X, S, objective.threads)
        loss = float(np.sum((y - link(z)) ** 2)) + objective.penalty_at(S)
        omega = z - onsager * V * f
        p = proximal_points(link, y, omega, V, [omega] if p is None else [omega, p]).p
        g, gradient, hessian = link.derivatives(p)
        D, _ = responses(y - g, gradient, hessian, V)
        new, stiff = (p - omega) / V, -2.0 / d**2 * np.einsum("nhh->h", D)
        f = new if Lambda is None else damping * f + (1.0 - damping) * new
        Lambda = stiff if Lambda is None else damping * Lambda + (1.0 - damping) * stiff
        if not np.isfinite(f).all() or not (Lambda > 0.0).all():
            raise TrainError("Message passing left the possible matrices.", REMEDY)
        Theta = 2.0 / d * objective.pull(f) + Lambda[:, None, None] * S
        shrunk = [shrink(one, 2.0 * objective.weight_decay) for one in Theta]
        S = np.array([one for one, _ in shrunk]) / Lambda[:, None, None]
        wanted = np.array([2.0 / d**2 * divergence for _, divergence in shrunk]) / Lambda
        V = np.maximum(damping * V + (1.0 - damping) * wanted, LEAST)
        yield State(S, V, loss)


def shrink(Theta: Floats, threshold: float) -> tuple[Floats, float]:
    """Soft threshold of the eigenvalues, and its divergence over symmetric matrices.

        div = sum_i s'(theta_i) + sum_{i<j} (s_i - s_j)/(theta_i - theta_j)

    Equation: derived: first-order perturbation of eigenvalues and eigenvectors.
    Checked: tests/models/multi_matrix/test_experiment.py::test_divergence_agrees_with_differences
    """
    theta, vectors = np.linalg.eigh(Theta)
    s = soft_threshold(theta, threshold)
    apart = theta[:, None] - theta[None, :]
    close = np.abs(apart) <= 1e-9 * max(float(np.abs(theta).max()), 1e-300)
    slope = (np.abs(theta) > threshold).astype(np.float64)
    ratio = np.where(close, slope[:, None], (s[:, None] - s[None, :]) / np.where(close, 1.0, apart))
    return np.asarray((vectors * s) @ vectors.T), 0.5 * float(ratio.sum() + np.trace(ratio))
