"""Loss of the mean of softmax heads over two tokens, with its derivatives, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.njit import njit
from presage.solving.block_prox import LossTerms

ROWS = np.array([[3.0, 1.0], [1.0, 3.0]])  # A A' of the two rows of one head: differences of the two scores of a row


@final
@dataclass(frozen=True)
class MeanOfHeads:
    """``l = 2 sum_i (s_i - s0_i)^2`` with ``s_i = mean_h 1/(1 + exp(-beta u_hi))``, and what a gain adds.

    ``u_hi`` is the difference of the two scores of row i in head h, ordered by heads. A row of the output is
    ``v (s_i, 1 - s_i)``, so that with gains a row adds ``(v s_i - v_0 s0_i)^2 + (v (1-s_i) - v_0 (1-s0_i))^2``.

    Equation: derived.
    Checked: tests/models/multihead/test_mean_loss.py::test_derivatives_against_differences
    """

    beta: float = 1.0
    beta_0: float = 1.0
    gain: float = 1.0
    target_gain: float = 1.0

    def __call__(self, u0: Floats, u: Floats) -> LossTerms:
        n, P = u.shape
        terms = LossTerms(np.empty(n), np.empty((n, P)), np.empty((n, P, P)), np.empty((n, P, P)))
        mean_terms(u0, u, self.beta, self.beta_0, self.gain, self.target_gain, *terms)
        return terms

    def best_gain(self, u0: Floats, p: Floats) -> float:
        """``v_0 E<sigma(p), sigma_0>/E|sigma(p)|_F^2``: the gain at which the loss of the outputs at p is least."""
        s, s_0 = mean_output(p, self.beta), mean_output(u0, self.beta_0)
        along = s * s_0 + (1.0 - s) * (1.0 - s_0)
        square = s * s + (1.0 - s) ** 2
        return self.target_gain * float(np.mean(along) / np.mean(square))


def mean_output(u: Floats, beta: float) -> Floats:
    """``s_i``, the first entry of each row of the mean of the heads, n x 2."""
    heads = u.reshape(len(u), -1, 2)
    return np.asarray(np.mean(1.0 / (1.0 + np.exp(-beta * heads)), axis=1))


@njit(cache=True, error_model="numpy")
def mean_terms(u0, u, beta, beta_0, v, v_0, value, gradient, hessian, cross):  # type: ignore[no-untyped-def]
    """Write the loss of each sample and its derivatives."""
    n, P = u.shape
    H = P // 2
    slope, bend, slope_0 = np.empty(P), np.empty(P), np.empty(P)
    for row in range(n):
        value[row] = 0.0
        for i in range(P):
            for j in range(P):
                hessian[row, i, j] = 0.0
                cross[row, i, j] = 0.0
        for side in range(2):
            s, s_0 = 0.0, 0.0
            for h in range(H):
                k = 2 * h + side
                one = 1.0 / (1.0 + np.exp(-beta * u[row, k]))
                other = 1.0 / (1.0 + np.exp(-beta_0 * u0[row, k]))
                s += one / H
                s_0 += other / H
                slope[k] = beta * one * (1.0 - one) / H
                bend[k] = beta * slope[k] * (1.0 - 2.0 * one)
                slope_0[k] = beta_0 * other * (1.0 - other) / H
            first, second = v * s - v_0 * s_0, v * (1.0 - s) - v_0 * (1.0 - s_0)
            value[row] += first * first + second * second
            pull = 2.0 * v * (first - second)
            for h in range(H):
                k = 2 * h + side
                gradient[row, k] = pull * slope[k]
                for g in range(H):
                    j = 2 * g + side
                    hessian[row, k, j] = 4.0 * v * v * slope[k] * slope[j]
                    cross[row, k, j] = -4.0 * v * v_0 * slope[k] * slope_0[j]
                hessian[row, k, k] += pull * bend[k]


def products_of_heads(n_heads: int) -> Floats:
    """``A_g A_k'`` of heads: head g moves its own two rows, by the same components as head k its own."""
    products = np.zeros((n_heads, n_heads, 2 * n_heads, 2 * n_heads))
    for g in range(n_heads):
        for k in range(n_heads):
            products[g, k, 2 * g : 2 * g + 2, 2 * k : 2 * k + 2] = ROWS
    return products
