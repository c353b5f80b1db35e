"""A folder that remembers every finished cell of a sweep, whatever happens to the processes that compute them.

    store/sweep.json            what is swept: problem, function, version
    store/cells/<writer>.jsonl  one file a writer, one line a cell, with a checksum; lines are only ever added
    store/result.nc             the table, written when a sweep ends

A process appends only to a file of its own, so no lock is needed, not even on a network file system, and a line that
a killed process left half-written is the last one of its file. Such a line is reported, and its cell done again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np

from presage import _check
from presage.sweeps.identity import without
from presage.whole_file import whole_file

FORMAT = 1
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
        """Whether this machine sees the folder."""
        return (self.folder / MANIFEST).exists()

    def open(self, manifest: Record, names: set[str]) -> None:
        """Make the folder, or check that it holds this sweep: they may differ in what a sweep over it has varied."""
        if not self.exists:
            if self.folder.is_dir() and any(self.folder.iterdir()):
                reason, remedy = "files that are not of a sweep would be mixed with its cells", "Name a new folder."
                raise _check.complaint("store", "be a new folder or one of a sweep", reason, str(self.folder), remedy)
            (self.folder / CELLS).mkdir(parents=True, exist_ok=True)
            self._write_manifest({"format": FORMAT, "varied": sorted(names), **manifest})
            return
        held = self._manifest()
        for what in ("version", "run", "problem"):
            varied = names | set(held["varied"])
            if without(held[what], varied) != without(manifest[what], varied):
                raise self._refusal(what, held, manifest, varied)
        if not names <= set(held["varied"]):
            self._write_manifest({**held, "varied": sorted(names | set(held["varied"]))})

    def _write_manifest(self, manifest: Record) -> None:
        with whole_file(self.folder / MANIFEST) as part:
            part.write_text(json.dumps(manifest, indent=1), encoding="utf-8")

    def _manifest(self) -> Record:
        try:
            held: Record = json.loads((self.folder / MANIFEST).read_text(encoding="utf-8"))
            if held["format"] != FORMAT:
                raise ValueError
        except (ValueError, KeyError, TypeError):
            reason = f"{MANIFEST} cannot be read, so nobody knows of what the cells are"
            remedy = "Name a new folder, or restore that file."
            raise _check.complaint("store", "be a folder of a sweep", reason, str(self.folder), remedy) from None
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
        return _check.complaint(
            "store", "hold this sweep", reason, str(self.folder), "Use a folder of its own for each."
        )

    def records(self) -> tuple[dict[str, Record], list[str]]:
        """Every whole cell by its key, and a sentence for each damaged line."""
        found: dict[str, Record] = {}
        damaged: list[str] = []
        for path in sorted((self.folder / CELLS).glob("*.jsonl")):
            for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
                record = _parse(line)
                if record is None:
                    damaged.append(f"line {number} of {path.name} is damaged: its cell is done again.")
                elif record["key"] not in found or found[record["key"]]["failed"]:
                    found[record["key"]] = record
        for sentence in damaged:
            log.warning("%s: %s", self.folder, sentence)
        return found, damaged

    def writer(self) -> Writer:
        """A file of its own for the process that asks."""
        return Writer(self.folder / CELLS / f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(4)}.jsonl")

    def write_result(self, table: Any) -> Path:
        """Write the table as netCDF, whole or not at all."""
        path = self.folder / RESULT
        write_table(table, path)
        return path


class Writer:
    """Appends finished cells to one file, each whole and on the disk before the next one begins."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def add(self, record: Record) -> None:
        """Append one cell."""
        if self._file is None or os.fstat(self._file).st_nlink == 0:  # 0: the folder was removed, and made again
            self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        line = seal(record)
        if os.write(self._file, line) != len(line):
            raise OSError(f"{self._path} could not be written: the disk is full")
        os.fsync(self._file)


def seal(record: Record) -> bytes:
    """One line: the record and the checksum of its text."""
    text = json.dumps(record, default=_listed, separators=(",", ":"))
    return f'{{"sum":"{_checksum(text)}","cell":{text}}}\n'.encode()


def _parse(line: bytes) -> Record | None:
    """The record of a line; None if the line is not what was written."""
    try:
        text = line.decode()
        head, body = text[: text.index(',"cell":')], text[text.index(',"cell":') + 8 :]
        if not body.endswith("}\n") or head != f'{{"sum":"{_checksum(body[:-2])}"':
            return None
        record: Record = json.loads(body[:-2])
    except ValueError:
        return None
    return record


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _listed(value: Any) -> Any:
    return np.asarray(value).tolist()


def _difference(held: Any, asked: Any, path: str = "it") -> str:
    """The first place where two descriptions differ, in words."""
    if not (isinstance(held, dict) and isinstance(asked, dict)):
        return f"{path} is {held} there and {asked} here"
    if held.get("class") != asked.get("class"):
        there, here = (str(one.get("class", one)).rpartition(".")[2] for one in (held, asked))
        return f"{path} is {there} there and {here} here"
    name = next(name for name in sorted({*held, *asked}) if held.get(name) != asked.get(name))
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
