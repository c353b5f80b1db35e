"""The curve over one real ``u`` that a noisy spectrum is: its points, and the step that finds its height.

Symmetric matrices and others have equations of their own for the height; both are solved by the same steps.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from presage.laws.spectral_law import Floats
from presage.protocol.njit import njit

EPS = float(np.finfo(np.float64).eps)
MOST_STEPS = 200


class Curve(NamedTuple):
    """Points of the curve: abscissa, density, Hilbert part and speed ``dx/du`` at each parameter ``u``.

    Of singular values the density is that of the symmetrised law.
    """

    x: Floats
    rho: Floats
    h: Floats
    dx_du: Floats


@njit(cache=True, error_model="numpy")
def safeguarded(v, low, high, excess, inverse_v, close, floor):  # type: ignore[no-untyped-def]
    """Newton step in the height from ``1/f`` less its goal and ``d(1/f)/dv``, kept inside its bracket.

    Returns the new height, the bracket and whether it has converged: to `close`, or to zero below `floor`.
    """
    if abs(excess) <= close:
        return v, low, high, True
    if excess > 0:
        high = v
    else:
        low = v
    if high < floor:
        return 0.0, low, high, True
    new_y = v * v - excess * 2 * v / inverse_v
    if inverse_v > 0 and low * low < new_y <= high * high:
        new = np.sqrt(new_y)
    else:
        new = v - excess / inverse_v
        if not (low < new < high):
            new = np.sqrt(low * high) if low > 0 else high / 16
    return new, low, high, abs(new - v) <= 1e-13 * new or high - low <= 4 * EPS * high
