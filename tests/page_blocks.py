"""The fenced blocks of a page, and how each kind of them is run."""

from __future__ import annotations

import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^(?P<fence>`{3,})(?P<language>[^\n`]*)\n(?P<body>.*?)^(?P=fence)[ ]*$", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\w+\.py)\n")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")

PYTHON = "python"
CELL = "{code-cell} ipython3"
CONSOLE = "console"
OUTPUT = ""
# Directives of Sphinx, which have no code in them.
DIRECTIVES = ("{toctree}", "{include}", "{list-table}")
# Commands that need a network, a queue or a repository.
NOT_RUN = ("python", "source", ".venv/bin/pip", "pip", "git", "cd", "make", "sbatch")


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, and what is in it."""

    language: str
    body: str

    @property
    def commands(self) -> list[str]:
        """The commands of a console block, without what they print."""
        return [line[2:] for line in self.body.splitlines() if line.startswith("$ ")]


def blocks(text: str) -> list[Block]:
    """Every fenced block of a page, in order."""
    return [Block(match["language"].strip(), match["body"]) for match in FENCE.finditer(text)]


def write_files(text: str, folder: Path) -> None:
    """Write every block of a page that is a file, whose first line is its name: ``# ridge.py``."""
    for block in blocks(text):
        name = FILE.match(block.body)
        if block.language == PYTHON and name is not None:
            (folder / name[1]).write_text(block.body, encoding="utf-8")


def pages() -> list[Path]:
    """Every page of the documentation that is written by hand."""
    found = [path for path in sorted((ROOT / "docs").rglob("*.md")) if not any(p.startswith("_") for p in path.parts)]
    return [*found, ROOT / "README.md"]


def command(line: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run one `presage ...` of a console block in this process; the exit code."""
    from presage.cli.app import main

    monkeypatch.setattr(sys, "argv", shlex.split(line))
    with pytest.raises(SystemExit) as ended:
        main()
    code = ended.value.code
    return code if isinstance(code, int) else int(code is not None)
