"""The training loss of several matrices, its gradient in them and in their factors, and how near a minimum is."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.multi_matrix.experiment.samples import Samples, forms_of_block
from presage.models.multi_matrix.links import MatrixLink
from presage.training.ordered_sums import in_ordered_parts

NOTHING = 1e-3  # relative: matrices smaller than this are on their way to zero


class Evaluation(NamedTuple):
    """A loss and its gradient."""

    value: float
    gradient: Floats


class Certificate(NamedTuple):
    """How near matrices are to a stationary point of the whole loss, measured after the training and apart from it."""

    residual: float  # what is left of the subgradient, relative to the slope of the data: 0 at a minimum
    ranks: Floats  # fraction of the eigenvalues of each matrix that one proximal step leaves non-zero


@final
@dataclass(frozen=True)
class Objective:
    """The loss of some samples with weight decay on the factors."""

    link: MatrixLink
    samples: Samples
    weight_decay: float
    threads: int = 1

    @property
    def d(self) -> int:
        """Dimension of a sample."""
        return int(self.samples.X.shape[1])

    def pull(self, f: Floats) -> Floats:
        """``sum_mu f_mu,h (x_mu x_mu' - 1)/sqrt(2d)``, L x d x d, of one number a sample and matrix."""
        X, d = self.samples.X, self.d
        parts = in_ordered_parts(
            len(X), d, 1, self.threads, lambda blocks: sum(_pull_of_block(X[block], f[block]) for block in blocks)
        )
        return np.asarray(sum(part for part in parts if not isinstance(part, int)))

    def at_S(self, S: Floats) -> Evaluation:
        """Loss of the samples, and its gradient in every matrix, in one pass over them.

            L = sum_mu (y_mu - g(z_mu))^2,   dL/dS_h = -2 sum_mu (y_mu - g) g_h (x_mu x_mu' - 1)/sqrt(2d)

        Equation: derived: the definition of the model.
        Checked: tests/models/multi_matrix/test_experiment.py::test_gradient_agrees_with_differences
        """
        X, y = self.samples

        def sweep(blocks: list[slice]) -> tuple[float, Floats]:
            value, gradient = 0.0, np.zeros_like(S)
            for block in blocks:
                g, slope = self.link.gradient(forms_of_block(X[block], S))
                off = y[block] - g
                value += float(off @ off)
                gradient += _pull_of_block(X[block], -2.0 * off[:, None] * slope)
            return value, gradient

        parts = in_ordered_parts(len(X), self.d, 1, self.threads, sweep)
        gradients = np.array([gradient for _, gradient in parts])
        return Evaluation(sum(value for value, _ in parts), gradients.sum(axis=0))

    def at_W(self, W: Floats) -> Evaluation:
        """Whole loss and gradient in the factors, L x 2 x d x d: W+ and W- of every matrix."""
        data = self.at_S(matrices_of(W))
        signed = np.array([1.0, -1.0])[None, :, None, None] * data.gradient[:, None]
        gradient = 2.0 / self.d * signed @ W + 2.0 * self.weight_decay * W
        return Evaluation(data.value + self.weight_decay * float(np.sum(W * W)), np.asarray(gradient))

    def penalty_at(self, S: Floats) -> float:
        """``d weight_decay sum_h |S_h|_*``, the least weight decay of factors of these matrices."""
        return self.d * self.weight_decay * float(np.abs(np.linalg.eigvalsh(S)).sum())

    def certify(self, S: Floats) -> Certificate:
        """Measure the optimality of matrices by a proximal step, which a stationary point is a fixed point of.

            S+ = shrink(Lambda S - (2/d) dL/dS)/Lambda,   residual = (Lambda/2) |S+ - S| / (|dL/dS|/d)

        Lambda is such that both parts of the step weigh alike. Matrices without a slope are measured as all are.

        Equation: derived: the optimality condition of a sum of absolute eigenvalues.
        Checked: tests/models/multi_matrix/test_experiment.py::test_certificate_is_zero_at_a_minimum_only
        """
        gradient = self.at_S(S).gradient
        slope = float(np.linalg.norm(gradient)) / self.d
        size = max(float(np.linalg.norm(S)), NOTHING * sqrt(self.d))
        Lambda = 2.0 * slope / size if slope > 0.0 else 1.0
        stepped, ranks = [], []
        for one, pull in zip(S, gradient, strict=True):
            theta, vectors = np.linalg.eigh(Lambda * one - 2.0 / self.d * pull)
            kept = soft_threshold(theta, 2.0 * self.weight_decay) / Lambda
            stepped.append((vectors * kept) @ vectors.T)
            ranks.append(np.count_nonzero(kept) / self.d)
        residual = 0.5 * Lambda * float(np.linalg.norm(np.array(stepped) - S)) / max(slope, 1e-300)
        return Certificate(residual, np.array(ranks))


def _pull_of_block(X: Floats, f: Floats) -> Floats:
    """The part of a block of samples in a pull."""
    d = X.shape[1]
    found = [(X * column[:, None]).T @ X - float(column.sum()) * np.eye(d) for column in f.T]
    return np.array(found) / sqrt(2.0 * d)


def matrices_of(W: Floats) -> Floats:
    """``S_h = (W+ W+' - W- W-')/d``, of factors L x 2 x d x width."""
    plus, minus = W[:, 0], W[:, 1]
    return np.asarray((plus @ plus.transpose(0, 2, 1) - minus @ minus.transpose(0, 2, 1)) / W.shape[2])


def factors_of(S: Floats) -> Floats:
    """Factors of least weight decay of some matrices, L x 2 x d x d."""
    found = np.zeros((len(S), 2, *S.shape[1:]))
    for h, one in enumerate(S):
        values, vectors = np.linalg.eigh(one)
        found[h, 0] = sqrt(len(one)) * vectors * np.sqrt(np.maximum(values, 0.0))
        found[h, 1] = sqrt(len(one)) * vectors * np.sqrt(np.maximum(-values, 0.0))
    return found


def soft_threshold(theta: Floats, threshold: float) -> Floats:
    """``sign(theta) (|theta| - threshold)_+``."""
    return np.asarray(np.sign(theta) * np.maximum(np.abs(theta) - threshold, 0.0))
