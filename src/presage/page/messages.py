"""What the browser asks, read and checked: a message that makes no sense is a sentence, never a crash."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any, NamedTuple

from presage.page.bounds import BOUNDS

DEEPEST = 8  # lists in lists of a message
ASKED = ("point", "curve", "map", "way", "train", "take", "stop")
LONGEST_NAME = 200  # letters of a model or a field


class UnreadableError(Exception):
    """A message that is none: what is wrong with it, and the number by which an answer is told, where it has one."""

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.message, self.number = message, number


class Message(NamedTuple):
    """A question: its number, what is asked, of which model with which fields, and what else was said."""

    number: int
    ask: str
    model: str
    fields: dict[str, str]
    rest: dict[str, Any]

    def text(self, name: str) -> str:
        """A word that was said."""
        value = self.rest.get(name)
        if not isinstance(value, str) or len(value) > LONGEST_NAME:
            raise self._wrong(name, "be a word")
        return value

    def optional_text(self, name: str) -> str | None:
        """A word, or nothing."""
        return None if self.rest.get(name) is None else self.text(name)

    def whole(self, name: str) -> int:
        """A whole number that was said."""
        value = self.rest.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "be a whole number")
        return value

    def number_of(self, name: str) -> float:
        """A finite number that was said."""
        return self._finite(name, self.rest.get(name))

    def pair(self, name: str) -> tuple[float, float]:
        """Two numbers, the ends of a range."""
        value = self.rest.get(name)
        if not isinstance(value, list) or len(value) != 2:
            raise self._wrong(name, "be two numbers")
        return self._finite(name, value[0]), self._finite(name, value[1])

    def wholes(self, name: str) -> list[int]:
        """Whole numbers."""
        value = self.rest.get(name)
        if not isinstance(value, list) or not value or any(type(one) is not int for one in value):
            raise self._wrong(name, "be whole numbers")
        return list(value)

    def words(self, name: str) -> list[str]:
        """Words, each once; none where nothing was said."""
        value = self.rest.get(name, [])
        if not isinstance(value, list) or any(not isinstance(one, str) for one in value):
            raise self._wrong(name, "be words")
        return list(dict.fromkeys(value))

    def _finite(self, name: str, value: Any) -> float:
        # A whole number of any length is JSON: one that no float holds is as wrong as infinity.
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
            raise self._wrong(name, "be a finite number")
        return float(value)

    def _wrong(self, name: str, must: str) -> UnreadableError:
        return UnreadableError(f"`{name}` of a question must {must}. Got {_short(self.rest.get(name))}.", self.number)


def read(text: str) -> Message:
    """The question of a message."""
    if len(text) > BOUNDS["message"].most:
        raise UnreadableError(f"A question must have at most {BOUNDS['message'].most:,} letters. Got {len(text):,}.")
    said = parsed(text)
    if not isinstance(said, dict):
        raise UnreadableError("A question must be a JSON object, and this is none.")
    number = said.pop("id", None)
    if type(number) is not int or not 0 <= number < 2**53:
        raise UnreadableError("`id` of a question must be a whole number from 0 on.")
    ask = said.pop("ask", None)
    if ask not in ASKED:
        raise UnreadableError(f"`ask` of a question must be one of {', '.join(ASKED)}. Got {_short(ask)}.", number)
    model, fields = said.pop("model", ""), said.pop("fields", {})
    if not isinstance(model, str) or len(model) > LONGEST_NAME:
        raise UnreadableError("`model` of a question must be the name of a model.", number)
    if not isinstance(fields, dict) or not all(isinstance(value, str) for value in fields.values()):
        raise UnreadableError("`fields` of a question must be texts by the names of fields.", number)
    return Message(number, ask, model, fields, said)


def parsed(text: str | bytes) -> Any:
    """What a text of JSON says; None where it is none, or nested deeper than anything that the page says."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if _is_shallow(said, DEEPEST) else None


def _is_shallow(said: Any, depth: int) -> bool:
    if not isinstance(said, list | dict):
        return True
    inner = said.values() if isinstance(said, dict) else said
    return depth > 0 and all(_is_shallow(one, depth - 1) for one in inner)


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:
        return False


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
