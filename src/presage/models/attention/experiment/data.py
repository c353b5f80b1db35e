"""Targets, training samples and test samples at finite d, as section 1 of the theory defines them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt
from typing import Any, Literal, final

import numpy as np

from presage.laws.marchenko_pastur import MarchenkoPastur
from presage.laws.random_frame import random_frame
from presage.laws.spectral_law import Floats, SpectralLaw
from presage.models.attention.channels.channel import Channel
from presage.models.attention.experiment import kernels
from presage.models.attention.experiment.features import Frame
from presage.models.attention.experiment.tokens import Reals, Tokens
from presage.training.ordered_sums import in_ordered_parts, samples_a_block

Task = Literal["label", "sequence"]
Centring = Literal["trace", "mean"]
Storage = Literal["memory", "disk"]


def sample_target(law: SpectralLaw, d: int, rng: np.random.Generator) -> Floats:
    """Draw a symmetric d x d matrix with eigenvalues of this law and eigenvectors uniform over all rotations."""
    return target_and_frame(law, d, rng)[0]


def target_and_frame(law: SpectralLaw, d: int, rng: np.random.Generator) -> tuple[Floats, Frame | None]:
    """Such a matrix with its frame, where it was drawn by one: a product of Gaussian factors is not."""
    if isinstance(law, MarchenkoPastur):
        width = max(1, round(law.kappa_0 * d))
        W_0 = rng.standard_normal((d, width))
        return np.asarray(W_0 @ W_0.T / sqrt(width * d)), None
    vectors = random_frame(d, d, rng)
    values = law.sample(d, rng)
    return np.asarray((vectors * values) @ vectors.T), Frame(values[::-1], vectors[:, ::-1])


@final
@dataclass(frozen=True)
class Samples:
    """Samples of a target: tokens, what the target makes of them, and the Gram matrices of a sequence task."""

    tokens: Reals  # X, with the T rows of a sample one after the other: (n T) x d
    z_0: Floats  # components of the target's pre-activation, label noise included: n x n_in
    labels: Floats  # n x T x T, or one of whatever shape a channel of the user's own gives them
    gram: Floats  # x x'/d of each sample in a sequence task, n x T x T; empty in a label task

    @property
    def n(self) -> int:
        return len(self.labels)

    @property
    def n_tokens(self) -> int:
        return len(self.tokens) // len(self.labels)

    @property
    def d(self) -> int:
        return int(self.tokens.shape[1])


def sample(
    S_0: Floats,
    channel: Channel,
    n: int,
    rng: np.random.Generator,
    *,
    tokens: Tokens,
    noise: float = 0.0,
    task: Task = "label",
    dtype: Any = np.float64,
    storage: Storage = "memory",
    threads: int = 1,
) -> Samples:
    """Draw `n` samples of the target `S_0` seen through `channel`.

    ``R_ab = (x_a' S_0 x_b - delta_ab Tr S_0)/sqrt(d) + noise``; the noise has variance Delta on the diagonal and
    Delta/2 off it and is symmetric, that is variance Delta/2 for each component ``z_0``.
    """
    d, T = len(S_0), channel.n_tokens
    X = _token_space(n * T, d, dtype, storage)
    rows = samples_a_block(d, T) * T
    for start in range(0, n * T, rows):
        tokens.fill(X[start : start + rows], rng)
    z_0, gram = np.empty((n, channel.n_in)), np.empty((n if task == "sequence" else 0, T, T))
    cast, centre, none = S_0.astype(dtype), np.eye(T) * np.trace(S_0) / sqrt(d), np.zeros((T, T))

    def label(blocks: list[slice]) -> None:
        for block in blocks:
            x = X[block.start * T : block.stop * T]
            R = np.empty((block.stop - block.start, T, T))
            kernels.scores(np.dot(x, cast), x, 1.0 / sqrt(d), centre, R)
            kernels.to_components(R, z_0[block])
            if task == "sequence":
                kernels.scores(x, x, 1.0 / d, none, gram[block])

    in_ordered_parts(n, d, T, threads, label)
    z_0 += sqrt(0.5 * noise) * rng.standard_normal(z_0.shape)
    return Samples(X, z_0, channel.draw_labels(z_0, rng), gram)


def _token_space(rows: int, d: int, dtype: Any, storage: Storage) -> Reals:
    if storage == "memory":
        return np.empty((rows, d), dtype=dtype)
    # A file without a name: the system takes it back with the array, also when the process is killed.
    with tempfile.TemporaryFile(prefix="presage-tokens-") as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=(rows, d))


def token_means(samples: Samples) -> Floats:
    """``mean_mu x_a x_b'`` over the samples, T x T x d x d: what centring by the mean over the data subtracts."""
    T = samples.n_tokens
    X = samples.tokens.reshape(samples.n, T, samples.d)
    return np.array([[X[:, a].T @ X[:, b] for b in range(T)] for a in range(T)], dtype=np.float64) / samples.n


def stream(
    S_0: Floats, channel: Channel, n: int, rng: np.random.Generator, *, block: int = 4096, **options: Any
) -> Iterator[Samples]:
    """Draw `n` samples block by block, so that a test set of any size needs the memory of one block."""
    for start in range(0, n, block):
        yield sample(S_0, channel, min(block, n - start), rng, **options)
