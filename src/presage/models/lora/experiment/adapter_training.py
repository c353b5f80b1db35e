"""Training of an adapter: L-BFGS from a spectral start and a few random ones, of which the lowest loss is kept."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.softmax import Softmax
from presage.models.lora.experiment.adapter_loss import AdapterLoss
from presage.models.lora.experiment.sequences import Sequences
from presage.protocol.errors import TrainError
from presage.training.history import History
from presage.training.lbfgs import LBFGS
from presage.training.quasi_newton import quasi_newton

LEAST_WEIGHT = 1e-300  # of a label: its logarithm is finite
SAME = 1e-6  # relative: losses that differ by less are of one minimum
BLOCK = 4096  # sequences at a time


class AdapterFit(NamedTuple):
    """A trained adapter."""

    w: Floats
    loss: float  # whole
    converged: bool
    start: int  # from which start it came: 0 is the spectral one
    history: Floats


def seen_scores(sequences: Sequences) -> Floats:
    """The target's scores, read off the labels: those of a softmax from their logarithms, up to a common shift.

    ``log y_ab/beta_0 = R_ab - o_a``, and since R is symmetric, ``o_a`` less its mean is the mean over b of
    ``(log y_ba - log y_ab)/beta_0``.
    """
    channel, y = sequences.channel, sequences.labels
    if not isinstance(channel, Softmax):
        return y
    log_y = np.log(np.maximum(y, LEAST_WEIGHT)) / channel.target_beta
    offsets = np.mean(log_y.transpose(0, 2, 1) - log_y, axis=2)
    R = log_y + offsets[:, :, None]
    return np.asarray(R - R.mean(axis=(1, 2), keepdims=True))


def spectral_start(sequences: Sequences, rank: int, strength: float) -> Floats:
    """Leading eigenvectors of ``sum X' F(B) X`` less its trace part, B what the frozen layer leaves of the scores.

    B is the residual of a regression of the target's scores on the frozen ones, and ``F(e) = e/(|e| + c)`` bounds its
    eigenvalues: c is the strength of the new task and the variance of B.
    """
    frozen, R = sequences.frozen, seen_scores(sequences)
    if isinstance(sequences.channel, Softmax):
        frozen = frozen - frozen.mean(axis=(1, 2), keepdims=True)
    size = float(np.sum(frozen**2))
    B = R - (float(np.sum(R * frozen)) / size if size > 0.0 else 0.0) * frozen
    T, d = B.shape[-1], sequences.d
    c = strength + float(np.mean(B**2))
    values, vectors = np.linalg.eigh(B)
    values = values / (np.abs(values) + c)
    F = np.matmul(vectors * values[:, None, :], vectors.transpose(0, 2, 1))
    X = sequences.tokens.reshape(-1, T, d)
    pulled = np.zeros((d, d))
    for begin in range(0, len(X), BLOCK):
        block = X[begin : begin + BLOCK]
        pulled += block.reshape(-1, d).T @ np.matmul(F[begin : begin + BLOCK], block).reshape(-1, d)
    pulled -= np.trace(F, axis1=1, axis2=2).sum() * np.eye(d)
    _, directions = np.linalg.eigh(0.5 * (pulled + pulled.T))
    return np.asarray(sqrt(strength * d) * directions[:, ::-1][:, :rank])


def train_adapter(
    sequences: Sequences,
    weight_decay: float,
    rank: int,
    strength: float,
    trainer: LBFGS,
    starts: int,
    rng: np.random.Generator,
) -> AdapterFit:
    """The lowest of the minima that L-BFGS finds from the spectral start and from ``starts - 1`` random ones."""
    loss = AdapterLoss(sequences, weight_decay)
    size = sqrt(strength)
    places = [spectral_start(sequences, rank, strength)]
    places += [size * rng.standard_normal((sequences.d, rank)) for _ in range(starts - 1)]
    fits = [_descended(loss, place, trainer, k) for k, place in enumerate(places)]
    lowest = min(fit.loss for fit in fits)
    return next(fit for fit in fits if fit.loss <= lowest + SAME * abs(lowest))


def _descended(loss: AdapterLoss, start: Floats, trainer: LBFGS, number: int) -> AdapterFit:
    """L-BFGS until the gradient is below `tol` of the loss over the size of w."""
    relative, history = np.inf, History()

    def evaluate(w: Floats) -> tuple[float, Floats]:
        nonlocal relative
        value, gradient = loss(w)
        if not np.isfinite(value):
            raise TrainError("The training of the adapter left the finite numbers.", "Check the labels.")
        relative = float(np.linalg.norm(gradient) * max(float(np.linalg.norm(w)), 1.0)) / max(value, 1e-300)
        return value, gradient

    def done(value: float) -> bool:
        history.record(value)
        return relative <= trainer.tol

    found = quasi_newton(
        evaluate, start, steps=trainer.steps, evaluations=10 * trainer.steps, memory=trainer.memory, done=done
    )
    evaluate(found.X)
    return AdapterFit(found.X, found.value, relative <= 10.0 * trainer.tol, number, history.rows)
