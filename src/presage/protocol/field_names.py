"""Names of the numbers of a problem: its own, and those of its parts."""

from __future__ import annotations

import dataclasses
from typing import Any


def field_names(*things: Any) -> list[str]:
    """Names of the fields of every dataclass among `things`, each once; a thing of another kind has none."""
    found = [field.name for thing in things if dataclasses.is_dataclass(thing) for field in dataclasses.fields(thing)]
    return list(dict.fromkeys(found))
