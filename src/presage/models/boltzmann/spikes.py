"""Directions that the data have, and how strong each is beside the strongest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from presage.models.boltzmann.declaration import MOST_SPIKES
from presage.protocol import checks
from presage.protocol.fields import Declared

LARGEST = 1e3  # signal in units of that of the problem


@final
@dataclass(frozen=True)
class Spikes(Declared):
    """Signals of the directions in units of that of a problem, the strongest first: ``Spikes([1, 0.5])`` are two."""

    relative: Any  # kept as a tuple of numbers that fall

    def __post_init__(self) -> None:
        reason, remedy = (
            "each is the signal of a direction in units of that of the problem",
            "Use for example Spikes([1.0, 0.5]).",
        )
        values = checks.finite("relative", self.relative, reason=reason, remedy=remedy)
        if values.ndim != 1 or not 1 <= len(values) <= MOST_SPIKES:
            must = f"be a list of 1 to {MOST_SPIKES} numbers"
            raise checks.complaint("relative", must, reason, f"an array of shape {values.shape}", remedy)
        if np.any(values <= 0.0) or np.any(np.diff(values) > 0.0) or values[0] > LARGEST:
            must = f"be positive, fall or stay, and begin with at most {LARGEST:g}"
            raise checks.complaint("relative", must, reason, [float(one) for one in values], remedy)
        object.__setattr__(self, "relative", tuple(map(float, values)))

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.relative)
