"""A folder that remembers every finished cell of a sweep, whatever happens to the processes that compute them.

    store/sweep.json            what is swept: problem, function, version
    store/cells/<writer>.jsonl  one file a writer, one line a cell, with a checksum; lines are only ever added
    store/result.nc             the table, written when a sweep ends

A process appends only to a file of its own, so no lock is needed, not even on a network file system, and a line that
a killed process left half-written is the last one of its file. Such a line is reported, and its cell done again. The
line of a process that is just writing it looks the same and is treated alike: two sweeps may fill one store at once, at
worst they do some cells twice. Numbers that are not finite are NaN and Infinity, as Python writes and reads them.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import secrets
import socket
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from presage.protocol import checks
from presage.sweeps.identity import text, without
from presage.whole_file import whole_file

FORMAT = 1
AT_MOST = 0.1  # seconds that a finished cell waits to be on the disk, unless its chain ends before
MANIFEST, CELLS, RESULT = "sweep.json", "cells", "result.nc"

Record = dict[str, Any]
log = logging.getLogger("presage")


@final
@dataclass(frozen=True)
class Store:
    """The folder of one sweep."""

    folder: Path

    @property
    def exists(self) -> bool:
        """Whether there is a sweep in the folder."""
        return (self.folder / MANIFEST).exists()

    @property
    def mark(self) -> str:
        """What tells this folder from another of the same name on another machine; empty if there is no such folder."""
        try:
            return str(json.loads((self.folder / MANIFEST).read_text(encoding="utf-8")).get("mark", ""))
        except (OSError, ValueError, AttributeError):
            return ""

    def open(self, manifest: Record, names: set[str]) -> None:
        """Make the folder, or check that it holds this sweep: they may differ in what a sweep over it has varied."""
        try:
            self._open(manifest, names)
        except OSError as error:
            reason, remedy = f"cells are written to it, and the system says: {error.strerror}", "Name another folder."
            raise checks.complaint("store", "be a folder to write to", reason, str(self.folder), remedy) from error

    def _open(self, manifest: Record, names: set[str]) -> None:
        if not self.exists:
            self._make({"format": FORMAT, "mark": secrets.token_hex(8), "varied": sorted(names), **manifest})
        held = self._manifest()
        for what in ("version", "run", "problem"):
            varied = names | set(held["varied"])
            if text(without(held[what], varied)) != text(without(manifest[what], varied)):
                raise self._refusal(what, held, manifest, varied)
        (self.folder / CELLS).mkdir(exist_ok=True)
        if not names <= set(held["varied"]) or "mark" not in held:
            with whole_file(self.folder / MANIFEST) as part:
                _write_json(part, {"mark": secrets.token_hex(8), **held, "varied": sorted(names | set(held["varied"]))})

    def _make(self, manifest: Record) -> None:
        """Put the manifest into a new folder; of processes that do so at once, one wins, and all read what it wrote."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # Names with a dot are of files that another process is writing, of a manifest for example.
        foreign = {entry.name for entry in self.folder.iterdir() if not entry.name.startswith(".")}
        if foreign and MANIFEST not in foreign:
            reason, remedy = "files that are not of a sweep would be mixed with its cells", "Name a new folder."
            raise checks.complaint("store", "be a new folder or one of a sweep", reason, str(self.folder), remedy)
        part = self.folder / f".{secrets.token_hex(4)}-{MANIFEST}"
        _write_json(part, manifest)
        try:
            os.link(part, self.folder / MANIFEST)  # unlike a renaming, it leaves a manifest that is there
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            part.replace(self.folder / MANIFEST)
        finally:
            part.unlink(missing_ok=True)

    def _manifest(self) -> Record:
        try:
            held: Record = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            if held["format"] != FORMAT:
                raise ValueError
            if not (isinstance(held["varied"], list) and {"version", "run", "problem"} <= held.keys()):
                raise ValueError
        except (ValueError, KeyError, TypeError):
            reason = f"{MANIFEST} cannot be read, so nobody knows of what the cells are"
            remedy = "Name a new folder, or restore that file."
            raise checks.complaint("store", "be a folder of a sweep", reason, str(self.folder), remedy) from None
        return held

    def _refusal(self, what: str, held: Record, asked: Record, varied: set[str]) -> ValueError:
        if what == "version":
            reason = (
                f"it was written by presage {held[what]}, this is {asked[what]}, and numbers may differ between them"
            )
        else:
            others = (without(one[what], varied) for one in (held, asked))
            noun = {"run": "function or options", "problem": "problem"}[what]
            reason = f"it holds another {noun}, and one table holds one: {_difference(*others)}"
        return checks.complaint(
            "store", "hold this sweep", reason, str(self.folder), "Use a folder of its own for each."
        )

    def records(self) -> tuple[dict[str, Record], list[str]]:
        """Every whole cell by its key, and a sentence for each line that is not whole."""
        found: dict[str, Record] = {}
        damaged: list[str] = []
        for path in sorted((self.folder / CELLS).glob("*.jsonl")):
            for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
                record = _parse(line)
                if record is None:
                    fault = "damaged" if line.endswith(b"\n") else "half-written, by a process that ended or is at it"
                    damaged.append(f"Line {number} of {path.name} is {fault}: its cell counts as not done.")
                elif record["key"] not in found or found[record["key"]]["failed"]:
                    found[record["key"]] = record
        for sentence in damaged:
            log.warning("%s: %s", self.folder, sentence)
        return found, damaged

    def writer(self) -> Writer:
        """A file of its own for the process that asks."""
        return Writer(self.folder / CELLS)

    def write_result(self, table: Any) -> Path:
        """Write the table as netCDF, whole or not at all."""
        path = self.folder / RESULT
        try:
            write_table(table, path)
        except OSError as error:
            raise unwritable(path, error, "All cells are in the store") from error
        return path


def unwritable(path: Path, error: OSError, saved: str) -> OSError:
    """A full disk and its like, in a sentence."""
    return OSError(
        f"{path} could not be written: {error.strerror or error}. {saved}: make room, and sweep again to go on."
    )


class Writer:
    """Appends finished cells to one file, each whole before the next one begins.

    What is written survives the death of the process at once, and that of the machine after a moment: to wait for
    the disk after each of many short cells would take longer than they do.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: int | None = None
        self._synced = 0.0
        self._lock = threading.Lock()  # a dask worker may have several threads

    def add(self, record: Record) -> None:
        """Append one cell; what could not be written whole is the last line of its file, and the next one is new."""
        line = seal(record)
        with self._lock:
            try:
                if self._file is None or os.fstat(self._file).st_nlink == 0:  # 0: the folder was removed
                    name = f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
                    self._file = os.open(self._folder / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
                if os.write(self._file, line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                if time.monotonic() - self._synced > AT_MOST:
                    self._sync()
            except OSError:
                self._file = None
                raise

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        with self._lock:
            if self._file is not None:
                self._sync()

    def _sync(self) -> None:
        if self._file is not None:
            os.fsync(self._file)
            self._synced = time.monotonic()


def seal(record: Record) -> bytes:
    """One line: the record and the checksum of its text."""
    cell = json.dumps(record, default=_listed, separators=(",", ":"))
    return f'{{"sum":"{_checksum(cell)}","cell":{cell}}}\n'.encode()


def _parse(line: bytes) -> Record | None:
    """The record of a line; None if the line is not what was written."""
    try:
        head, _, body = line.decode().partition(',"cell":')
        if not body.endswith("}\n") or head != f'{{"sum":"{_checksum(body[:-2])}"':
            return None
        record: Record = json.loads(body[:-2])
    except ValueError:
        return None
    return record


def _write_json(path: Path, content: Record) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _checksum(cell: str) -> str:
    return hashlib.sha256(cell.encode()).hexdigest()[:16]


def _listed(value: Any) -> Any:
    return np.asarray(value).tolist()


def _difference(held: Any, asked: Any, path: str = "it") -> str:
    """The first place where two descriptions differ, in words."""
    if not (isinstance(held, dict) and isinstance(asked, dict)):
        return f"{path} is {held} there and {asked} here"
    if held.get("class") != asked.get("class"):
        there, here = (str(one.get("class", one)).rpartition(".")[2] for one in (held, asked))
        return f"{path} is {there} there and {here} here"
    name = next(name for name in sorted({*held, *asked}) if text(held.get(name)) != text(asked.get(name)))
    return _difference(held.get(name), asked.get(name), name)


def write_table(table: Any, path: Path) -> None:
    """Write a dataset, or a tree of them, as compressed netCDF, whole or not at all."""
    with whole_file(path) as part:
        table.to_netcdf(part, engine="h5netcdf", encoding=_compression(table))


def _compression(table: Any) -> Record:
    """Compress every array of numbers; words and single numbers stay as they are."""

    def of(dataset: Any) -> Record:
        return {
            name: {"zlib": True}
            for name, variable in dataset.variables.items()
            if variable.ndim and variable.dtype.kind in "biuf"
        }

    return {node.path: of(node) for node in table.subtree} if hasattr(table, "subtree") else of(table)
