"""Learning layer by layer by gradients: a convolutional network whose filters do not overlap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np

from presage.models.random_hierarchy.experiment.data import Integers, Samples
from presage.models.random_hierarchy.experiment.layerwise_clustering import Learned, cluster
from presage.models.random_hierarchy.experiment.polynomial_kernel import one_hot
from presage.models.random_hierarchy.experiment.purity import purity
from presage.models.random_hierarchy.problem import RandomHierarchyProblem
from presage.protocol.fields import Number, declared
from presage.protocol.trainer import STEPS, Trainer

WIDTH = Number("channels of each layer", at_least=1, at_most=100_000, whole=True, example=128)
RATE = Number("rate of Adam", above=0.0, at_most=10.0, example=0.01)
BATCH = Number("samples of a step", at_least=1, at_most=10**7, whole=True, example=256)
DECAY = Number("weight decay", at_least=0.0, at_most=10.0, example=0.1)
RESTARTS = 8  # of k-means, where the purity of a layer is measured
FLAT = 1e-6  # standard deviation below which a channel says nothing


@final
@dataclass(frozen=True)
class LayerwiseConvolution(Trainer):
    """A deep convolutional network, trained one layer at a time by Adam on the cross-entropy; the extra ``torch``.

    Filters are as long as a tuple and as far apart, and shared by all positions. Each layer is trained with a linear
    readout of all positions, and kept; its channels, each of mean zero and variance one, are the input of the next.
    """

    width: int = field(default=128, metadata=declared(WIDTH))
    steps: int = field(default=400, metadata=declared(STEPS))
    rate: float = field(default=0.01, metadata=declared(RATE))
    batch: int = field(default=256, metadata=declared(BATCH))
    decay: float = field(default=0.1, metadata=declared(DECAY))


def learn_by_convolution(
    problem: RandomHierarchyProblem,
    trainer: LayerwiseConvolution,
    training: Samples,
    fresh: Samples,
    rng: np.random.Generator,
) -> Learned:
    """Train layer upon layer, and read fresh samples.

    The purity of a layer is that of clusters of what its tuples say: of their scores of the classes at all positions.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # layers are small, and learners are trained side by side
    try:
        return _learned(problem, trainer, training, fresh, rng)
    finally:
        torch.set_num_threads(threads)


def _learned(
    problem: RandomHierarchyProblem,
    trainer: LayerwiseConvolution,
    training: Samples,
    fresh: Samples,
    rng: np.random.Generator,
) -> Learned:
    import torch

    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    v, s = problem.symbols, problem.branching
    seen, new = (torch.tensor(_channels(samples, v), dtype=torch.float32) for samples in (training, fresh))
    classes = torch.tensor(training.classes)
    pure: list[float] = []
    for level in range(problem.depth):
        seen, new = (inputs.reshape(len(inputs), -1, s * inputs.shape[2]) for inputs in (seen, new))
        layer = _layer(seen, new, classes, problem.n_classes, trainer, generator)
        seen, new = layer.seen, layer.new
        if level < problem.depth - 1:
            symbols, choices = fresh.symbols[level], fresh.choices[level]
            pure.append(_purity(layer, symbols, symbols * problem.synonyms + choices, v, rng))
    accuracy = float(np.mean(layer.scores.argmax(dim=1).numpy() == fresh.classes))
    return Learned(accuracy, np.array(pure))


def _channels(samples: Samples, v: int) -> np.ndarray:
    """One-hot inputs: (sample, position, symbol)."""
    return one_hot(samples.inputs, v).reshape(len(samples.inputs), -1, v)


class _Layer(NamedTuple):
    """A layer that was trained."""

    seen: Any  # its channels for the training samples: (sample, position, channel)
    new: Any  # and for fresh ones
    readout: Any  # (position, channel, class)
    scores: Any  # of the classes of fresh samples


def _layer(seen: Any, new: Any, classes: Any, n_c: int, trainer: LayerwiseConvolution, generator: Any) -> _Layer:
    """Train one layer with its readout."""
    import torch

    n, positions, size = seen.shape
    weight = (torch.randn(size, trainer.width, generator=generator) * (2.0 / size) ** 0.5).requires_grad_()
    bias = (0.1 * torch.randn(trainer.width, generator=generator)).requires_grad_()
    readout = torch.zeros(positions * trainer.width, n_c, requires_grad=True)
    optimiser = torch.optim.AdamW([weight, bias, readout], lr=trainer.rate, weight_decay=trainer.decay)
    for _ in range(trainer.steps):
        batch = torch.randint(n, (min(trainer.batch, n),), generator=generator)
        hidden = torch.relu(seen[batch] @ weight + bias)
        scores = hidden.flatten(1) @ readout / trainer.width**0.5
        loss = torch.nn.functional.cross_entropy(scores, classes[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with torch.no_grad():
        hidden, fresh = (torch.relu(inputs @ weight + bias) for inputs in (seen, new))
        scores = fresh.flatten(1) @ readout / trainer.width**0.5
        mean, spread = hidden.mean(dim=(0, 1)), hidden.std(dim=(0, 1)).clamp(min=FLAT)
        by_position = (readout.reshape(positions, trainer.width, n_c) * spread[:, None]).detach()
        return _Layer((hidden - mean) / spread, (fresh - mean) / spread, by_position, scores)


def _purity(layer: _Layer, symbols: Integers, tuples: Integers, v: int, rng: np.random.Generator) -> float:
    """Purity of clusters of the tuples by what they add to the scores, each by its mean channels."""
    channels, readout = layer.new.numpy(), layer.readout.numpy()
    flat, owner = channels.reshape(-1, channels.shape[2]), tuples.ravel()
    counts = np.bincount(owner)
    sums = np.zeros((len(counts), flat.shape[1]))
    np.add.at(sums, owner, flat)
    known = np.flatnonzero(counts)
    says = np.einsum("tw,pwc->tpc", sums[known] / counts[known, None], readout)
    says -= says.mean(axis=2, keepdims=True)
    names = np.zeros(len(counts), dtype=np.int64)
    names[known] = cluster(says.reshape(len(known), -1).astype(np.float64), v, RESTARTS, rng)
    return purity(names[tuples], symbols)
