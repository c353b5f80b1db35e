"""What samples show of the matrices: means over the Gaussian law of a sample, given the overlaps."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.problem import MultiMatrixProblem
from presage.models.multi_matrix.prox import proximal_points, responses
from presage.models.multi_matrix.symmetries import sign_symmetries
from presage.solving.vector_state_evolution import Overlaps


class Hats(NamedTuple):
    """What samples give, one number a matrix each: those between two vanish by signs that labels do not tell."""

    m_hat: Floats
    q_hat: Floats
    v_hat: Floats


class SampleMeans(NamedTuple):
    """Means over the law of a sample."""

    hats: Hats
    off_diagonal: float  # largest of the hats between two matrices, beside those of the two
    stein: Floats  # v_hat of each matrix by another form of the same mean, which sees jumps
    several: float  # fraction of samples with several minima
    train_error: float
    test_error: float
    p: Floats  # proximal points


@lru_cache(maxsize=16)
def rule(matrices: int, points: int, seed: int) -> Floats:
    """Scrambled points of Sobol as Gaussian numbers, of mean zero and covariance one exactly."""
    sobol = scipy.stats.qmc.Sobol(2 * matrices + 1, rng=np.random.default_rng(seed))
    normals = scipy.special.ndtri(sobol.random(points))
    normals -= normals.mean(axis=0)
    root = np.linalg.cholesky(normals.T @ normals / points)
    found = np.asarray(np.linalg.solve(root, normals.T).T)
    found.flags.writeable = False
    return found


def sample_means(
    problem: MultiMatrixProblem,
    overlaps: Overlaps,
    normals: Floats,
    guess: Floats | None = None,
    *,
    all_starts: bool = False,
) -> SampleMeans:
    """Hats of every matrix, and errors, by quadrature over the numbers of target and learner and the noise.

        lam = (p - z)/V,   D = dlam/dz,   D_0 = dlam/dz_0
        m_hat_h = 2 alpha E D_0,hh,   v_hat_h = -2 alpha E D_hh,   q_hat_h = 2 alpha E lam_h^2

    The numbers ``(z_0, z)`` of a matrix are Gaussian with covariance ``[[Q_0, m], [m, q]]``.

    Equation: derived: state evolution of several quadratic forms, whose sign symmetries keep matrices apart.
    Checked: tests/models/multi_matrix/test_state_evolution.py::test_hats_agree_with_their_stein_form
    Checked: tests/models/multi_matrix/test_state_evolution.py::test_hats_between_matrices_vanish
    """
    link, alpha, count = problem.link, problem.alpha, problem.matrices
    Q_0, (m, q, V) = problem.sizes, overlaps
    z_0 = np.sqrt(Q_0) * normals[:, :count]
    beside = np.sqrt(np.maximum(q - m * m / Q_0, 0.0))
    z = m / Q_0 * z_0 + beside * normals[:, count : 2 * count]
    g_0, slope_0 = link.gradient(z_0)
    y = g_0 + sqrt(problem.noise) * normals[:, -1]
    starts = [z, z_0, 0.5 * (z + z_0)] if guess is None or all_starts else [guess, z]
    if all_starts:
        starts += [z * np.array(signs) for signs in sign_symmetries(link) if min(signs) < 0]
    found = proximal_points(link, y, z, V, starts)
    g, gradient, hessian = link.derivatives(found.p)
    lam = (found.p - z) / V
    D, by_label = responses(y - g, gradient, hessian, V)
    m_hat = 2.0 * alpha * np.mean(by_label * slope_0, axis=0)
    v_hat = -2.0 * alpha * np.diagonal(D.mean(axis=0))
    q_hat = 2.0 * alpha * np.mean(lam**2, axis=0)
    between = 2.0 * alpha * np.abs(lam.T @ lam / len(lam)) / np.sqrt(np.outer(q_hat, q_hat) + 1e-300)
    np.fill_diagonal(between, 0.0)
    return SampleMeans(
        Hats(m_hat, q_hat, v_hat),
        float(between.max()),
        _stein(alpha, Q_0, overlaps, z_0, z, lam),
        float(found.several.mean()),
        float(np.mean((y - g) ** 2)),
        float(np.mean((y - link(z)) ** 2)),
        found.p,
    )


def _stein(alpha: float, Q_0: Floats, overlaps: Overlaps, z_0: Floats, z: Floats, lam: Floats) -> Floats:
    """``v_hat`` by parts: ``E lam (z_0, z)' = (E D_0, E D) Cov``; where proximal points jump it sees the jumps.

    Equation: derived: Stein's lemma for the Gaussian ``(z_0, z)`` of a matrix.
    Checked: tests/models/multi_matrix/test_state_evolution.py::test_hats_agree_with_their_stein_form
    """
    m, q, _ = overlaps
    with_target, with_itself = np.mean(lam * z_0, axis=0), np.mean(lam * z, axis=0)
    free = np.maximum(Q_0 * q - m * m, 1e-300)
    return np.asarray(-2.0 * alpha * (Q_0 * with_itself - m * with_target) / free)
