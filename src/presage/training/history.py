"""The way of a training: its loss against the time, kept to the end or watched as it goes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import final

import numpy as np

from presage.laws.spectral_law import Floats

Watcher = Callable[[float, float], None]  # is told the seconds since the training began, and the loss

_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Inside this block every step of a training in this process is told to `watcher`, in units of the trainer."""
    before = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(before)


def step_of(began: float, loss: float) -> tuple[float, float]:
    """A step of a training that began then: the seconds since, and the loss. Who watches is told."""
    seconds = perf_counter() - began
    watcher = _watcher.get()
    if watcher is not None:
        watcher(seconds, loss)
    return seconds, loss


@final
class History:
    """Remembers the loss after every step, with the seconds since the training began."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._steps: list[tuple[float, float]] = []

    def record(self, loss: float) -> bool:
        """Remember the loss of a step; the answer is what a descent that asks whether it is done takes for no."""
        self._steps.append(step_of(self._began, loss))
        return False

    @property
    def rows(self) -> Floats:
        """Rows (seconds, loss), one a step."""
        return np.array(self._steps, dtype=np.float64).reshape(-1, 2)
