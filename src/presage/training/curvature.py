"""The largest curvature of a quadratic loss, which bounds the steps of a descent."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from presage.laws.spectral_law import Floats

MARGIN = 1.02  # on the largest curvature, which power iteration approaches from below
MOST = 100  # passes


def power_iteration(
    apply: Callable[[Floats], Floats], direction: Floats, *, rtol: float, least: int = 1
) -> tuple[float, int]:
    """Largest eigenvalue, by size, of a symmetric linear map, approached from below; and the passes it took.

    It ends when a pass adds less than `rtol` of the whole, not before `least` passes.
    """
    found = 0.0
    for passes in range(1, MOST + 1):
        direction = apply(direction / np.linalg.norm(direction))
        last, found = found, float(np.linalg.norm(direction))
        if found == 0.0 or (passes >= least and found - last < rtol * found):
            break
    return found, passes
