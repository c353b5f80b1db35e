"""The training loss of a finite network: its value and gradient in the factor W and in the matrix S.

Everything is a matrix product of the tokens X (n T rows) with a d x d or d x m matrix and back, with a few numbers a
sample between: memory O(n T d), work O(n T d m), no array of size n d^2. What is symmetric is computed by halves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.channel import Channel
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.data import Samples
from presage.models.attention.experiment.half_product import HalfProduct
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
        if self.n * self.samples.n_tokens * (2 * m - d) > 2 * d * m:  # two halves of d x d are less than two of d x m
            value, in_S = self.at_S(self.S_of(W))
            gradient = in_S @ W
        else:
            value, gradient = self._at_narrow(W)
        weight_decay = getattr(self.penalty, "weight_decay", 0.0)
        whole = float(value) + weight_decay * float(np.sum(W * W))
        return Evaluation(whole, 2.0 / sqrt(m * d) * gradient + 2.0 * weight_decay * W)

    def loss_at(self, S: Floats) -> float:
        """Loss of the samples at S, without the penalty: half the work of `at_S`."""
        T, X, d = self.samples.n_tokens, self.samples.tokens, self.d
        half, shift = HalfProduct(S, X.dtype), self.shift(S)

        def sweep(blocks: list[slice]) -> float:
            space, total = _Space(blocks, T, d, X.dtype), 0.0
            for block in blocks:
                x, left, _, R, G = space.of(block, X)
                half.scores(x, shift, left, R)
                total += self._slope(block, R, G)[0]
            return total

        return sum(in_ordered_parts(self.n, d, T, self.threads, sweep, X.dtype.itemsize))

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

    def pass_over(self, S: Floats, slope: Slope, *, dtype: Any = None) -> tuple[Floats, Floats]:
        """One pass over the samples: their scores, `slope` of each, and the sum ``sum_mu G_ab x_a x_b'/sqrt(d)``.

        `slope` is given a slice of the samples and their scores R, writes the symmetric ``G = dl/dR`` and returns
        numbers that are summed. The sum is the gradient in the symmetric S. Products are in the precision of the
        tokens, or in `dtype`.
        """
        X, T, d = self.samples.tokens, self.samples.n_tokens, self.d
        dtype = X.dtype if dtype is None else np.dtype(dtype)
        half, shift = HalfProduct(S, dtype), self.shift(S)

        def sweep(blocks: list[slice]) -> Sums:
            space, product = _Space(blocks, T, d, dtype), np.empty((d, d), dtype)
            numbers: Floats | float = 0.0
            gradient, weight = np.zeros((d, d)), np.zeros((T, T))
            for block in blocks:
                x, left, back, R, G = space.of(block, X)
                half.scores(x, shift, left, R)
                numbers = numbers + np.asarray(slope(block, R, G))
                top, end = kernels.signed_squares(G, x, back, weight)
                # A matrix times its own transpose takes half the work of a product.
                gradient += np.dot(back[:top].T, back[:top], out=product)
                gradient -= np.dot(back[end:].T, back[end:], out=product)
            return numbers, gradient, weight

        numbers, gradient, weight = _added(in_ordered_parts(self.n, d, T, self.threads, sweep, dtype.itemsize))
        gradient -= self._centre(weight)
        return numbers, 0.5 / sqrt(d) * (gradient + gradient.T)

    def _at_narrow(self, W: Floats) -> tuple[float, Floats]:
        """Loss of the samples, and its gradient in ``S = W W'/sqrt(m d)`` times W, by products with W alone."""
        X, T, (d, m) = self.samples.tokens, self.samples.n_tokens, W.shape
        cast, shift = W.astype(X.dtype, copy=False), self.shift(self.S_of(W))
        scale = 1.0 / (d * sqrt(m))

        def sweep(blocks: list[slice]) -> Sums:
            space, product = _Space(blocks, T, m, X.dtype), np.empty((d, m), X.dtype)
            value: Floats | float = 0.0
            gradient, weight = np.zeros((d, m)), np.zeros((T, T))
            for block in blocks:
                x, left, back, R, G = space.of(block, X)
                kernels.scores(np.dot(x, cast, out=left), left, scale, shift, R)
                value = value + np.asarray(self._slope(block, R, G))
                kernels.pull_back(G, left, back)
                gradient += np.dot(x.T, back, out=product)
                weight += G.sum(axis=0)
            return value, gradient, weight

        (value,), gradient, weight = _added(in_ordered_parts(self.n, d, T, self.threads, sweep, X.dtype.itemsize))
        gradient -= self._centre(weight) @ W
        return float(value), gradient / sqrt(d)

    def _centre(self, weight: Floats) -> Floats:
        """What the subtracted means take off the sum over the samples."""
        if self.means is None:
            return np.asarray(np.trace(weight) * np.eye(self.d))
        return np.asarray(np.einsum("ab,abij->ij", weight, self.means))


Sums = tuple[Floats | float, Floats, Floats]  # numbers, the gradient, and the sum of the slopes G


def _added(parts: list[Sums]) -> tuple[Floats, Floats, Floats]:
    """The sums of all parts, in their order; a part without samples has a zero in place of numbers."""
    numbers, gradients, weights = zip(*parts, strict=True)
    return np.asarray(sum(numbers)), np.sum(gradients, axis=0), np.sum(weights, axis=0)


class _Space:
    """Scratch space for the blocks of a part: matrices with a row a token, and with a T x T matrix a sample."""

    def __init__(self, blocks: list[slice], T: int, columns: int, dtype: Any) -> None:
        size = max((block.stop - block.start for block in blocks), default=0)
        self.left, self.back = np.empty((2, size * T, columns), dtype)
        self.R, self.G = np.empty((2, size, T, T))
        self.cast: Reals | None = None

    def of(self, block: slice, X: Reals) -> tuple[Reals, Reals, Reals, Floats, Floats]:
        """The tokens of a block, in the precision of the space, and as much space as it needs."""
        count, T = block.stop - block.start, self.R.shape[1]
        rows = count * T
        tokens = X[block.start * T : block.stop * T]
        if X.dtype != self.left.dtype:
            if self.cast is None:
                self.cast = np.empty((len(self.left), X.shape[1]), self.left.dtype)
            np.copyto(self.cast[:rows], tokens)
            tokens = self.cast[:rows]
        return tokens, self.left[:rows], self.back[:rows], self.R[:count], self.G[:count]
