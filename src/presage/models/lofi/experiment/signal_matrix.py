"""The signal matrix of a layer, the signed covariance of its lift, and the directions that stand out of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy

from presage.models.lofi.experiment.lifts import Lift
from presage.protocol.ensemble import Floats
from presage.training.signed_covariance import add_signed_squares

Pick = Literal["size", "sides"]
DENSE = 500  # rows of a matrix up to which all eigenvectors are computed
PART = 0.1  # of the rows, up to which directions are looked for one by one
BASIS = 60  # directions that are looked at, at the least
SETTLED = 1e-7  # relative error of an eigenvalue at which it is known


@dataclass(frozen=True)
class Reading:
    """How the rows of a lift are read: what matters for which directions stand out."""

    normalise: bool = True  # each row has norm one while directions are looked for; features are of the rows themselves
    centre: bool = True  # the mean row is taken off, after they were normalised
    double: bool = True  # in double precision; in single, products take half the time and keep six digits

    def blocks(self, lift: Lift, h: Floats) -> Iterator[tuple[slice, Any, Floats]]:
        """Rows of the lift, block by block, and what each is to be multiplied by."""
        inputs = h if self.double else h.astype(np.float32)
        for start in range(0, len(h), lift.block):
            place = slice(start, min(start + lift.block, len(h)))
            z = lift.rows(inputs[place])
            norms = np.sqrt(np.einsum("ij,ij->i", z, z, dtype=np.float64)) if self.normalise else np.ones(len(z))
            yield place, z, 1.0 / np.where(norms > 0.0, norms, 1.0)


class SignalMatrix(NamedTuple):
    """``C = (1/n) sum y z z'`` and the first moment ``b = (1/n) sum y z`` of the same rows."""

    C: Floats
    first_moment: Floats


def signal_matrix(lift: Lift, h: Floats, y: Floats, reading: Reading) -> SignalMatrix:
    """The signed covariance of a lift with centred labels; no more than a block of rows is held.

    Every row of a sample has its label, where it has several.
    Rows are centred afterwards: with ``sum y = 0`` that takes ``b m' + m b'`` off, m the mean row.
    """
    total, first, mean = np.zeros((lift.width, lift.width)), np.zeros(lift.width), np.zeros(lift.width)
    order = np.argsort(y < 0.0, kind="stable")  # by their signs: hardly a block has both
    h, y = h[order], y[order]
    for place, z, size in reading.blocks(lift, h):
        label = np.repeat(y[place], lift.positions)
        moments = np.stack([size, label * size]).astype(z.dtype) @ z
        mean += moments[0]
        first += moments[1]
        add_signed_squares(total, z, label * size**2)
    return _centred(total, first, mean, len(h) * lift.positions, reading)


def class_signal_matrices(lift: Lift, h: Floats, classes: Any, reading: Reading) -> Iterator[SignalMatrix]:
    """The matrices of every class against the others, labels ``1[class] - share``: two passes over the rows in all."""
    width, n = lift.width, len(h) * lift.positions
    whole, mean = np.zeros((width, width)), np.zeros(width)
    for _, z, size in reading.blocks(lift, h):
        mean += size.astype(z.dtype) @ z
        add_signed_squares(whole, z, size**2)
    for one in np.unique(classes):
        own = h[classes == one]
        total, first, share = np.zeros((width, width)), np.zeros(width), len(own) * lift.positions / n
        for _, z, size in reading.blocks(lift, own):
            first += size.astype(z.dtype) @ z
            add_signed_squares(total, z, size**2)
        yield _centred(total - share * whole, first - share * mean, mean, n, reading)


def _centred(total: Floats, first: Floats, mean: Floats, n: int, reading: Reading) -> SignalMatrix:
    C, b, m = total / n, first / n, mean / n
    if reading.centre:
        mixed = np.multiply.outer(b, m)
        C -= mixed
        C -= mixed.T
    return SignalMatrix(C, b)


class Selected(NamedTuple):
    """Directions of a lift that are kept, one column each, and their eigenvalues."""

    values: Floats
    vectors: Floats


def joined(low: Selected, high: Selected) -> Selected:
    """Both ends of a spectrum."""
    return Selected(np.append(low.values, high.values), np.concatenate([low.vectors, high.vectors], axis=1))


def ends(C: Floats, count: int, rng: np.random.Generator) -> Selected:
    """The `count` lowest and the `count` highest eigenvalues of a symmetric matrix; all where it is small."""
    size = len(C)
    if size <= DENSE or 2 * count > PART * size:
        return Selected(*np.linalg.eigh(C))
    start = rng.standard_normal(size)
    low, high = _looked_for(C, count, "SA", start), _looked_for(C, count, "LA", start)
    return joined(low, high)


def leading(C: Floats, count: int, rng: np.random.Generator) -> Selected:
    """The eigenvectors whose eigenvalues have the largest size, the largest first."""
    size = len(C)
    if size <= DENSE or count > PART * size:
        values, vectors = np.linalg.eigh(C)
    else:
        values, vectors = _looked_for(C, count, "LM", rng.standard_normal(size))
    order = np.argsort(-np.abs(values), kind="stable")[:count]
    return Selected(values[order], vectors[:, order])


def by_sides(C: Floats, edges: tuple[float, float], count: int, rng: np.random.Generator) -> Selected:
    """The eigenvectors that are furthest out of the bulk, each beyond the edge of its own side."""
    values, vectors = ends(C, count, rng)
    low, high = edges
    out = np.maximum(values - high, low - values)
    order = np.argsort(-out, kind="stable")[:count]
    return Selected(values[order], vectors[:, order])


def edges_of(C: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """The ends of the spectrum of a matrix: of shuffled labels these are the edges of the bulk."""
    found = ends(C, 1, rng).values
    return float(found.min()), float(found.max())


def _looked_for(C: Floats, count: int, which: Literal["SA", "LA", "LM"], start: Floats) -> Selected:
    """Eigenvectors at an end of the spectrum by Lanczos; the whole matrix where these do not settle."""
    basis = min(len(C) - 1, max(BASIS, 3 * count))
    try:
        values, vectors = scipy.sparse.linalg.eigsh(C, k=count, which=which, v0=start, ncv=basis, tol=SETTLED)
    except scipy.sparse.linalg.ArpackNoConvergence:
        return Selected(*np.linalg.eigh(C))
    return Selected(values, vectors)
