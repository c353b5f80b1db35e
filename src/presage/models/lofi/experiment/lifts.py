"""Lifts of the inputs of a layer, in which directions are looked for: random features, products, or the inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import pi, sqrt
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from presage.protocol.ensemble import Floats

Activation = Literal["relu", "centred_relu"]
Kind = Literal["random", "kernel", "quadratic", "linear"]
BLOCK_BYTES = 2e8  # of the rows of a lift that are held together


def activated(u: NDArray[Any], activation: Activation, size: float = 1.0) -> NDArray[Any]:
    """Activation of random projections, in place: relu(u), or that without its constant and its linear part.

    Projections that were multiplied by a `size` give values that are: both are homogeneous but for the constant.
    """
    if activation == "relu":
        return np.asarray(np.maximum(u, 0.0, out=u))
    half = u.dtype.type(0.5)
    shift = u.dtype.type(size / sqrt(2.0 * pi))
    u = np.abs(u, out=u)  # relu(u) - u/2 = |u|/2
    u *= half
    u -= shift
    return u


class Lift(ABC):
    """A map of the inputs of a layer to coordinates z, one row a sample; it is frozen once it is made."""

    scale: float  # root of the mean squared norm of the inputs that it was made for

    @property
    @abstractmethod
    def width(self) -> int:
        """Number P of coordinates."""

    @abstractmethod
    def rows(self, h: NDArray[Any]) -> NDArray[Any]:
        """Coordinates of these inputs, in their precision."""

    @property
    def positions(self) -> int:
        """Rows of one sample: one, or as many as an image has places."""
        return 1

    @property
    def block(self) -> int:
        """Samples whose rows are held together."""
        return max(1, int(BLOCK_BYTES / (8 * self.width * self.positions)))


@final
class RandomLift(Lift):
    """``z = sigma(h W/c)/sqrt(P)`` with W standard Gaussian; with `biases`, ``sigma(h W/c + b)``."""

    def __init__(
        self, h: Floats, width: int, activation: Activation, rng: np.random.Generator, *, biases: bool = False
    ) -> None:
        self.scale, self.activation = root_mean_square(h), activation
        self.W = rng.standard_normal((h.shape[1], width))
        self.biases = rng.standard_normal(width) if biases else None

    @property
    def width(self) -> int:
        return int(self.W.shape[1])

    def rows(self, h: NDArray[Any]) -> NDArray[Any]:
        size = 1.0 / sqrt(self.width)
        u = h @ (self.W * (size / self.scale)).astype(h.dtype)
        if self.biases is not None:
            u += (self.biases * size).astype(h.dtype)
        return activated(u, self.activation, size)


@final
class QuadraticLift(Lift):
    """All Hermite polynomials of degree two of the inputs, ``h_i h_j`` and ``(h_i^2 - 1)/sqrt(2)``, at variance one."""

    def __init__(self, h: Floats) -> None:
        self.inputs = h.shape[1]
        self.scale = root_mean_square(h)
        self.first, self.other = np.triu_indices(self.inputs)

    @property
    def width(self) -> int:
        return len(self.first)

    def rows(self, h: NDArray[Any]) -> NDArray[Any]:
        h = h * h.dtype.type(sqrt(self.inputs) / self.scale)
        z = h[:, self.first] * h[:, self.other]
        squares = self.first == self.other
        z[:, squares] = (z[:, squares] - h.dtype.type(1.0)) / h.dtype.type(sqrt(2.0))
        return np.asarray(z)


@final
class LinearLift(Lift):
    """The inputs themselves, at variance one: directions of them are selected, as those of a multi-index target."""

    def __init__(self, h: Floats) -> None:
        self.inputs, self.scale = h.shape[1], root_mean_square(h)

    @property
    def width(self) -> int:
        return int(self.inputs)

    def rows(self, h: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(h * h.dtype.type(sqrt(self.inputs) / self.scale))


def root_mean_square(h: Floats) -> float:
    """Root of the mean squared norm of the inputs; one where all of them are zero."""
    return float(np.sqrt(np.mean(np.einsum("ij,ij->i", h, h)))) or 1.0


def made(kind: Kind, h: Floats, width: int, activation: Activation, rng: np.random.Generator) -> Lift:
    """The lift of a layer for these inputs."""
    if kind == "random":
        return RandomLift(h, width, activation, rng)
    return QuadraticLift(h) if kind == "quadratic" else LinearLift(h)
