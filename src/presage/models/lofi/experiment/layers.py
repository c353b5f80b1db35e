"""A layer: directions of a lift that the labels select, and the features that they are of any inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from presage.models.lofi.experiment.kernel import Kernel
from presage.models.lofi.experiment.lifts import Activation, Kind, Lift, made
from presage.models.lofi.experiment.signal_matrix import (
    Pick,
    Reading,
    Selected,
    by_sides,
    class_signal_matrices,
    edges_of,
    leading,
    signal_matrix,
)
from presage.protocol.ensemble import Floats

SPREAD = 1e-12  # of a feature beside its mean, below which it is constant


@dataclass(frozen=True)
class Selection:
    """What a layer is and how its directions are selected."""

    kind: Kind
    features: int  # directions to keep, of a classifier of each class
    width: int  # of a random lift
    activation: Activation
    reading: Reading
    pick: Pick
    first_moment: bool  # whether the first moment of the labels is a direction as well


class Standard(NamedTuple):
    """What makes features of mean zero and variance one."""

    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, features: Floats) -> Standard:
        """Means and standard deviations; a constant feature stays zero."""
        mean, spread = features.mean(axis=0), features.std(axis=0)
        constant = spread <= SPREAD * np.maximum(np.abs(mean), 1.0) * float(features.std() or 1.0)
        return cls(mean, np.where(constant, np.inf, spread))

    def __call__(self, features: Floats) -> Floats:
        """Features in standard units."""
        return np.asarray((features - self.mean) / self.spread)


class Layer(ABC):
    """A layer that is fitted: features of inputs, in standard units."""

    standard: Standard
    values: Floats  # eigenvalues of the directions that were selected
    fitted: Floats | None  # features of the samples that it was fitted to, until the next layer has them

    @abstractmethod
    def raw(self, h: Floats) -> Floats:
        """Features as they are."""

    def __call__(self, h: Floats) -> Floats:
        """Features of mean zero and variance one over the samples that it was fitted to."""
        return self.standard(self.raw(h))


@final
class LiftLayer(Layer):
    """Directions of a lift."""

    def __init__(self, lift: Lift, values: Floats, vectors: Floats, h: Floats) -> None:
        self.lift, self.values, self.vectors = lift, values, vectors
        raw = self.raw(h)
        self.standard = Standard.of(raw)
        self.fitted = self.standard(raw)

    def raw(self, h: Floats) -> Floats:
        found = np.empty((len(h), self.vectors.shape[1]))
        for start in range(0, len(h), self.lift.block):
            place = slice(start, start + self.lift.block)
            found[place] = self.lift.rows(h[place]) @ self.vectors
        return found


@final
class KernelLayer(Layer):
    """Directions in the space of a kernel, by their dual coefficients."""

    def __init__(self, kernel: Kernel, values: Floats, dual: Floats) -> None:
        self.kernel, self.values, self.dual = kernel, values, dual
        raw = kernel.fitted(dual)
        self.standard = Standard.of(raw)
        self.fitted = self.standard(raw)

    def raw(self, h: Floats) -> Floats:
        return self.kernel.features(h, self.dual)


def fit_layer(h: Floats, y: Any, selection: Selection, rng: np.random.Generator) -> Layer:
    """Select the directions of a layer by centred labels, or by classes where these are whole numbers."""
    classes = y.dtype.kind in "iu"
    if selection.kind == "kernel":
        kernel = Kernel(h, selection.activation, normalise=selection.reading.normalise, centre=selection.reading.centre)
        columns = [np.where(y == one, 1.0, 0.0) - np.mean(y == one) for one in np.unique(y)] if classes else [y]
        selected = [kernel.selected(column, selection.features, selection.pick, rng) for column in columns]
        dual = [one.vectors for one in selected]
        if selection.first_moment:
            dual += [column[:, None] for column in columns]
        return KernelLayer(kernel, np.concatenate([one.values for one in selected]), np.concatenate(dual, axis=1))
    lift = made(selection.kind, h, selection.width, selection.activation, rng)
    found = directions(lift, h, y, selection, rng)
    return LiftLayer(lift, found.values, found.vectors, h)


def directions(lift: Lift, h: Floats, y: Any, selection: Selection, rng: np.random.Generator) -> Selected:
    """Directions of a lift that labels select, those of every class together, and the first moments if asked for."""
    if y.dtype.kind not in "iu":
        whole = signal_matrix(lift, h, y, selection.reading)
        found = _selected(whole.C, lift, h, y, selection, rng)
        first = [whole.first_moment[:, None]] if selection.first_moment else []
        return Selected(found.values, np.concatenate([found.vectors, *first], axis=1))
    parts, values, moments = [], [], []
    for one, matrix in zip(np.unique(y), class_signal_matrices(lift, h, y, selection.reading), strict=True):
        label = np.where(y == one, 1.0, 0.0) - np.mean(y == one)
        found = _selected(matrix.C, lift, h, label, selection, rng)
        parts.append(found.vectors)
        values.append(found.values)
        moments.append(matrix.first_moment[:, None])
    together, _ = np.linalg.qr(np.concatenate(parts, axis=1))  # classes share directions: of these one is kept
    if selection.first_moment:
        together = np.concatenate([together, *moments], axis=1)
    return Selected(np.concatenate(values), together)


def _selected(C: Floats, lift: Lift, h: Floats, y: Floats, selection: Selection, rng: np.random.Generator) -> Selected:
    """Directions by the size of their eigenvalues, or by how far each is beyond the edge that shuffled labels have."""
    if selection.pick == "size":
        return leading(C, selection.features, rng)
    shuffled = signal_matrix(lift, h, rng.permutation(y), selection.reading)
    return by_sides(C, edges_of(shuffled.C, rng), selection.features, rng)
