"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A name beside `path` to write to; it takes the place of `path` when the block ends without an error.

    What cannot be written is told by the name of `path`: nobody asked for the other.
    """
    part = path.with_name(f".{path.stem}-{os.getpid()}-{secrets.token_hex(3)}{path.suffix}")
    try:
        try:
            yield part
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.filename is None or str(error.filename) == str(part):
            error.filename, error.filename2 = str(path), None
        raise
