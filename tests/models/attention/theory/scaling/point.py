"""Points of the phase diagram, by the numbers that its tables have."""

from __future__ import annotations

from typing import Any

import presage as ps
from presage.models.attention.theory.scaling.phase import Place
from presage.models.attention.theory.scaling.quadratic_equivalent import quadratic_equivalent


def network(gamma: float, d: int, n_eff: float, L: float, D: float = 0.5, **other: Any) -> Any:
    """A quadratic network with ``n = n_eff d`` samples."""
    law = ps.PowerLaw(gamma, d, **other)
    return ps.quadratic_network(law, alpha=n_eff / d, weight_decay=L, noise=D)


def place(gamma: float, d: int, n_eff: float, L: float, D: float = 0.5) -> Place:
    """The place of that network in the phase diagram."""
    return quadratic_equivalent(network(gamma, d, n_eff, L, D)).place
