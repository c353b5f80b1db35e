"""Eigenvectors of a matrix that is known by its products only: the powers of it on a few random directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats


class Found(NamedTuple):
    """Eigenvalues of the largest size and their vectors (columns), how many products it took, whether they settled."""

    values: Floats
    vectors: Floats
    passes: int
    settled: bool


def largest_eigenvectors(
    times: Callable[[Floats], Floats],
    rows: int,
    count: int,
    rng: np.random.Generator,
    *,
    oversampling: int,
    passes: int,
    tol: float,
    beyond: float,
) -> Found:
    """The `count` eigenvectors with the largest sizes of eigenvalues, from the span of ``V, CV, C^2 V, ...``.

    It has settled where those with an eigenvalue `beyond` some size turn by less than `tol` in a pass, squared sine.
    """
    width = min(rows, count + oversampling)
    block, _ = np.linalg.qr(rng.standard_normal((rows, width)))
    basis, images = np.empty((rows, 0)), np.empty((rows, 0))
    before: Floats | None = None
    found = Found(np.zeros(count), block[:, :count], 0, False)
    for number in range(1, passes + 1):
        image = times(block)
        basis, images = np.hstack([basis, block]), np.hstack([images, image])
        small = basis.T @ images
        values, inner = np.linalg.eigh(0.5 * (small + small.T))
        top = np.argsort(-np.abs(values), kind="stable")[:count]
        vectors = basis @ inner[:, top]
        outside = np.abs(values[top]) > beyond
        settled = bool(basis.shape[1] >= rows)
        if before is not None and outside.any() and not settled:
            seen = np.sum((before.T @ vectors[:, outside]) ** 2, axis=0)
            settled = bool(np.max(1.0 - seen) < tol)
        found = Found(values[top], vectors, number, settled)
        if settled:
            break
        before = vectors
        for _ in range(2):  # twice is enough for directions that are next to parallel
            image = image - basis @ (basis.T @ image)
            image, _ = np.linalg.qr(image)
        block = image[:, : rows - basis.shape[1]]
    return found
