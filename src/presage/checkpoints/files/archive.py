"""Zip archives, wheels among them: members by name, each as bytes that can be read from anywhere."""

from __future__ import annotations

import tempfile
import weakref
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath
from threading import Lock
from typing import IO, final

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.quoted import quoted

LARGEST = 4 * 2**30  # bytes that a packed member may unpack to
LARGEST_RATIO = 200  # and how many times its packed size
_LOCAL_HEADER = 30
_CHUNK = 2**20
_ENCRYPTED = 1


@final
class Archive:
    """The members of a zip file, of which only the list is read.

    A member that is stored as it is is read in place. One that is packed is unpacked into a temporary file, which has
    no name and goes with the last tensor that is read from it.
    """

    def __init__(self, file: ByteRange) -> None:
        self.file = file
        with file.stream() as stream, zipfile.ZipFile(stream) as archive:
            members = [info for info in archive.infolist() if not info.is_dir()]
        self._members = {info.filename: info for info in members}
        for name, count in Counter(info.filename for info in members).items():
            if count > 1:
                raise self._refused(f"its member {quoted(name)} occurs {count} times")
            if ".." in PurePosixPath(name).parts or name.startswith("/") or "\\" in name:
                raise self._refused(f"its member {quoted(name)} names a place outside of it")

    @property
    def names(self) -> list[str]:
        """Names of its files."""
        return list(self._members)

    def member(self, name: str) -> ByteRange:
        """The content of a member."""
        info = self._members[name]
        label = f"{self.file.name}/{name}"
        if info.flag_bits & _ENCRYPTED:
            raise self._refused(f"its member {quoted(name)} is encrypted")
        if info.compress_type == zipfile.ZIP_STORED:
            content = self.file.part(self._start(info), info.file_size)
            return ByteRange(label, content.start, content.size, content.opened)
        if info.compress_type != zipfile.ZIP_DEFLATED:
            raise self._refused(f"its member {quoted(name)} is packed in a way that is not known")
        if info.file_size > LARGEST or info.file_size > LARGEST_RATIO * max(1, info.compress_size):
            sizes = f"{info.compress_size} bytes that unpack to {info.file_size}"
            raise self._refused(f"its member {quoted(name)} has {sizes}, more than is trusted", "Unpack it yourself.")
        return ByteRange(label, 0, info.file_size, _Unpacked(self.file, info))

    def head(self, name: str, count: int) -> bytes:
        """The first bytes of a member, without unpacking the rest."""
        with self.file.stream() as stream, zipfile.ZipFile(stream) as archive, archive.open(name) as content:
            return content.read(count)

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Where the bytes of a member begin: behind its local header, which has a name and an extra field."""
        header = self.file.read(info.header_offset, _LOCAL_HEADER)
        if header[:4] != b"PK\x03\x04":
            raise self._refused(f"its member {quoted(info.filename)} is not where the list of members says")
        name, extra = (int.from_bytes(header[place : place + 2], "little") for place in (26, 28))
        return info.header_offset + _LOCAL_HEADER + name + extra

    def _refused(
        self, reason: str, remedy: str = "It is damaged, or made to do harm: get it again."
    ) -> CheckpointError:
        return CheckpointError(self.file.name, "be an archive that can be trusted", reason, remedy)


class _Unpacked:
    """A packed member as a temporary file, made when it is first read."""

    def __init__(self, file: ByteRange, info: zipfile.ZipInfo) -> None:
        self._file, self._info = file, info
        self._unpacked: IO[bytes] | None = None
        self._lock = Lock()  # the place in the temporary file is one for all threads

    @contextmanager
    def __call__(self) -> Iterator[IO[bytes]]:
        with self._lock:
            if self._unpacked is None:
                self._unpacked = self._unpack()
            yield self._unpacked

    def _unpack(self) -> IO[bytes]:
        unpacked = tempfile.TemporaryFile()  # noqa: SIM115  (kept: it goes with the last tensor)
        weakref.finalize(self, unpacked.close)
        with (
            self._file.stream() as stream,
            zipfile.ZipFile(stream) as archive,
            archive.open(self._info) as packed,
        ):
            while chunk := packed.read(_CHUNK):  # no more than the size it is said to have
                unpacked.write(chunk)
        return unpacked
