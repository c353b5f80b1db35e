"""The training loss of queries and keys at finite size: its value and gradient in S, in the two factors and in a gain.

Everything is a matrix product of tokens with a d x d matrix and back, with a few numbers a sample between: memory
O(n (T + K) d), work O(n min(T, K) d^2), no array of size n d^2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.untied.experiment import kernels
from presage.models.untied.experiment.sequences import Sequences
from presage.training.ordered_sums import in_ordered_parts


class Evaluation(NamedTuple):
    """A value, its gradient, and its slope in the gain of the outputs."""

    value: float
    gradient: Floats
    slope: float = 0.0


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """``sum_mu |y - yhat|^2`` plus a penalty, of ``S = W_Q W_K'/d``.

    The penalty is ``weight_decay (|W_Q|_F^2 + |W_K|_F^2)``, whose minimum over the factors of one S is
    ``2 weight_decay d |S|_*``, or where `weight_decay` is None, ``d ridge |S|_F^2`` on an S that is trained itself.
    """

    sequences: Sequences
    beta: float | None  # None: the scores themselves are the outputs
    weight_decay: float | None
    ridge: float = 0.0
    threads: int = 1
    learns_gain: bool = False  # of a softmax

    @property
    def d(self) -> int:
        """Dimension of a token."""
        return self.sequences.d

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.sequences.n

    @property
    def linear(self) -> bool:
        """Whether outputs are linear in S, and the loss convex."""
        return self.beta is None

    @property
    def threshold(self) -> float:
        """What each singular value of S pays: the weight of the nuclear norm in the loss; 0 under a ridge."""
        return 0.0 if self.weight_decay is None else 2.0 * self.weight_decay * self.d

    def penalty_at(self, S: Floats) -> float:
        """What the penalty adds to the loss, at the factors of S that pay least."""
        if self.weight_decay is None:
            return self.d * self.ridge * float(np.sum(S * S))
        return self.threshold * float(np.linalg.norm(S, "nuc"))

    def at_S(self, S: Floats, gain: float = 1.0) -> Evaluation:
        """Loss of the samples, without the penalty, and its gradient in S."""
        value, gradient, diagonal, slope = self._pass_over(S, gain, with_gradient=True)
        if self.sequences.centred:
            gradient = gradient - diagonal * np.eye(self.d)
        return Evaluation(value, gradient / sqrt(self.d), slope)

    def loss_at(self, S: Floats, gain: float = 1.0) -> float:
        """Loss of the samples at S, without the penalty: half the work of `at_S`."""
        return self._pass_over(S, gain, with_gradient=False)[0]

    def at_factors(self, factors: Floats, gain: float = 1.0) -> Evaluation:
        """Whole loss, weight decay included, and its gradient in ``(W_Q, W_K)``, an array of 2 x d x m."""
        W_Q, W_K = factors
        value, in_S, slope = self.at_S(self.S_of(factors), gain)
        decay = self.weight_decay or 0.0
        gradient = np.stack([in_S @ W_K, in_S.T @ W_Q]) / self.d + 2.0 * decay * factors
        return Evaluation(value + decay * float(np.sum(factors**2)), gradient, slope)

    def at_matrix(self, S: Floats, gain: float = 1.0) -> Evaluation:
        """Whole loss, ridge included, and its gradient in S."""
        value, gradient, slope = self.at_S(S, gain)
        return Evaluation(value + self.penalty_at(S), gradient + 2.0 * self.d * self.ridge * S, slope)

    def S_of(self, factors: Floats) -> Floats:
        """``S = W_Q W_K'/d``."""
        W_Q, W_K = factors
        return np.asarray(W_Q @ W_K.T / self.d)

    def with_sequences(self, sequences: Sequences) -> Objective:
        """The same loss on other samples."""
        return replace(self, sequences=sequences)

    @cached_property
    def _mapped(self) -> tuple[bool, int, int]:
        """Whether S multiplies the keys: the side with fewer tokens; and how many tokens each side has."""
        sequences = self.sequences
        queries, keys = sequences.n_queries, sequences.n_keys - sequences.first
        return keys < queries, min(keys, queries), max(keys, queries)

    def _slope(self, block: slice, R: Floats, gain: float, G: Floats) -> tuple[float, float]:
        labels, seen = self.sequences.labels[block], self.sequences.seen
        if self.beta is None:
            return float(kernels.linear_loss(labels, R, seen, G)), 0.0
        value, slope = kernels.softmax_loss(labels, R, seen, self.beta, gain, G)
        return float(value), float(slope)

    def _pass_over(self, S: Floats, gain: float, *, with_gradient: bool) -> tuple[float, Floats, float, float]:
        """One pass: the loss, ``sum_mu G_ab x_a y_b'`` with its slopes G, their sum on the diagonal, that of the gain.

        S multiplies one side of the scores only, and on the way back only that side meets another matrix product.
        """
        sequences, d = self.sequences, self.d
        T, K, first, scale = sequences.n_queries, sequences.n_keys, sequences.first, 1.0 / sqrt(d)
        keys_mapped, rows, columns = self._mapped
        near, far = (sequences.keys, sequences.queries) if keys_mapped else (sequences.queries, sequences.keys)
        matrix, shift = np.ascontiguousarray(S.T) if keys_mapped else S, sequences.shift(S)

        def sweep(blocks: list[slice]) -> tuple[float, Floats, float, float]:
            size = max((block.stop - block.start for block in blocks), default=0)
            mapped, (scores, slopes) = np.empty((size * rows, d)), np.empty((2, size, T, K))
            value, diagonal, slope, gradient, product = 0.0, 0.0, 0.0, np.zeros((d, d)), np.empty((d, d))
            for block in blocks:
                count = block.stop - block.start
                x, y = near[block.start * rows : block.stop * rows], far[block.start * columns : block.stop * columns]
                left, R, G = mapped[: count * rows], scores[:count], slopes[:count]
                np.dot(x, matrix, out=left)
                kernels.scores(left, y, keys_mapped, first, scale, shift, R)
                loss, in_gain = self._slope(block, R, gain, G)
                value, slope = value + loss, slope + in_gain
                if with_gradient:
                    kernels.pull_back(G, y, keys_mapped, first, left)
                    gradient += np.dot(left.T, x, out=product) if keys_mapped else np.dot(x.T, left, out=product)
                    if sequences.centred:
                        diagonal += float(np.einsum("naa->", G))
            return value, gradient, diagonal, slope

        parts = in_ordered_parts(self.n, d, max(rows, columns), self.threads, sweep)
        values, gradients, diagonals, slopes = zip(*parts, strict=True)
        return float(sum(values)), np.sum(gradients, axis=0), float(sum(diagonals)), float(sum(slopes))
