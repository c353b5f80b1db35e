"""The instance that several tests look at: two matrices of two atoms beside zero, y = z_1 + z_2^2 + noise."""

from __future__ import annotations

from functools import cache

import presage as ps

SIZE = 0.4**-0.5
TWO_ATOMS = ps.PointMasses([-SIZE, 0.0, SIZE], [0.2, 0.6, 0.2])
PROBLEM = ps.multi_matrix(TWO_ATOMS, ps.PowersLink(1, 2), alpha=2.0, weight_decay=0.5, noise=0.25)


@cache
def solution() -> ps.MultiMatrixSolution:
    """Its prediction, made once."""
    return ps.solve(PROBLEM)
