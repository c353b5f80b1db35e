"""The last layer: a random ReLU lift with biases of what was selected, and ridge regression of a validated strength."""

from __future__ import annotations

from typing import final

import numpy as np

from presage.models.lofi.experiment.layers import Standard
from presage.models.lofi.experiment.lifts import RandomLift
from presage.protocol.ensemble import Floats

HELD_OUT = 0.2  # part of the samples that chooses the strength
STRENGTHS = np.geomspace(1e-8, 1e1, 19)  # of the ridge, over the mean eigenvalue of the covariance
FEW = 10  # samples, with fewer of which none can be held out
MIDDLE = 9  # the strength that is used then
TINY = 1e-300


@final
class Readout:
    """Ridge regression of some columns of targets on random features of the inputs; it is fitted when it is made."""

    def __init__(self, h: Floats, targets: Floats, width: int, rng: np.random.Generator) -> None:
        self.lift = RandomLift(h, width, "relu", rng, biases=True)
        n = len(h)
        self.shift = targets.mean(axis=0)
        order = rng.permutation(n)
        held, used = np.split(order, [int(HELD_OUT * n) if n >= FEW else 0])
        self.standard = Standard(*self._moments(h))
        self.strength = float(STRENGTHS[MIDDLE])
        y = targets - self.shift
        if n <= width:  # by the Gram matrix of the samples, which is smaller
            Z = self._rows(h)
            if len(held):
                self._choose(_dual(Z[used], y[used], STRENGTHS), Z[held], y[held])
            self.weights = _dual(Z, y, np.array([self.strength]))[0]
            return
        gram, right = self._sums(h[used], y[used])
        if len(held):
            self._choose(_primal(gram, right, len(used), STRENGTHS), self._rows(h[held]), y[held])
            more, further = self._sums(h[held], y[held])
            gram, right = gram + more, right + further
        self.weights = _primal(gram, right, n, np.array([self.strength]))[0]

    def _choose(self, weights: list[Floats], rows: Floats, y: Floats) -> None:
        """The strength of the least error on samples that were held out."""
        errors = [float(np.mean((rows @ w - y) ** 2)) for w in weights]
        self.strength = float(STRENGTHS[int(np.argmin(errors))])

    def __call__(self, h: Floats) -> Floats:
        """Targets of these inputs, one column each."""
        found = np.empty((len(h), self.weights.shape[1]))
        for start in range(0, len(h), self.lift.block):
            place = slice(start, start + self.lift.block)
            found[place] = self._rows(h[place]) @ self.weights + self.shift
        return found

    def _rows(self, h: Floats) -> Floats:
        return self.standard(self.lift.rows(h))

    def _moments(self, h: Floats) -> tuple[Floats, Floats]:
        total, square = np.zeros(self.lift.width), np.zeros(self.lift.width)
        for start in range(0, len(h), self.lift.block):
            z = self.lift.rows(h[start : start + self.lift.block])
            total += z.sum(axis=0)
            square += np.einsum("ij,ij->j", z, z)
        mean = total / len(h)
        spread = np.sqrt(np.maximum(square / len(h) - mean**2, 0.0))
        whole = float(np.sqrt(np.mean(spread**2))) or 1.0
        return mean, np.full(self.lift.width, whole)  # one scale for all: features of larger spread count more

    def _sums(self, h: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Products of random features with each other and with the targets, summed in blocks."""
        gram, right = np.zeros((self.lift.width, self.lift.width)), np.zeros((self.lift.width, y.shape[1]))
        for start in range(0, len(h), self.lift.block):
            place = slice(start, start + self.lift.block)
            rows = self._rows(h[place])
            gram += rows.T @ rows
            right += rows.T @ y[place]
        return gram, right


def _primal(gram: Floats, right: Floats, n: int, strengths: Floats) -> list[Floats]:
    """Weights for each strength by the eigenvectors of the covariance of the features."""
    values, vectors = np.linalg.eigh(gram / n)
    values, along = np.maximum(values, 0.0), vectors.T @ right / n
    mean = float(values.mean())
    return [vectors @ (along / (values + s * mean + TINY)[:, None]) for s in strengths]


def _dual(rows: Floats, y: Floats, strengths: Floats) -> list[Floats]:
    """Weights for each strength by the eigenvectors of the Gram matrix of the samples."""
    n, width = rows.shape
    values, vectors = np.linalg.eigh(rows @ rows.T / n)
    values, along = np.maximum(values, 0.0), vectors.T @ y / n
    mean = float(values.sum()) / width
    return [rows.T @ (vectors @ (along / (values + s * mean + TINY)[:, None])) for s in strengths]
