"""The training loss of a finite network: its value and gradient in the factor W and in the matrix S.

Everything is a matrix product of the tokens X (n T rows) with a d x d or d x m matrix and back, with a few numbers a
sample between: memory O(n T d), work O(n T d m), no array of size n d^2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.data import Samples
from presage.models.attention.experiment.tokens import Reals
from presage.models.attention.penalties.nuclear_psd import NuclearPSD
from presage.models.attention.penalties.penalty import Penalty
from presage.protocol import checks
from presage.training.ordered_sums import in_ordered_parts

if TYPE_CHECKING:
    from presage.models.attention.experiment.fit import Fit
    from presage.protocol.trainer import Trainer

ROUNDED = 1e-12  # relative to the largest eigenvalue
Slope = Callable[[slice, Floats, Floats], Sequence[float]]


class Evaluation(NamedTuple):
    """A value and its gradient."""

    value: float
    gradient: Floats


@final
@dataclass(frozen=True)
class Objective:
    """``sum_mu l(y, yhat) + penalty`` for given samples, of a matrix ``S`` or of ``W`` with ``S = W W'/sqrt(m d)``.

    The learner's scores are ``(x_a' S x_b)/sqrt(d)`` less their mean: ``Tr S/sqrt(d)`` on the diagonal, or where
    `means` are given, the average of ``x_a x_b'`` over the training samples, the mean that follows from them.
    """

    samples: Samples
    channel: Channel
    penalty: Penalty
    width: int  # m, the number of columns of W
    means: Floats | None = None  # T x T x d x d, see data.token_means
    threads: int = 1

    def __post_init__(self) -> None:
        if not np.isfinite(self.samples.labels).all() or not np.isfinite(self.samples.z_0).all():
            raise checks.complaint(
                "samples", "be finite", "a NaN would end in every weight", "NaN or infinite", "Clean the data before."
            )

    @property
    def d(self) -> int:
        """Dimension of a token."""
        return self.samples.d

    @property
    def n(self) -> int:
        """Number of training samples."""
        return self.samples.n

    @property
    def kappa(self) -> float:
        """Relative width ``m/d`` of the student."""
        return self.width / self.d

    @property
    def factorized(self) -> bool:
        """Whether the student is the factor W (weight decay), not S itself."""
        return self.penalty.factorized

    @cached_property
    def scale(self) -> float:
        """Size of the target's pre-activations, and so of the eigenvalues of an S that fits them."""
        return float(np.sqrt(np.mean(self.samples.z_0**2)))

    @property
    def rounding(self) -> float:
        """Relative rounding error of the precision in which the tokens are stored."""
        return float(np.finfo(self.samples.tokens.dtype).eps)

    def shift(self, S: Floats) -> Floats:
        """Mean of the learner's scores, T x T: what the centring takes off."""
        T = self.samples.n_tokens
        if self.means is None:
            return np.asarray(np.eye(T) * (np.trace(S) / sqrt(self.d)))
        return np.asarray(np.einsum("abij,ij->ab", self.means, S) / sqrt(self.d))

    def penalty_at(self, S: Floats) -> float:
        """What the penalty adds to the loss: ``d sum_i r(s_i)``."""
        if isinstance(self.penalty, NuclearPSD):
            return self.d * self.penalty.lambda_tilde(self.kappa) * float(np.trace(S))
        s = np.linalg.eigvalsh(S)
        # What the reconstruction of S leaves of a zero, or of the least allowed eigenvalue, is rounding.
        s[np.abs(s) < ROUNDED * np.abs(s).max(initial=0.0)] = 0.0
        return self.d * float(np.sum(self.penalty.value(np.maximum(s, self.penalty.lowest), self.kappa)))

    def at_S(self, S: Floats) -> Evaluation:
        """Loss of the samples (without the penalty) and its gradient in the symmetric matrix S."""
        (value,), gradient = self.pass_over(S, self._slope)
        return Evaluation(float(value), gradient)

    def at_W(self, W: Floats) -> Evaluation:
        """Whole loss, weight decay included, and its gradient in the factor W."""
        d, m = W.shape
        (value,), gradient = self.pass_over(W, self._slope, factor=True)
        weight_decay = getattr(self.penalty, "weight_decay", 0.0)
        whole = float(value) + weight_decay * float(np.sum(W * W))
        return Evaluation(whole, 2.0 / sqrt(m * d) * gradient + 2.0 * weight_decay * W)

    def loss_at(self, S: Floats) -> float:
        """Loss of the samples at S, without the penalty: half the work of `at_S`."""
        T, X, d = self.samples.n_tokens, self.samples.tokens, self.d
        cast, shift = S.astype(X.dtype, copy=False), self.shift(S)

        def sweep(blocks: list[slice]) -> float:
            total = 0.0
            for block in blocks:
                x, R = X[block.start * T : block.stop * T], np.empty((block.stop - block.start, T, T))
                kernels.scores(np.dot(x, cast), x, 1.0 / sqrt(d), shift, R)
                total += self._slope(block, R, np.empty_like(R))[0]
            return total

        return sum(in_ordered_parts(self.n, d, T, self.threads, sweep))

    def fit(self, trainer: Trainer, rng: np.random.Generator) -> Fit:
        """Train by the settings of `trainer`, from a random start."""
        from presage.models.attention.experiment.ways import fit  # which all know objectives

        return fit(trainer, self, rng)

    def with_samples(self, samples: Samples) -> Objective:
        """The same loss on other samples; a mean to subtract stays that of the training samples."""
        return replace(self, samples=samples)

    def S_of(self, W: Floats) -> Floats:
        """``S = W W'/sqrt(m d)``."""
        d, m = W.shape
        return np.asarray(W @ W.T / sqrt(m * d))

    def _slope(self, block: slice, R: Floats, G: Floats) -> tuple[float]:
        samples = self.samples
        return (kernels.loss_and_slope(self.channel, samples.labels[block], R, samples.gram[block], G),)

    def pass_over(self, A: Floats, slope: Slope, *, factor: bool = False) -> tuple[Floats, Floats]:
        """One pass over the samples: their scores, `slope` of each, and the sum ``sum_mu G_ab x_a x_b'/sqrt(d)``.

        `slope` is given a slice of the samples and their scores R, writes ``G = dl/dR`` and returns numbers that are
        summed. `A` is S, and the sum the gradient in S; or `A` is the factor W, and the sum is that gradient times W.
        """
        X, T, d = self.samples.tokens, self.samples.n_tokens, self.d
        columns = A.shape[1]
        cast: Reals = A.astype(X.dtype, copy=False)
        scale = 1.0 / sqrt(d) / (sqrt(columns * d) if factor else 1.0)
        shift = self.shift(self.S_of(A) if factor else A)

        def sweep(blocks: list[slice]) -> tuple[Floats, Floats, Floats]:
            size = max((block.stop - block.start for block in blocks), default=0)
            left, back = np.empty((size * T, columns), X.dtype), np.empty((size * T, columns), X.dtype)
            R, G = np.empty((size, T, T)), np.empty((size, T, T))
            product = np.empty((d, columns), X.dtype)
            sums, gradient, weight = np.zeros(0), np.zeros((d, columns)), np.zeros((T, T))
            for block in blocks:
                count = block.stop - block.start
                x, P, V = X[block.start * T : block.stop * T], left[: count * T], back[: count * T]
                np.dot(x, cast, out=P)
                right = P if factor else x
                kernels.scores(P, right, scale, shift, R[:count])
                numbers = np.asarray(slope(block, R[:count], G[:count]))
                sums = sums + numbers if sums.size else numbers
                kernels.pull_back(G[:count], right, V)
                gradient += np.dot(x.T, V, out=product)
                weight += G[:count].sum(axis=0)
            return sums, gradient, weight

        parts = in_ordered_parts(self.n, max(d, columns), T, self.threads, sweep)
        sums = np.sum([part[0] for part in parts if part[0].size], axis=0)
        gradient = np.sum([part[1] for part in parts], axis=0)
        weight = np.sum([part[2] for part in parts], axis=0)
        if self.means is not None:
            centre = np.einsum("ab,abij->ij", weight, self.means)
            gradient -= centre @ A if factor else centre
        else:
            gradient -= np.trace(weight) * (A if factor else np.eye(d))
        gradient /= sqrt(d)
        return sums, gradient if factor else 0.5 * (gradient + gradient.T)
