"""Targets of a finite size whose moments are those of the limit: eigenvalues at quantiles, frames turned into place."""

from __future__ import annotations

from functools import cache

import numpy as np

from presage.laws.random_frame import random_frame
from presage.laws.rectangular_law import RectangularLaw
from presage.laws.spectral_law import Floats, SpectralLaw

TURNS = 6  # of Newton's method for a frame
IN_PLACE = 1e-10  # relative error of an overlap that is one of rounding
FARTHEST = 1.0  # length of a turn, relative to that of a random one: beyond, frames are left as they are


@cache
def quantiles(law: SpectralLaw, d: int) -> Floats:
    """Quantiles of a law, with its second moment."""
    values = law.quantile((np.arange(d) + 0.5) / d)
    size = float(np.mean(values**2))
    scaled = np.asarray(values * np.sqrt(law.second_moment / size) if size > 0.0 else values)
    scaled.flags.writeable = False
    return scaled


@cache
def singular_quantiles(law: RectangularLaw, d: int) -> Floats:
    """Quantiles of the singular values of a square matrix, with the second moment of its law."""
    squared = np.maximum(law.squared.quantile((np.arange(d) + 0.5) / d), 0.0)
    scaled = np.asarray(np.sqrt(squared * (law.squared.mean / max(float(squared.mean()), 1e-300))))
    scaled.flags.writeable = False
    return scaled


def symmetric_target(law: SpectralLaw, d: int, rng: np.random.Generator) -> Floats:
    """A symmetric matrix of a law in a random frame."""
    frame = random_frame(d, d, rng)
    return np.asarray((frame * quantiles(law, d)) @ frame.T)


def square_target(law: RectangularLaw, d: int, rng: np.random.Generator) -> Floats:
    """A square matrix of a law in two random frames, the left one turned until ``Tr S^2 = 0``, as it is in the limit.

        d Tr S^2 = 2 Tr(A S^2) for S -> (1 + A) S with A antisymmetric;   A ~ (S^2)' - S^2

    Equation: derived.
    Checked: tests/solving/test_drawn_targets.py::test_parts_of_a_square_target_are_of_one_size
    """
    S = np.asarray((random_frame(d, d, rng) * singular_quantiles(law, d)) @ random_frame(d, d, rng).T)
    for _ in range(TURNS):
        twice = S @ S
        turn, off = twice.T - twice, float(np.trace(twice))
        slope = 2.0 * float(np.sum(turn.T * twice))
        if abs(off) <= IN_PLACE * float(np.sum(S * S)) or not slope > 0.0:
            break
        S = turned(-off / slope * turn) @ S
    return S


def free_targets(laws: tuple[SpectralLaw, ...], d: int, rng: np.random.Generator) -> Floats:
    """Symmetric matrices of these laws, each turned until ``Tr S_h S_k/d`` with those before is the product of means.

        d Tr S_h S_k = Tr(A [S_k, S_h]) for S_k -> (1 + A) S_k (1 - A) with A antisymmetric;   A = sum_h c_h [S_h, S_k]

    Equation: derived: matrices in independent frames are free of each other in the limit.
    Checked: tests/solving/test_drawn_targets.py::test_heads_have_the_overlaps_of_the_limit
    """
    found: list[Floats] = []
    for law in laws:
        S = symmetric_target(law, d, rng)
        for _ in range(TURNS if found else 0):
            means = np.array([float(np.trace(other)) for other in found]) * float(np.trace(S)) / d
            off = np.array([float(np.sum(other * S)) for other in found]) - means
            turns = np.array([other @ S - S @ other for other in found]).reshape(len(found), -1)
            size = float(np.sum(S * S))
            if np.max(np.abs(off)) <= IN_PLACE * size:
                break
            weights = -np.linalg.lstsq(turns @ turns.T, off, rcond=1e-8)[0]
            A = np.asarray((weights @ turns).reshape(d, d))
            if not float(np.linalg.norm(A)) < FARTHEST:
                break
            frame = turned(A)
            S = frame @ S @ frame.T
        found.append(S)
    return np.array(found)


def turned(A: Floats) -> Floats:
    """The rotation that an antisymmetric matrix makes to first order."""
    one = np.eye(len(A))
    return np.asarray(np.linalg.solve(one - 0.5 * A, one + 0.5 * A))
