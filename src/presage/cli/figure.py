"""`presage figure`: the published figures, from shipped data or computed anew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli.errors import CommandError
from presage.cli.output import PANEL, SUFFIXES, check_picture, console, save, say, table

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "figure": (
        "presage figure --list",
        "presage figure attention-1 --out attention-1.pdf",
        "presage figure attention-1 --details",
        "presage figure attention-1 --quick",
        "presage figure attention-1 --full --store runs",
        "presage figure all --out figures",
    ),
}
ALL = "all"
DETAILS = "--details adds sizes, seeds and differences from print."


def complete(incomplete: str) -> list[str]:
    """Names of figures for the shell."""
    from presage.figures.catalogue import names

    return [name for name in (*names(), ALL) if name.startswith(incomplete)]


Name = Annotated[
    str | None,
    typer.Argument(help="The figure, or all of them.", metavar="NAME", show_default=False, autocompletion=complete),
]
List = Annotated[bool, typer.Option("--list", help="Say which figures there are.")]
Quick = Annotated[bool, typer.Option("--quick", help="Compute a coarser version anew, in minutes.")]
Full = Annotated[bool, typer.Option("--full", help="Compute it anew as it was shipped, in hours.")]
Recompute = Annotated[
    bool,
    typer.Option(
        "--recompute", help="Compute it anew (--quick unless --full) and say where it differs from what is shipped."
    ),
]
Details = Annotated[
    bool, typer.Option("--details", help="Print sizes, seeds and differences from print below the caption.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="The picture, .png, .pdf or .svg; for all a folder. Default NAME.png.",
        metavar="FILE",
        show_default=False,
        rich_help_panel=PANEL,
    ),
]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Write the numbers too, as one netCDF file.", metavar="FILE.nc", rich_help_panel=PANEL),
]
Kept = Annotated[
    Path | None,
    typer.Option(
        "--store", help="Keep what is computed anew in this folder: the same command goes on from it.", metavar="FOLDER"
    ),
]


def figure(
    name: Name = None,
    list_: List = False,
    quick: Quick = False,
    full: Full = False,
    recompute: Recompute = False,
    details: Details = False,
    out: Out = None,
    data: Data = None,
    store: Kept = None,
) -> None:
    """Draw a published figure and print its caption."""
    from presage.figures import catalogue

    shown = console()
    if list_:
        given = {"NAME": name, "--quick": quick, "--full": full, "--recompute": recompute, "--details": details}
        _alone({**given, "--out": out, "--data": data, "--store": store})
        _list(shown)
        return
    if name is None:
        raise CommandError("`presage figure` needs the NAME of a figure. `presage figure --list` has them.")
    if name != ALL and name not in catalogue.names():
        raise CommandError(_unknown(name, catalogue.names()))
    if quick and full:
        raise CommandError("`--quick` and `--full` exclude each other: one effort is meant. Leave one of them out.")
    if store is not None and not (quick or full or recompute):
        raise CommandError("`--store` is for what is computed anew. Add --quick or --full, or leave it out.")
    effort = "full" if full else "quick" if quick or recompute else None
    if name == ALL:
        if data is not None:
            raise CommandError("`--data` is for one figure. Name one instead of all.")
        if effort is None:
            for each in catalogue.names():
                _must_be_shipped(each)
        folder = out or Path("figures")
        _make(folder)
        for each in catalogue.names():
            _draw(shown, each, effort, folder / f"{each}.png", None, store, details)
    else:
        path = out or Path(f"{name}.png")
        check_picture(path, "--out")
        _check_data(data)
        _draw(shown, name, effort, path, data, store, details)


def _alone(given: dict[str, Any]) -> None:
    """Refuse what has no meaning beside `--list`."""
    meant = [option for option, value in given.items() if value]
    if meant:
        raise CommandError(f"`--list` draws nothing, and takes no {', '.join(meant)}. Leave out one or the other.")


def _draw(
    shown: Console, name: str, effort: Any, path: Path, data: Path | None, store: Path | None, details: bool
) -> None:
    from presage.figures import catalogue
    from presage.figures.style import caveats

    module = catalogue.figure(name)
    if effort is None:
        _must_be_shipped(name)
    parts = catalogue.load(name) if effort is None else catalogue.compute(name, effort, store)
    if data is not None:  # before drawing: what took hours to compute is not lost if that fails
        catalogue.save(parts, data)
    say(shown, f"{module.TITLE} ({module.SOURCE})")
    shown.print(module.caption(parts))
    shown.print(module.details(parts) if details else DETAILS, style=None if details else "dim")
    for line in caveats(parts):
        shown.print(f"caveat: {line}", style="yellow")
    if effort is not None and catalogue.shipped(name).is_file():
        _compare(shown, parts, catalogue.load(name))
    if data is not None:
        shown.print(f"numbers: {data}")
    save(module.draw(parts), path)  # last: what cannot be drawn or written is printed all the same
    shown.print(f"drawn: {path}")


def _compare(shown: Console, parts: Any, known: Any) -> None:
    """Say where what was computed anew differs from what is shipped, and what agrees with it."""
    from presage.figures import catalogue

    different = catalogue.differences(parts, known)
    said = {line.partition(":")[0] for line in different}
    for line in different:
        shown.print(f"recomputed: {line}")
    agree = ", ".join(sorted(parts.keys() & known.keys() - said))
    if agree:
        shown.print(f"recomputed: {agree}: as shipped at every point that both have, within the error bars.")


def _list(shown: Console) -> None:
    from presage.figures import catalogue

    modules = {name: catalogue.figure(name) for name in catalogue.names()}
    lines = [(name, f"{module.TITLE} ({module.SOURCE})") for name, module in modules.items()]
    table(shown, ("name", "what it shows"), lines, words=("name", "what it shows"))


def _unknown(name: str, names: list[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, names, n=1)
    guess = f"Did you mean {near[0]}?" if near else "`presage figure --list` says what each shows."
    return f"There is no figure {name!r}: NAME must be one of {', '.join(names)}, or all. {guess}"


def _must_be_shipped(name: str) -> None:
    from presage.figures import catalogue

    if not catalogue.shipped(name).is_file():
        raise CommandError(
            f"There are no shipped data for {name}. Use `presage figure {name} --quick` to compute some."
        )


def _make(folder: Path) -> None:
    if folder.suffix.lower() in SUFFIXES:
        raise CommandError(
            f"`--out` must be a folder for all figures. Got --out {folder}, which is the name of a picture. "
            "Use for example --out figures."
        )
    if folder.exists() and not folder.is_dir():
        raise CommandError(
            f"`--out` must be a folder for all figures. Got --out {folder}, which is a file. Name another."
        )
    folder.mkdir(parents=True, exist_ok=True)


def _check_data(data: Path | None) -> None:
    if data is None:
        return
    if data.suffix != ".nc" or not data.absolute().parent.is_dir():
        raise CommandError(f"`--data` must be a .nc file in a folder that exists. Got --data {data}. Use numbers.nc.")
