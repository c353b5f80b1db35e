"""The folder that a file of weights lies in, on disk or inside an archive: its other files, and none outside of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path, PurePosixPath
from typing import final

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.archive import Archive
from presage.checkpoints.files.byte_range import ByteRange
from presage.checkpoints.files.quoted import quoted


class Folder(ABC):
    """Files by name."""

    name: str  # what sentences call it

    @abstractmethod
    def names(self) -> list[str]:
        """Names of the files that lie in it directly."""

    @abstractmethod
    def head(self, name: str, count: int) -> bytes:
        """The first bytes of one of them."""

    @abstractmethod
    def _found(self, name: str) -> ByteRange | None:
        """A file, of a name that is known to stay in the folder."""

    def file(self, name: str) -> ByteRange | None:
        """A file by its name, None where there is none; a `CheckpointError` where the name leads out of the folder."""
        parts = PurePosixPath(name).parts
        if not parts or ".." in parts or name.startswith("/") or "\\" in name or ":" in name or "\0" in name:
            raise self.outside(name)
        return self._found(name)

    def outside(self, name: str) -> CheckpointError:
        """The error of a name that leads out of the folder (returned, so that the caller raises it)."""
        reason = f"the file {quoted(name)} that belongs to it is outside of its folder"
        return CheckpointError(self.name, "have all its files in its folder", reason, "Copy that file into the folder.")


@final
class DiskFolder(Folder):
    """A folder on disk. Links may point into it, and where a cache of Hugging Face keeps the files of its snapshots."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)
        here = path.resolve()
        self._roots = [here, *([here.parent.parent / "blobs"] if here.parent.name == "snapshots" else [])]

    def names(self) -> list[str]:
        return sorted(path.name for path in self.path.iterdir() if path.is_file())

    def head(self, name: str, count: int) -> bytes:
        with (self.path / name).open("rb") as file:
            return file.read(count)

    def _found(self, name: str) -> ByteRange | None:
        path = self.path / name
        if not any(path.resolve().is_relative_to(root) for root in self._roots):
            raise self.outside(name)
        return ByteRange.of_file(path, str(path)) if path.is_file() else None


@final
class ArchiveFolder(Folder):
    """A folder inside an archive; `prefix` is its name with a slash at the end, or nothing."""

    def __init__(self, archive: Archive, prefix: str) -> None:
        self.archive, self.prefix = archive, prefix
        self.name = f"{archive.file.name}/{prefix}".rstrip("/")

    def names(self) -> list[str]:
        inside = (name.removeprefix(self.prefix) for name in self.archive.names if name.startswith(self.prefix))
        return sorted(name for name in inside if "/" not in name)

    def head(self, name: str, count: int) -> bytes:
        return self.archive.head(f"{self.prefix}{name}", count)

    def _found(self, name: str) -> ByteRange | None:
        full = f"{self.prefix}{name}"
        return self.archive.member(full) if full in self.archive.names else None
