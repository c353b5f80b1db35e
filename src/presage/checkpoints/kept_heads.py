"""What was measured of the heads of a layer, kept in the user's cache by what they hold: a file is measured once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from presage.checkpoints.bulk_fit import BulkFit
from presage.checkpoints.head import Head
from presage.checkpoints.measured import Measured
from presage.checkpoints.nulls.kept import FORMAT, cache_folder
from presage.whole_file import whole_file


def digest(head: Head, *settings: Any) -> bytes:
    """A name for what a head holds and how it is measured: equal for equal heads only."""
    found = hashlib.blake2b(digest_size=16)
    found.update(json.dumps([head.kind, head.dtype, head.rotary, head.error_Q, head.error_K, *settings]).encode())
    for array in (head.W_Q, head.W_K, head.b_Q):
        if array is not None:
            found.update(str(array.shape).encode())
            found.update(np.ascontiguousarray(array).tobytes())
    return found.digest()


def kept_heads(digests: Sequence[bytes], made: Callable[[], list[Measured]]) -> list[Measured]:
    """What was measured of the heads of these names; measured, and kept, where it is not there."""
    folder = cache_folder()
    if folder is None:
        return made()
    name = hashlib.blake2b(b"".join(digests), digest_size=16).hexdigest()
    place = folder / "heads" / f"{name}-{FORMAT}.json"
    found = _read(place, len(digests))
    if found is not None:
        return found
    measured = made()
    with suppress(OSError):  # to keep it is a convenience: the answer does not depend on it
        place.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(place) as part:
            part.write_text(json.dumps([one._asdict() for one in measured]), encoding="utf-8")
    return measured


def _read(place: Path, count: int) -> list[Measured] | None:
    """What is kept there; None where nothing is, or where it is damaged."""
    try:
        rows = json.loads(place.read_text(encoding="utf-8"))
        found = [_measured(row) for row in rows]
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return found if len(found) == count else None


def _measured(row: dict[str, Any]) -> Measured:
    lists = {name: tuple(row[name]) for name in ("values", "flips", "planes")}
    fits = tuple(BulkFit._make(tuple(x) if isinstance(x, list) else x for x in fit) for fit in row["fits"])
    return Measured(**{**row, **lists, "fits": fits})
