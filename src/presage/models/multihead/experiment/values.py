"""A whole value matrix behind the softmax: what it makes of tokens, and the one of least loss for given heads."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multihead.experiment.blocks import Heads
from presage.models.multihead.experiment.sequences import Sequences
from presage.training.ordered_sums import in_ordered_parts


class WithValues(NamedTuple):
    """A loss of the samples with a value matrix, its gradient in the heads, and that matrix."""

    value: float
    gradient: Floats  # H x d x d
    V: Floats  # d x d


def sample_values(v_0: float, d: int, rng: np.random.Generator) -> Floats:
    """A Gaussian V_0 with ``|V_0|_F^2/d = v_0^2``."""
    V_0 = rng.standard_normal((d, d))
    return np.asarray(v_0 * sqrt(d) / np.linalg.norm(V_0) * V_0)


def outputs_of(sequences: Sequences, V_0: Floats, v_0: float) -> Floats:
    """Labels behind the value matrix of the target, ``sigma_0 x V_0``: (n T) x d, of labels ``v_0 sigma_0``."""
    passed = mixed(sequences.labels[0] / v_0, sequences.tokens @ V_0)
    return passed.reshape(len(sequences.tokens), -1)


def mixed(weights: Floats, rows: Floats) -> Floats:
    """``sum_b sigma_ab rows_b`` of every sample, n x T x d."""
    n, T, _ = weights.shape
    x = rows.reshape(n, T, -1)
    return np.asarray(sum(weights[:, :, b, None] * x[:, None, b] for b in range(T)))


def with_values(
    sequences: Sequences, outputs: Floats, S: Floats, beta: float, *, V: Floats | None = None, threads: int = 1
) -> WithValues:
    """Loss of heads with a value matrix, and its gradient in the heads; V is the one of least loss unless it is given.

        L = sum_mu |sigma(S) x V - sigma_0 x V_0|_F^2/d,   sigma = (1/H) sum_h softmax(beta R_h)
        V = [sum_mu (sigma x)' sigma x]^-1 sum_mu (sigma x)' sigma_0 x V_0

    The loss is stationary in this V, so that its gradient in the heads at fixed V is that of the least loss.

    Equation: derived: the definition of the model; least squares in V.
    Checked: tests/models/multihead/experiment/test_values.py::test_gradients_are_differences_of_the_least_loss
    Checked: tests/models/multihead/experiment/test_values.py::test_the_value_matrix_is_that_of_least_squares
    """
    X, T, d, n = sequences.tokens, sequences.n_tokens, sequences.d, sequences.n
    heads, R = Heads(S, T), np.empty((len(S), n, T, T))

    def normal(blocks: list[slice]) -> Floats:
        """Scores of all samples, and both sides of the normal equation."""
        found = np.zeros((2, d, d))
        for block in blocks:
            rows = slice(block.start * T, block.stop * T)
            R[:, block] = heads.scores(X[rows], np.empty_like(X[rows]))
            if V is None:
                seen = mixed(_softmax(R[:, block], beta).mean(axis=0), X[rows]).reshape(-1, d)
                found += seen.T @ seen, seen.T @ outputs[rows]
        return found

    def sweep(blocks: list[slice]) -> tuple[float, Floats]:
        value, gradient = 0.0, np.zeros_like(S)
        for block in blocks:
            rows, count = slice(block.start * T, block.stop * T), block.stop - block.start
            sigma, through = _softmax(R[:, block], beta), X[rows] @ V_fit
            off = mixed(sigma.mean(axis=0), through) - outputs[rows].reshape(count, T, d)
            value += float(np.vdot(off, off)) / d
            slope = 2.0 / d * off @ through.reshape(count, T, d).transpose(0, 2, 1)  # in sigma, T x T
            raw = beta / len(S) * sigma * (slope - np.sum(sigma * slope, axis=3, keepdims=True))
            heads.pull(0.5 * (raw + raw.transpose(0, 1, 3, 2)), X[rows], np.empty_like(X[rows]), gradient)
        return value, gradient

    left, right = np.sum(in_ordered_parts(n, d, T, threads, normal), axis=0)
    V_fit = np.linalg.solve(left, right) if V is None else V
    values, gradients = zip(*in_ordered_parts(n, d, T, threads, sweep), strict=True)
    return WithValues(float(sum(values)), heads.whole(np.sum(gradients, axis=0)), V_fit)


def _softmax(R: Floats, beta: float) -> Floats:
    """Softmax of the rows of scores."""
    weights = np.exp(beta * (R - R.max(axis=-1, keepdims=True)))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


class Compared(NamedTuple):
    """A value matrix beside that of the target."""

    gain: float  # <V, V_0>/|V_0|^2, times v_0
    error: float  # |V - g V_0|_F^2/|V_0|_F^2, of what is no multiple of it


def beside_the_target(V: Floats, V_0: Floats, v_0: float) -> Compared:
    """The multiple ``g V_0`` that is nearest to a value matrix, as a gain ``v = g v_0``, and what is left."""
    size = float(np.vdot(V_0, V_0))
    g = float(np.vdot(V, V_0)) / size
    return Compared(g * v_0, float(np.sum((V - g * V_0) ** 2)) / size)
