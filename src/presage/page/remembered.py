"""Answers that were given before: they are given again at once, the oldest are forgotten."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, final

MOST_LETTERS = 64_000_000  # of all answers together


def key(model: str, fields: Mapping[str, str], *rest: Any) -> str:
    """What an answer is remembered by: the problem as it was written, and how it was asked for.

    It is short, however long the problem: a map of a long list would else hold the list once a cell.
    """
    return hashlib.sha256(json.dumps([model, sorted(fields.items()), *rest]).encode()).hexdigest()


@final
class Remembered:
    """Answers as texts, as many as there is room for."""

    def __init__(self, most: int = MOST_LETTERS) -> None:
        self._most, self._size = most, 0
        self._texts: OrderedDict[str, str] = OrderedDict()

    def get(self, known_by: str) -> Any:
        """An answer as it was put here; None where there is none."""
        text = self._texts.get(known_by)
        if text is None:
            return None
        self._texts.move_to_end(known_by)
        return json.loads(text)

    def put(self, known_by: str, answer: Any) -> None:
        """Remember an answer; the ones that were not asked for longest go."""
        self._size -= self._room(known_by)
        self._texts[known_by] = json.dumps(answer)
        self._texts.move_to_end(known_by)
        self._size += self._room(known_by)
        while self._size > self._most:
            oldest = next(iter(self._texts))
            self._size -= self._room(oldest)
            del self._texts[oldest]

    def _room(self, known_by: str) -> int:
        return len(known_by) + len(self._texts[known_by]) if known_by in self._texts else 0

    @property
    def size(self) -> int:
        """Letters of all that is remembered."""
        return self._size
