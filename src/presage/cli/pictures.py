"""Pictures on disk: a format that matplotlib writes, a folder that exists, and a file that is whole or not there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli.mistakes import CommandError
from presage.cli.output import PANEL

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".pdf", ".svg")
BLUE, ORANGE, GREEN, GREY, BLACK = "#0072B2", "#D55E00", "#009E73", "0.45", "0.1"  # distinct for colour-blind eyes
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
    probe = folder / f".{path.stem}.part{path.suffix}"
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise CommandError(
            f"`{option}` must be in a folder that can be written. Got {option} {path} ({error.strerror}). Use another."
        ) from None


def new_figure(*, width: float = 6.4, height: float = 4.0) -> Figure:
    """An empty figure that needs no screen."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> None:
    """Write a figure beside its place, then put it there."""
    part = path.with_name(f".{path.stem}.part{path.suffix}")
    try:
        figure.savefig(part, dpi=150)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def caption(title: str, width: int = 88) -> str:
    """A title broken into lines that fit a figure."""
    import textwrap

    return "\n".join(textwrap.wrap(title, width))
