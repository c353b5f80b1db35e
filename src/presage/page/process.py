"""A process that computes for the page: it is asked by a pipe, tells what it finds, and can be ended at any time.

It is forked from one that has imported and compiled everything, so that a new one is there at once.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from threadpoolctl import threadpool_limits

from presage.cli.errors import CommandError, FailedError, explain
from presage.page.asked import FieldError
from presage.protocol.errors import ComputationError, InputError
from presage.protocol.model import found

TOLD, FAILED, ENDED, READY = "told", "failed", "ended", "ready"
# What can be asked for, by its place: nothing is imported before somebody asks.
ANSWERS = {
    "point": "presage.page.answers:point",
    "cells": "presage.page.answers:cells",
    "marks": "presage.page.answers:marks",
    "way": "presage.page.answers:way",
    "train": "presage.page.trained:train",
    "take": "presage.page.taken:take",
    "values": "presage.page.values:values",
    "npy": "presage.page.values:npy",
    "picture": "presage.page.pictures:picture",
    "figure": "presage.page.papers:figure_picture",
    "weights": "presage.page.weights:weights",
    "papers": "presage.page.papers:papers",
    "words": "presage.page.papers:figure_words",
}
PATIENT = 5  # how far a process that trains steps back behind those that answer sliders


def run(pipe: Connection, patient: bool) -> None:
    """Answer what comes through the pipe until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its processes itself
    threadpool_limits(1)  # several processes answer side by side: threads of one would only get into their way
    if patient and hasattr(os, "nice"):
        os.nice(PATIENT)
    pipe.send((READY, None))
    while True:
        try:
            name, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        pipe.send(answered(lambda told: pipe.send((TOLD, told)), name, arguments))


def answered(tell: Callable[[Any], None], name: str, arguments: dict[str, Any]) -> tuple[str, Any]:
    """Compute one answer and say how it ended; what goes wrong is told as a field and a sentence."""
    try:
        found(ANSWERS[name])(tell, **arguments)
    except Exception as error:  # whatever it is, the page goes on and says so
        return FAILED, told_as(error)
    return ENDED, None


def told_as(error: Exception) -> dict[str, Any]:
    """What went wrong as the page is told it: the field it is about, where it is about one, and a sentence."""
    if isinstance(error, FieldError):
        return {"field": error.field, "message": error.message}
    if isinstance(error, InputError):
        return {"field": error.name, "message": str(error)}
    if isinstance(error, MemoryError):
        return {"field": None, "message": "There is not enough memory for this. Ask for something smaller."}
    if not isinstance(
        error, CommandError | FailedError | ComputationError
    ):  # a fault, of presage or of one's own model
        traceback.print_exception(error, file=sys.stderr)
    return {"field": None, "message": explain(error)[0]}
