"""Answers about weights, which are words and tables and no numbers with error bars."""

from __future__ import annotations

from html import escape

from presage.protocol.recorded import Recorded


class Told(Recorded):
    """An answer that a notebook shows as its text."""

    problem = None  # weights come without one

    def _repr_html_(self) -> str:
        """The text of `print`, for a notebook."""
        return f"<div><pre>{escape(str(self))}</pre></div>"
