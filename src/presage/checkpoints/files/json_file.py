"""A JSON object of a file, with every name once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.quoted import quoted
from presage.checkpoints.files.wall import wall

LARGEST = 100_000_000  # bytes of JSON; the limit of safetensors


def json_object(content: ByteRange) -> dict[str, Any]:
    """The object that the bytes spell; a `CheckpointError` where they do not, or where a name occurs twice."""
    must, remedy = "be JSON that can be read", "It is damaged: get it again."
    if content.size > LARGEST:
        raise CheckpointError(content.name, must, f"its JSON has {content.size} bytes, more than {LARGEST}", remedy)
    with wall(content.name):
        text = content.read(0, content.size)
        try:
            found = json.loads(text, object_pairs_hook=_every_name_once)
        except ValueError as error:  # a UnicodeDecodeError is one
            raise CheckpointError(content.name, must, f"its JSON is not valid ({error})", remedy) from error
    if not isinstance(found, dict):
        raise CheckpointError(content.name, must, f"its JSON is a {type(found).__name__}, not an object", remedy)
    return found


def _every_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the name {quoted(twice)} occurs twice")
    return found
