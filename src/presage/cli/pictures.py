"""Pictures on disk: a format that matplotlib writes, a folder that exists, and a file that is whole or not there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from presage.cli.errors import CommandError
from presage.cli.output import PANEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".pdf", ".svg")
Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="Draw it too: a .png, .pdf or .svg file.", metavar="FILE", rich_help_panel=PANEL),
]


def check_picture(path: Path | None, option: str = "--plot") -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise CommandError(f"`{option}` must end in .png, .pdf or .svg. Got {option} {path}. Use picture.png.")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CommandError(f"`{option}` must be in a folder that exists. Got {option} {path}. Make {folder} first.")
    if path.is_dir():
        raise CommandError(f"`{option}` must be a file. Got {option} {path}, which is a folder. Name a file in it.")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"`{option}` must be in a folder that can be written. Got {option} {path}. Use another.")


def save(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all."""
    from presage.whole_file import whole_file

    with whole_file(path) as part:
        figure.savefig(part, dpi=150)
