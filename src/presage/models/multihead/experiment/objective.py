"""The training loss of several heads at finite size: its value and gradient in their matrices, factors and gains.

A pass over the samples is that of a single head, once a head: products of tokens with halves of d x d matrices and
back, no array of size n d^2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.linear import Linear
from presage.models.attention.experiment import kernels as of_one_head
from presage.models.multihead.experiment import kernels
from presage.models.multihead.experiment.blocks import Heads
from presage.models.multihead.experiment.sequences import Sequences
from presage.models.multihead.experiment.values import WithValues, with_values
from presage.models.multihead.problem import MultiheadProblem
from presage.training.ordered_sums import in_ordered_parts

UNWEIGHTED = np.empty((0, 0, 0))


class Evaluation(NamedTuple):
    """A value, its gradient in the matrices (or factors) of all heads, and its slopes in the gains."""

    value: float
    gradient: Floats  # H x d x d, or H x d x m
    slopes: Floats  # one a group of heads


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """``sum_mu |y - yhat|^2`` plus the penalty of a problem, of heads ``S_h = W_h W_h'/sqrt(m d)`` or S_h themselves.

    Heads of a group are averaged, and have one gain: all of them for combine = "mean", each its own for "concatenate".
    Where there are `outputs` a whole value matrix stands in place of the gain, at its least loss for every S_h.
    """

    problem: MultiheadProblem
    sequences: Sequences
    threads: int = 1
    outputs: Floats | None = None  # labels behind a value matrix, (n T) x d, where a whole one is learned

    @property
    def d(self) -> int:
        """Dimension of a token."""
        return self.sequences.d

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.sequences.n

    @property
    def width(self) -> int:
        """Columns of a factor W_h."""
        return max(1, round(self.problem.kappa * self.d))

    @property
    def linear(self) -> bool:
        """Whether outputs are linear in the matrices, and the loss convex."""
        return self.problem.combine == "sum"

    @property
    def factorized(self) -> bool:
        """Whether factors are trained (weight decay), not the matrices themselves."""
        return self.problem.penalty == "weight-decay"

    @property
    def groups(self) -> int:
        """Labels of a sample, each with a gain."""
        return len(self.sequences.labels)

    @property
    def threshold(self) -> float:
        """What each eigenvalue of a head pays: the weight of ``Tr S_h`` in the loss; 0 under a ridge."""
        return self.problem.weight_decay * sqrt(self.width * self.d) if self.factorized else 0.0

    @property
    def ridge(self) -> float:
        """The weight of ``|S_h|_F^2`` in the loss; 0 under weight decay."""
        return 0.0 if self.factorized else self.d * self.problem.weight_decay

    def penalty_at(self, S: Floats) -> float:
        """What the penalty adds to the loss."""
        return self.threshold * float(np.trace(S, axis1=1, axis2=2).sum()) + self.ridge * float(np.sum(S * S))

    def S_of(self, W: Floats) -> Floats:
        """``S_h = W_h W_h'/sqrt(m d)``."""
        return np.asarray(W @ W.transpose(0, 2, 1) / sqrt(W.shape[1] * W.shape[2]))

    def at_S(self, S: Floats, gains: Floats) -> Evaluation:
        """Loss of the samples, without the penalty, and its gradient in the symmetric matrices and in the gains."""
        return self._pass_over(S, gains, with_gradient=True)

    def loss_at(self, S: Floats, gains: Floats) -> float:
        """Loss of the samples, without the penalty: half the work of `at_S`."""
        return self._pass_over(S, gains, with_gradient=False).value

    def values_at(self, S: Floats) -> Floats:
        """The value matrix of least loss beside these heads, where a whole one is learned."""
        return self._with_values(S).V

    def loss_with(self, S: Floats, V: Floats) -> float:
        """Loss of the samples with a given value matrix."""
        return self._with_values(S, V).value

    def whole(self, A: Floats, gains: Floats) -> Evaluation:
        """Whole loss and its gradient in what is trained: the factors W, or the matrices S under a ridge."""
        if not self.factorized:
            data = self.at_S(A, gains)
            return Evaluation(data.value + self.penalty_at(A), data.gradient + 2.0 * self.ridge * A, data.slopes)
        decay = self.problem.weight_decay
        data = self.at_S(self.S_of(A), gains)
        gradient = 2.0 / sqrt(A.shape[1] * A.shape[2]) * data.gradient @ A + 2.0 * decay * A
        return Evaluation(data.value + decay * float(np.sum(A * A)), gradient, data.slopes)

    def with_sequences(self, sequences: Sequences) -> Objective:
        """The same loss on other samples."""
        return replace(self, sequences=sequences)

    def _slope(self, block: slice, R: Floats, gains: Floats, G: Floats) -> tuple[float, Floats]:
        """Loss of a block of samples and its slopes in the gains; those in the scores are written to `G`."""
        labels = self.sequences.labels[:, block]
        if self.linear:
            channel = Linear(self.sequences.n_tokens)
            return of_one_head.loss_and_slope(channel, labels[0], R[0], UNWEIGHTED, G[0]), np.zeros(1)
        heads = len(R) // self.groups
        found = [
            kernels.mean_loss(labels[k], R[k * heads :][:heads], self.problem.beta, gain, G[k * heads :][:heads])
            for k, gain in enumerate(gains)
        ]
        values, slopes = zip(*found, strict=True)
        return float(sum(values)), np.array(slopes)

    def _with_values(self, S: Floats, V: Floats | None = None) -> WithValues:
        assert self.outputs is not None
        return with_values(self.sequences, self.outputs, S, self.problem.beta, V=V, threads=self.threads)

    def _pass_over(self, S: Floats, gains: Floats, *, with_gradient: bool) -> Evaluation:
        X, T, d = self.sequences.tokens, self.sequences.n_tokens, self.d
        if self.outputs is not None:
            found = self._with_values(S)
            return Evaluation(found.value, found.gradient, np.zeros(self.groups))
        heads = Heads(S.sum(axis=0, keepdims=True) if self.linear else S, T)

        def sweep(blocks: list[slice]) -> tuple[float, Floats, Floats]:
            size = max((block.stop - block.start for block in blocks), default=0)
            space = np.empty((size * T, d))
            value, gradient, slopes = 0.0, np.zeros_like(heads.matrices), np.zeros(self.groups)
            for block in blocks:
                x = X[block.start * T : block.stop * T]
                R = heads.scores(x, space[: len(x)])
                G = np.empty_like(R)
                here, steeper = self._slope(block, R, gains, G)
                value, slopes = value + here, slopes + steeper
                if with_gradient:
                    heads.pull(G, x, space[: len(x)], gradient)
            return value, gradient, slopes

        values, gradients, slopes = zip(*in_ordered_parts(self.n, d, T, self.threads, sweep), strict=True)
        gradient = heads.whole(np.sum(gradients, axis=0))
        return Evaluation(float(sum(values)), np.broadcast_to(gradient, S.shape), np.sum(slopes, axis=0))
