"""What a sample of the fine-tuning sees, at the points of a rule: frozen scores, the label, the new target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.attention.theory.rules.sobol import scattered_points
from presage.models.lora.problem import LoraProblem
from presage.models.lora.theory.effective_noise import fresh_noise, reused_noise, selected_noise
from presage.models.lora.theory.pretrained import Pretrained
from presage.solving.vector_state_evolution import Overlaps


class Points(NamedTuple):
    """Independent standard numbers of the samples of one rule."""

    chi: Floats  # n x T x r_0: what the sample shows of the new target, of variance q_0
    xi: Floats  # n x T x r: the rest of the field
    z: Floats  # n x L: components of the frozen scores
    rest: Floats  # n x L: what the target has beside them; for a linear output the residual itself
    again: Floats  # n x 2L: the noise of each stage where it is drawn anew; empty where it is not


def points_of(problem: LoraProblem, nodes: int, seed: int) -> Points:
    """Scrambled Sobol points, as many numbers a sample as the problem has."""
    T, r, r_0 = problem.n_tokens, problem.rank, problem.target_rank
    L = T * (T + 1) // 2
    relabelled = 2 * L if problem.reuse == "sequences" else 0
    sizes = [T * r_0, T * r, *([0, L, 0] if problem.linear else [L, L, relabelled])]
    numbers = scattered_points(sum(sizes), nodes, seed)
    chi, xi, z, rest, again = np.split(numbers, np.cumsum(sizes)[:-1], axis=1)
    return Points(np.sqrt(problem.strength) * chi.reshape(nodes, T, r_0), xi.reshape(nodes, T, r), z, rest, again)


def residual_noise(problem: LoraProblem, before: Pretrained) -> float:
    """For a linear output: variance of what the frozen layer leaves of the labels that are trained on."""
    b, T = problem.recalibration, problem.n_tokens
    if problem.reuse != "nothing":
        return reused_noise(before, same_noise=problem.reuse == "noise", b=b)
    if problem.selection < 1.0:
        return selected_noise(before, problem.selection, T * (T + 1) // 2, b)
    return fresh_noise(before, b)


def fields_of(points: Points, overlaps: Overlaps, q_0: float) -> Floats:
    """Fields of the samples, n x T x r: what they show of the adapter.

        omega_a = m q_0^-1 chi_0a + (q - m q_0^-1 m')^{1/2} xi_a

    Equation: derived: Gaussian with the covariance of the adapter's projections, given those of the target.
    Checked: tests/models/lora/test_samples.py::test_fields_have_the_covariance_of_the_overlaps
    """
    m, q, _ = overlaps
    values, vectors = np.linalg.eigh(q - m @ m.T / q_0)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    return np.asarray(points.chi @ m.T / q_0 + points.xi @ root)


def new_scores(chi: Floats, q_0: float) -> Floats:
    """``chi chi' - Tr(q) 1`` of the columns of chi, each of squared length q_0 over the dimension."""
    T, columns = chi.shape[-2:]
    return np.asarray(chi @ np.swapaxes(chi, -1, -2) - columns * q_0 * np.eye(T))


def frozen_and_target(
    problem: LoraProblem, before: Pretrained, points: Points, *, fresh: bool
) -> tuple[Floats, Floats]:
    """Components of the frozen scores (before the recalibration) and of the target's (label noise included).

    Those of a `fresh` sequence, or as the fine-tuning sees them: selected by the size of the frozen scores, or of a
    sequence of the pre-training, where the frozen scores are the proximal map of the pre-training.

    Equation: derived: ``z_0 = (M/Q) z + sqrt(rho_0 - M^2/Q) xi``; a selection keeps ``|z|^2/Q <= F_L^-1(f)``.
    Checked: tests/models/lora/test_samples.py::test_selected_scores_are_the_smallest_of_a_pool
    Checked: tests/models/lora/test_samples.py::test_reused_scores_are_those_of_trained_samples
    """
    normal, L = points.z, points.z.shape[1]
    if not fresh and problem.selection < 1.0:
        size = np.sum(normal**2, axis=1)
        level = problem.selection * scipy.special.gammainc(0.5 * L, 0.5 * size)
        normal = normal * np.sqrt(2.0 * scipy.special.gammaincinv(0.5 * L, level) / size)[:, None]
    z = np.sqrt(before.Q) * normal
    clean_again = not fresh and problem.reuse == "sequences"
    variance = before.Q_0 if clean_again else before.rho_0
    z_0 = before.slope * z + np.sqrt(max(variance - before.slope * before.M, 0.0)) * points.rest
    if fresh or problem.reuse == "nothing":
        return z, z_0
    prox = problem.pretraining.channel.prox
    if problem.reuse == "noise":
        return prox(z_0, z, before.Sigma), z_0
    # Two noises on one clean score: the first is what the layer saw, the second what the fine-tuning sees.
    first, second = np.sqrt(0.5 * before.noise) * np.array(np.split(points.again, 2, axis=1))
    return prox(z_0 + first, z, before.Sigma), z_0 + second
