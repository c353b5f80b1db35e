"""Targets and samples at finite size: heads turned by independent rotations, and what they make of tokens together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import sqrt
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats
from presage.models.attention.channels.linear import Linear
from presage.models.attention.channels.softmax import Softmax
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.data import sample_target
from presage.models.multihead.problem import MultiheadProblem
from presage.training.ordered_sums import in_ordered_parts

BLOCK = 4096  # samples of a test that are drawn at a time


@final
@dataclass(frozen=True, eq=False)
class Sequences:
    """Samples of a target: tokens, and a label a group of heads; those of a group are averaged."""

    tokens: Floats = field(repr=False)  # the T rows of a sample one after the other: (n T) x d
    labels: Floats = field(repr=False)  # groups x n x T x T
    size: float  # root mean square of the target's components, noise included

    @property
    def n(self) -> int:
        return int(self.labels.shape[1])

    @property
    def n_tokens(self) -> int:
        return int(self.labels.shape[2])

    @property
    def d(self) -> int:
        return int(self.tokens.shape[1])


def sample_targets(problem: MultiheadProblem, d: int, rng: np.random.Generator) -> Floats:
    """Draw the heads of a target, H x d x d, each with a rotation of its own."""
    return np.stack([sample_target(law, d, rng) for law in problem.targets])


def draw(problem: MultiheadProblem, S_0: Floats, n: int, rng: np.random.Generator, *, threads: int = 1) -> Sequences:
    """Draw `n` samples of the heads `S_0`.

    The scores of a head have symmetric noise, of variance Delta on the diagonal and Delta/2 off it: Delta/2 for each
    component. The sum of the scores of all heads has it once.
    """
    T, d = problem.n_tokens, S_0.shape[1]
    X = rng.standard_normal((n * T, d))
    matrices = S_0.sum(axis=0, keepdims=True) if problem.combine == "sum" else S_0
    z_0 = np.empty((len(matrices), n, T * (T + 1) // 2))

    def components(blocks: list[slice]) -> None:
        for block in blocks:
            x, R = X[block.start * T : block.stop * T], np.empty((block.stop - block.start, T, T))
            for matrix, z in zip(matrices, z_0, strict=True):
                centre = np.eye(T) * np.trace(matrix) / sqrt(d)
                kernels.scores(np.dot(x, matrix), x, 1.0 / sqrt(d), centre, R)
                kernels.to_components(R, z[block])

    in_ordered_parts(n, d, T, threads, components)
    z_0 += sqrt(0.5 * problem.noise) * rng.standard_normal(z_0.shape)
    size = float(np.sqrt(np.mean(z_0**2)))
    if problem.combine == "sum":
        return Sequences(X, Linear(T).target_output(z_0[0])[None], size)
    softmax = Softmax(T, problem.beta, problem.target_beta)
    outputs = problem.v_0 * np.stack([softmax.target_output(z) for z in z_0])
    return Sequences(X, outputs.mean(axis=0, keepdims=True) if problem.combine == "mean" else outputs, size)


def stream(
    problem: MultiheadProblem, S_0: Floats, n: int, rng: np.random.Generator, *, threads: int = 1
) -> Iterator[Sequences]:
    """Draw `n` samples block by block, so that a test of any size needs the memory of one block."""
    for start in range(0, n, BLOCK):
        yield draw(problem, S_0, min(BLOCK, n - start), rng, threads=threads)
