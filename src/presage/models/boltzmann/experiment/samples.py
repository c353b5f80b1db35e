"""Real samples with directions, and real weights to start from."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.problem import BoltzmannProblem


class Samples(NamedTuple):
    """Samples over sqrt(d), and the directions that they were drawn with."""

    A: Floats  # n x d: X/sqrt(d)
    directions: Floats  # d x k_0, each of length sqrt(d)


def draw_directions(d: int, count: int, rng: np.random.Generator) -> Floats:
    """Random orthogonal directions of length sqrt(d), one a column."""
    return np.asarray(np.linalg.qr(rng.standard_normal((d, count)))[0] * np.sqrt(d))


def draw_latents(problem: BoltzmannProblem, count: int, rng: np.random.Generator) -> Floats:
    """What multiplies each direction, one row a sample: ``sqrt(lam_a) s_a``."""
    shape = (count, len(problem.signals))
    s = rng.standard_normal(shape) if problem.latents == "gaussian" else rng.integers(0, 2, shape) * 2.0 - 1.0
    return np.asarray(s * np.sqrt(problem.signals))


def draw_samples(problem: BoltzmannProblem, directions: Floats, n: int, rng: np.random.Generator) -> Samples:
    """``x = sum_a sqrt(lam_a) s_a w*_a/sqrt(d) + z``, one row each, over sqrt(d)."""
    d = len(directions)
    A = rng.standard_normal((n, d))
    A += draw_latents(problem, n, rng) @ directions.T / np.sqrt(d)
    A /= np.sqrt(d)
    return Samples(A, directions)


def weights_with_overlaps(directions: Floats, M: Floats, Q: Floats, rng: np.random.Generator) -> Floats:
    """Random weights W with ``W*'W/d = M`` and ``W'W/d = Q`` exactly: what is not along the directions is random."""
    d, units = len(directions), len(Q)
    free = rng.standard_normal((d, units))
    free -= directions @ (directions.T @ free) / d
    free = np.linalg.qr(free)[0] * np.sqrt(d)
    values, vectors = np.linalg.eigh(Q - M.T @ M)
    return np.asarray(directions @ M + free @ ((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T))


class FreshFields(NamedTuple):
    """Fresh samples as weights see them: their latents, and the projections of their noise, of unit covariance."""

    latents: Floats  # n_test x k_0
    noise: Floats  # n_test x k

    def seen_by(self, directions: Floats, W: Floats) -> Floats:
        """``W'x/sqrt(d)`` of each: the noise of a fresh sample is Gaussian along the weights, whatever these are."""
        d = len(W)
        values, vectors = np.linalg.eigh(W.T @ W / d)
        root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        return np.asarray(self.latents @ (directions.T @ W) / d + self.noise @ root)


def draw_fresh(problem: BoltzmannProblem, count: int, rng: np.random.Generator) -> FreshFields:
    """Fresh samples, of which only what the weights see is drawn."""
    return FreshFields(draw_latents(problem, count, rng), rng.standard_normal((count, problem.units)))
