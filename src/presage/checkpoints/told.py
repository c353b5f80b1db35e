"""Answers about weights, which are words and tables and no numbers with error bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from presage.checkpoints.checkpoint import Skipped
from presage.protocol.recorded import Recorded


class Told(Recorded):
    """An answer that a notebook shows as its text."""

    problem = None  # weights come without one

    def _repr_html_(self) -> str:
        """The text of `print`, for a notebook."""
        return f"<div><pre>{escape(str(self))}</pre></div>"


def counted(verdicts: Sequence[str]) -> str:
    """How often each is there."""
    return "; ".join(f"{count} {kind}" for kind, count in Counter(verdicts).items())


def skipped_lines(left_out: Sequence[Skipped]) -> list[str]:
    """The line of a summary about what was skipped: the first, and how many more; none where nothing was."""
    if not left_out:
        return []
    first, more = left_out[0], f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
    return [f"Skipped: {first.name} ({first.reason}){more}."]
