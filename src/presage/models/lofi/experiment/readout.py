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
        Z = None if n * width > 4e7 else self._rows(h)  # kept where it is small
        self.strength = float(STRENGTHS[MIDDLE])
        if len(held):
            weights = self._solved(h, Z, used, targets, STRENGTHS)
            rows = self._rows(h[held]) if Z is None else Z[held]
            errors = [float(np.mean((rows @ w + self.shift - targets[held]) ** 2)) for w in weights]
            self.strength = float(STRENGTHS[int(np.argmin(errors))])
        self.weights = self._solved(h, Z, np.arange(n), targets, np.array([self.strength]))[0]

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

    def _solved(
        self,
        h: Floats,
        Z: Floats | None,
        used: np.ndarray[tuple[int], np.dtype[np.intp]],
        targets: Floats,
        strengths: Floats,
    ) -> list[Floats]:
        """Weights of these samples for each strength, by the eigenvectors of one covariance."""
        width = self.lift.width
        y = targets[used] - self.shift
        if len(used) <= width:  # by the Gram matrix of the samples, which is smaller
            rows = self._rows(h[used]) if Z is None else Z[used]
            values, vectors = np.linalg.eigh(rows @ rows.T / len(used))
            along = vectors.T @ y / len(used)
            values = np.maximum(values, 0.0)
            mean = float(values.sum()) / width
            return [rows.T @ (vectors @ (along / (values + s * mean + 1e-300)[:, None])) for s in strengths]
        gram, right = np.zeros((width, width)), np.zeros((width, y.shape[1]))
        for start in range(0, len(used), self.lift.block):
            place = slice(start, start + self.lift.block)
            rows = self._rows(h[used[place]]) if Z is None else Z[used[place]]
            gram += rows.T @ rows
            right += rows.T @ y[place]
        values, vectors = np.linalg.eigh(gram / len(used))
        values = np.maximum(values, 0.0)
        along = vectors.T @ right / len(used)
        mean = float(values.mean())
        return [vectors @ (along / (values + s * mean + 1e-300)[:, None]) for s in strengths]
