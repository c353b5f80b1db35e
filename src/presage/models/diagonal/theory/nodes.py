"""Nodes of a law of entries: its atoms, and a quadrature of what is continuous."""

from __future__ import annotations

from math import pi
from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats, SpectralLaw
from presage.spectra.legendre_panels import ABSCISSAE, WEIGHTS

AROUND_CUTOFF = np.linspace(-10.0, 10.0, 11)  # in units of delta: there an entry begins to be kept
UPWARDS = np.geomspace(0.1, 1e10, 23)  # in units of delta and of c: Gaussian entries leave the noise slowly


class Nodes(NamedTuple):
    """Places and masses that stand for a law."""

    position: Floats
    mass: Floats


def nodes(law: SpectralLaw, panels: int, near: tuple[float, float] | None = None) -> Nodes:
    """Atoms, and Gauss-Legendre `panels` in the angle that removes square-root edges of each band.

    With a point ``(delta, c)`` to be `near` the panels are cut where the averages change there, which may be much
    narrower than a band.
    """
    positions, masses = [law.atoms.positions], [law.atoms.masses]
    cuts = np.empty(0)
    if near is not None:
        delta, c = near
        above = np.concatenate([c + delta * AROUND_CUTOFF, delta * UPWARDS, c * UPWARDS])
        cuts = np.concatenate([-above, above, [0.0]])
    for left, right in law.support[law.support[:, 1] > law.support[:, 0]]:
        middle, half = 0.5 * (left + right), 0.5 * (right - left)
        inside = np.arcsin((cuts[(cuts > left) & (cuts < right)] - middle) / half)
        edges = np.unique(np.concatenate([np.linspace(-pi / 2, pi / 2, panels + 1), inside]))
        width = np.diff(edges)[:, None]
        angle = edges[:-1, None] + 0.5 * width * (1.0 + ABSCISSAE)
        position = (middle + half * np.sin(angle)).ravel()
        positions.append(position)
        masses.append((0.5 * width * WEIGHTS * half * np.cos(angle)).ravel() * law.density(position))
    return Nodes(np.concatenate(positions), np.concatenate(masses))


def is_continuous(law: SpectralLaw) -> bool:
    """Whether a law has more than atoms."""
    return float(law.atoms.masses.sum()) < 1.0 - 1e-9
