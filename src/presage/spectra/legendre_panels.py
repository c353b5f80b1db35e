"""Panels of Gauss and Legendre in the angle of a piece ``u = middle + half sin(theta)`` of a band."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from presage.laws.spectral_law import Floats

NODES = 20
ABSCISSAE, WEIGHTS = np.polynomial.legendre.leggauss(NODES)
_DEGREES = np.arange(NODES)
TO_COEFFICIENTS = (_DEGREES[:, None] + 0.5) * np.polynomial.legendre.legvander(ABSCISSAE, NODES - 1).T * WEIGHTS
GRADING = 4.0  # ratio of neighbouring panels towards a sharp end
TAIL = 3  # how many of the last coefficients judge a panel


def nodes_of(middle: Floats, half: Floats, theta_0: Floats, theta_1: Floats) -> tuple[Floats, Floats, Floats]:
    """Half the angle of each panel, and the angles and parameters ``u`` of its nodes."""
    stretch = 0.5 * (theta_1 - theta_0)
    theta = (0.5 * (theta_0 + theta_1))[:, None] + stretch[:, None] * ABSCISSAE
    return stretch, theta, middle[:, None] + half[:, None] * np.sin(theta)


def halved(
    middle: Floats, half: Floats, theta_0: Floats, theta_1: Floats, rough: NDArray[np.bool_]
) -> tuple[Floats, Floats, Floats, Floats]:
    """Two panels in place of each rough one."""
    centre = 0.5 * (theta_0 + theta_1)[rough]
    first = np.column_stack([theta_0[rough], centre]).ravel()
    last = np.column_stack([centre, theta_1[rough]]).ravel()
    return np.repeat(middle[rough], 2), np.repeat(half[rough], 2), first, last


def graded_panels(middle: float, half: float, levels: NDArray[np.int64]) -> tuple[Floats, Floats, Floats, Floats]:
    """Panels of one piece, geometrically finer towards both of its ends by so many levels."""
    quarter = np.pi / 2
    below, above = (quarter * GRADING ** -np.arange(n, 0, -1.0) for n in levels)
    breaks = np.concatenate([[-quarter], below - quarter, [0.0], (quarter - above)[::-1], [quarter]])
    return np.full(breaks.size - 1, middle), np.full(breaks.size - 1, half), breaks[:-1], breaks[1:]
