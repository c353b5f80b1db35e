"""The way of a training: its loss against the time."""

from __future__ import annotations

from time import perf_counter
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats


@final
class History:
    """Remembers the loss after every step, with the seconds since the training began."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._steps: list[tuple[float, float]] = []

    def record(self, loss: float) -> bool:
        """Remember the loss of a step; the answer is what a descent that asks whether it is done takes for no."""
        self._steps.append((perf_counter() - self._began, loss))
        return False

    @property
    def rows(self) -> Floats:
        """Rows (seconds, loss), one a step."""
        return np.array(self._steps, dtype=np.float64).reshape(-1, 2)
