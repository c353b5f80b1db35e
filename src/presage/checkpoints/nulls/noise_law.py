"""Laws that the values of a head or a matrix have where they are noise: the catalogue that a spectrum is set beside."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, final

import numpy as np

from presage.checkpoints.nulls.samplers import gaussian_values, product_values, symmetric_values
from presage.laws.spectral_law import Floats

Sampler = Callable[[int, int, int, int, np.random.Generator], Floats]
Unit = Callable[[int, int], float]


@final
class NoiseLaw(NamedTuple):
    """A law of n decreasing values of a matrix of rows x columns, up to a scale, or a scale and a shift."""

    name: str
    words: str
    shifted: bool  # whether values are a (x - c) with a free c, and not a x
    shrinks: bool  # whether a spike less makes the matrix of the noise smaller: one table a number of spikes
    unit: Unit  # rows, columns: values of entries of variance one over it have a limit, and are what is sampled
    sample: Sampler  # n, rows, columns, draws, rng


def _of_product(rows: int, columns: int) -> float:
    return sqrt(rows * columns)


def _of_matrix(rows: int, columns: int) -> float:
    return sqrt(_of_product(rows, columns))


def _of_longer_side(rows: int, columns: int) -> float:
    return sqrt(max(rows, columns))


def _random(n: int, rows: int, columns: int, draws: int, rng: np.random.Generator) -> Floats:
    return product_values(n, rows, columns, draws, rng) / _of_product(rows, columns)


def _tied(n: int, rows: int, columns: int, draws: int, rng: np.random.Generator) -> Floats:
    return np.asarray(gaussian_values(n, rows, n, draws, rng) ** 2 / _of_product(rows, columns))


def _shrunk(n: int, rows: int, columns: int, draws: int, rng: np.random.Generator) -> Floats:
    return np.asarray(gaussian_values(rows, columns, n, draws, rng) / _of_matrix(rows, columns))


def _shrunk_symmetric(n: int, rows: int, columns: int, draws: int, rng: np.random.Generator) -> Floats:
    return symmetric_values(rows, n, draws, rng)


def _gaussian(n: int, rows: int, columns: int, draws: int, rng: np.random.Generator) -> Floats:
    return np.asarray(gaussian_values(rows, columns, n, draws, rng) / _of_longer_side(rows, columns))


RANDOM = NoiseLaw("random", "a product of two random factors", False, True, _of_product, _random)
TIED = NoiseLaw("tied", "a random factor times its own transpose", False, True, _of_product, _tied)
SHRUNK = NoiseLaw("shrunk", "noise without structure that weight decay has shrunk", True, False, _of_matrix, _shrunk)
SHRUNK_TIED = NoiseLaw(
    "shrunk", "symmetric noise that weight decay has shrunk", True, False, _of_matrix, _shrunk_symmetric
)
GAUSSIAN = NoiseLaw("random", "a matrix of independent entries", False, True, _of_longer_side, _gaussian)
