"""The settings of coordinate descent by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.protocol.fields import declared
from presage.protocol.trainer import STEPS, TOL, Trainer


@final
@dataclass(frozen=True)
class Lasso(Trainer):
    """Coordinate descent on the vector by scikit-learn, until the loss is proven within `tol` of its minimum.

    The minimum over the vector is that over its two factors. It needs scikit-learn, the extra ``learn``;
    `ProximalGradient` finds the same minimum without.
    """

    tol: float = field(default=1e-6, metadata=declared(TOL))
    steps: int = field(default=20_000, metadata=declared(STEPS))
