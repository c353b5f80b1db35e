"""Nodes of a path from a point of the closed upper half plane up, across and down to a real point.

Its panels are never longer than the nearest point of a support is far, so that Gauss's rule is exact to rounding.
"""

from __future__ import annotations

import numpy as np

from presage.protocol.njit import njit

NODES = 18  # a panel
ABSCISSAE, WEIGHTS = np.polynomial.legendre.leggauss(NODES)
CLIMB = 2.5  # ratio of the heights of a panel that goes up: Gauss's error falls as 4.4**(-2 NODES), even of G^5
LEAST_STEP = 1e-290  # of a climb from a point that touches the support: panels shorten towards it
MOST_LEVELS = 2000  # more than there are from the least to the largest number


@njit(cache=True, error_model="numpy")
def nodes_of_path(begin, end, support):  # type: ignore[no-untyped-def]
    """Nodes ``w`` and weights ``dw`` of a path from `begin` to the real point `end`, both off the support."""
    corners = _corners(begin, end, _clearance(support, begin), _clearance(support, complex(end, 0.0)))
    panels = corners.size - 1
    w = np.empty(panels * NODES, dtype=np.complex128)
    dw = np.empty(panels * NODES, dtype=np.complex128)
    for panel in range(panels):
        middle = 0.5 * (corners[panel + 1] + corners[panel])
        half = 0.5 * (corners[panel + 1] - corners[panel])
        for j in range(NODES):
            w[panel * NODES + j] = middle + half * ABSCISSAE[j]
            dw[panel * NODES + j] = half * WEIGHTS[j]
    return w, dw


@njit(cache=True, error_model="numpy")
def _corners(begin, end, clear_begin, clear_end):  # type: ignore[no-untyped-def]
    """Ends of the panels, each no longer than the distance to the nearest singularity, or nearly so."""
    across = abs(end - begin.real)
    height = max(0.5 * across, begin.imag)
    up = _levels(begin.imag, height, clear_begin)
    down = _levels(0.0, height, clear_end)
    steps = max(1, int(np.ceil(across / height))) if height > 0.0 else 1
    corners = np.empty(up.size + steps - 1 + down.size, dtype=np.complex128)
    for j in range(up.size):
        corners[j] = complex(begin.real, up[j])
    for j in range(1, steps):
        corners[up.size + j - 1] = complex(begin.real + j * ((end - begin.real) / steps), height)
    for j in range(down.size):
        corners[corners.size - 1 - j] = complex(end, down[j])
    return corners


@njit(cache=True, error_model="numpy")
def _levels(low, high, clear):  # type: ignore[no-untyped-def]
    """Heights of a climb from `low`, where the nearest singularity is `clear` away, to `high`."""
    levels = np.empty(MOST_LEVELS)
    levels[0] = low
    count = 1
    step = max(clear, LEAST_STEP)
    while levels[count - 1] + step < high and count < MOST_LEVELS - 1:
        levels[count] = levels[count - 1] + step
        step = max((CLIMB - 1.0) * levels[count], clear)
        count += 1
    if high > low:
        levels[count] = high
        count += 1
    return levels[:count]


@njit(cache=True, error_model="numpy")
def _clearance(support, point):  # type: ignore[no-untyped-def]
    """Distance of a point of the closed upper half plane to the support."""
    x = point.real
    # The first interval that does not end left of x; np.searchsorted would have SciPy loaded with the compiled code.
    right, beyond = 0, support.shape[0]
    while right < beyond:
        middle = (right + beyond) // 2
        if support[middle, 1] < x:
            right = middle + 1
        else:
            beyond = middle
    beside = np.inf
    if right < support.shape[0]:
        beside = max(support[right, 0] - x, 0.0)
    if right > 0:
        beside = min(beside, x - support[right - 1, 1])
    return np.hypot(beside, point.imag)
