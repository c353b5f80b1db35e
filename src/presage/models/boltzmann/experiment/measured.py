"""What is measured of the weights of a machine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from presage.laws.spectral_law import Floats
from presage.models.boltzmann.experiment.samples import FreshFields, Samples
from presage.models.boltzmann.problem import BoltzmannProblem


class Seen(NamedTuple):
    """Everything that is fixed while a machine learns: the problem, its samples, and fresh ones."""

    problem: BoltzmannProblem
    samples: Samples
    fresh: FreshFields


def followed(seen: Seen, W: Floats) -> dict[str, float]:
    """The observables of weights at any time of a training."""
    A, directions = seen.samples
    hidden, d = seen.problem.hidden, len(W)
    M, Q = directions.T @ W / d, W.T @ W / d
    span = np.linalg.qr(W)[0]
    aligned = np.sum((directions.T @ span) ** 2, axis=1) / d
    cost = hidden.psi(Q)
    return {
        "alignment": float(aligned[0]),
        "overlap": float(np.linalg.norm(M[0])),
        "last_alignment": float(aligned[-1]),
        "size": float(np.trace(Q)) / len(Q),
        "test_likelihood": float(np.mean(hidden.moments(seen.fresh.seen_by(directions, W)).phi)) - cost,
        "train_likelihood": float(np.mean(hidden.moments(A @ W).phi)) - cost,
    }


def principal_alignment(samples: Samples) -> float:
    """Squared cosine of the strongest direction with the first principal component of the samples."""
    A, directions = samples
    n, d = A.shape
    small = A.T @ A if d <= n else A @ A.T
    last = len(small) - 1
    _, vectors = scipy.linalg.eigh(small, subset_by_index=[last, last])
    u = vectors[:, 0] if d <= n else A.T @ vectors[:, 0]
    return float((u @ directions[:, 0]) ** 2 / (u @ u) / d)
