"""The heads of a file that is looked at whatever they are: what stands in their way is a row, and not the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from presage.checkpoints.checkpoint import Checkpoint, Skipped
from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.cutting.cut_heads import CutHeads, Layer
from presage.checkpoints.cutting.heads_of import heads_of

ATTENTION = "attention"  # what a row calls it where a file has none, or none that can be cut


def readable_heads(checkpoint: Checkpoint, **asked: Any) -> CutHeads:
    """The heads of a file, as `heads_of` cuts them; none, with the reason, where it cannot."""
    try:
        return heads_of(checkpoint, **asked)
    except CheckpointError as error:
        return CutHeads(0, (Skipped(ATTENTION, _reason(error)),), ())


def read_layer(reader: Callable[[], Layer]) -> Layer:
    """One attention of them; none, with the reason, where it cannot be read."""
    try:
        return reader()
    except CheckpointError as error:
        return Layer([], (Skipped(ATTENTION, _reason(error)),))


def _reason(error: CheckpointError) -> str:
    """Why, and what to give where an argument is missing; other remedies are for who wanted nothing but heads."""
    asks = "=...>" in error.marked["remedy"]
    return f"{error.reason}. {error.remedy}".removesuffix(".") if asks else error.reason
