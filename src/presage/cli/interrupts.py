"""Ctrl-C without the cries of the processes that it ends."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

# What joblib's clerk of shared memory says when the processes that it counts are gone.
RESOURCE_TRACKER = "ignore::UserWarning:joblib.externals.loky.backend.resource_tracker"


def quiet_when_interrupted() -> None:
    """After Ctrl-C, threads that manage worker processes may fail: they do so silently."""
    os.environ.setdefault("PYTHONWARNINGS", RESOURCE_TRACKER)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    threading.excepthook = lambda _: None
    signal.default_int_handler(number, frame)
