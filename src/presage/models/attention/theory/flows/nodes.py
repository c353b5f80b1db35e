"""Places and masses that stand for a law of eigenvalues in sums over all of its features."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi

import numpy as np

from presage.laws.discrete_law import DiscreteLaw
from presage.laws.spectral_law import Floats, SpectralLaw

MANY = 4000  # atoms beyond which neighbours are taken together
NEAR = 1.1  # ratio of the largest and the least atom of a block
OF_A_BLOCK = 6  # places that stand for it


def nodes(law: SpectralLaw, points: int) -> tuple[Floats, Floats]:
    """Atoms, many near ones by a few, and so many places on each interval of the continuous part."""
    places, masses = [], []
    for block_places, block_masses in _blocks(*law.atoms):
        places.append(block_places)
        masses.append(block_masses)
    for left, right in () if isinstance(law, DiscreteLaw) else law.support:
        if right > left:
            angle = pi * (np.arange(points) + 0.5) / points  # in which square-root edges are smooth, and periodic
            at = 0.5 * (left + right) - 0.5 * (right - left) * np.cos(angle)
            places.append(at)
            masses.append(0.5 * pi / points * (right - left) * np.sin(angle) * law.density(at))
    return np.concatenate(places), np.concatenate(masses)


def _blocks(positions: Floats, masses: Floats) -> Iterator[tuple[Floats, Floats]]:
    if len(positions) <= MANY:
        yield positions, masses
        return
    zero = positions == 0.0
    yield positions[zero], masses[zero]
    for sign in (-1.0, 1.0):
        side = sign * positions > 0.0
        size, mass = sign * positions[side], masses[side]
        number = np.floor(np.log(size) / np.log(NEAR))
        ends = np.flatnonzero(np.diff(number)) + 1  # atoms are sorted, and so are the numbers of their blocks
        for x, w in zip(np.split(size, ends), np.split(mass, ends), strict=True):
            places, weights = gauss_rule(x, w, OF_A_BLOCK)
            yield sign * places, weights


def gauss_rule(x: Floats, w: Floats, count: int) -> tuple[Floats, Floats]:
    """The places and masses, so many, with as many moments of given ones, twice over, by Lanczos.

    Equation: derived: the rule of Gauss for a sum, eigenvalues of the Jacobi matrix of its orthogonal polynomials.
    Checked: tests/models/attention/theory/test_flows.py::test_few_nodes_stand_for_many_features
    """
    if len(x) <= count:
        return x, w
    centre, spread = 0.5 * (x.min() + x.max()), 0.5 * (x.max() - x.min())
    t = (x - centre) / spread
    before, here = np.zeros(len(t)), np.sqrt(w / w.sum())
    diagonal, beside = np.empty(count), np.zeros(count)
    for k in range(count):
        diagonal[k] = np.sum(t * here**2)
        after = (t - diagonal[k]) * here - (beside[k - 1] if k else 0.0) * before
        beside[k] = np.linalg.norm(after)
        before, here = here, after / beside[k]
    values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1))
    return centre + spread * values, w.sum() * vectors[0] ** 2
