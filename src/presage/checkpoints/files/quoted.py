"""Text out of a file, fit to stand in a sentence."""

from __future__ import annotations

_LONGEST = 120


def quoted(text: object) -> str:
    """A name or value out of a file in quotes, without control characters, and cut where it is long."""
    shown = ascii(text) if isinstance(text, str) and not text.isprintable() else repr(text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."
