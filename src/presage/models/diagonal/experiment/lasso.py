"""The settings of coordinate descent by scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import final

from presage.protocol import checks
from presage.protocol.extras import how_to_install
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


def must_be_installed(trainer: Lasso) -> None:
    """Complain where scikit-learn is missing, and say how to install it."""
    if find_spec("sklearn") is None:
        raise checks.complaint(
            "trainer",
            "be one that is installed",
            "coordinate descent is that of scikit-learn, which is not there",
            trainer,
            f"{how_to_install('learn')}, or use <trainer=ProximalGradient()>, which needs nothing else.",
        )
