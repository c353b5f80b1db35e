"""A stretch of bytes of a file, which are read when they are asked for."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, final

from presage.checkpoints.checkpoint_error import CheckpointError

_BUFFER = 2**16

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


@final
@dataclass(frozen=True)
class ByteRange:
    """Bytes `start` to ``start + size`` of what `opened` opens; `name` is what sentences call it.

    A file is opened anew for each reading: nothing stays open, however many shards there are.
    """

    name: str
    start: int
    size: int
    opened: Callable[[], AbstractContextManager[IO[bytes]]] = field(repr=False)

    @staticmethod
    def of_file(path: Path, name: str) -> ByteRange:
        """The whole of a file on disk."""
        return ByteRange(name, 0, path.stat().st_size, lambda: path.open("rb"))

    @staticmethod
    def of_bytes(content: bytes, name: str) -> ByteRange:
        """Bytes that are in memory."""
        return ByteRange(name, 0, len(content), lambda: io.BytesIO(content))

    def read(self, offset: int, count: int) -> bytes:
        """`count` bytes from `offset` on; a `CheckpointError` where there are fewer."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise self.too_short(f"bytes {offset} to {offset + count} are asked for, and it has {self.size}")
        with self.opened() as file:
            file.seek(self.start + offset)
            content = file.read(count)
        if len(content) != count:
            raise self.too_short("it became shorter while it was read")
        return content

    def head(self, count: int) -> bytes:
        """Its first bytes, fewer than `count` where it ends before."""
        return self.read(0, min(count, self.size))

    def part(self, offset: int, count: int) -> ByteRange:
        """A stretch of it."""
        if offset < 0 or count < 0 or offset + count > self.size:
            raise self.too_short(f"a part of it ends at byte {offset + count}, and it has {self.size}")
        return ByteRange(self.name, self.start + offset, count, self.opened)

    def stream(self) -> io.BufferedReader:
        """The same bytes as a file that can be sought in."""
        return io.BufferedReader(_Stream(self), _BUFFER)

    def too_short(self, reason: str) -> CheckpointError:
        """The error of a file that ends too early (returned, so that the caller raises it)."""
        return CheckpointError(self.name, "be whole", reason, "It was cut short or damaged: get it again.")


class _Stream(io.RawIOBase):
    """A `ByteRange` as the raw file under a buffer."""

    def __init__(self, source: ByteRange) -> None:
        self._source = source
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        origin = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._source.size}[whence]
        if origin + offset < 0:
            raise OSError(errno.EINVAL, "a place before the beginning of the file")  # as other files do
        self._place = origin + offset
        return self._place

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self._source.size - self._place))
        view[:count] = self._source.read(self._place, count)
        self._place += count
        return count
