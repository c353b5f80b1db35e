"""Proximal gradient: the settings of training a matrix itself, where its penalty has a proximal step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import final

from presage.protocol.fields import declared
from presage.protocol.trainer import STEPS, TOL, Trainer


@final
@dataclass(frozen=True)
class ProximalGradient(Trainer):
    """FISTA [BT09] with restart [OC15], until the loss is proven to be within `tol` (relative) of its minimum.

    It trains the matrix itself, not its factors: where the loss is convex in it a duality gap proves the minimum. For
    other outputs and for penalties of one's own no gap is known; it then backtracks, and ends when what is left of the
    subgradient is below a hundred times `tol`, at a minimum that is the only one if loss and penalty are convex. The
    width of the student plays no part but for its weight decay: the minimum is that of a student at least as wide as
    its rank.
    """

    tol: float = field(default=1e-6, metadata=declared(TOL))
    steps: int = field(default=20_000, metadata=declared(STEPS))
