"""`presage cite`: how to cite presage and the papers whose results it computes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli.mistakes import CommandError
from presage.cli.output import Json, emit

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = ("presage cite", "presage cite BETKZ25 --bibtex")
Keys = Annotated[
    list[str] | None, typer.Argument(help="Keys of papers; all, and presage, by default.", show_default=False)
]
Bibtex = Annotated[bool, typer.Option("--bibtex", help="Entries for a .bib file.")]


def cite(keys: Keys = None, bibtex: Bibtex = False, json: Json = False) -> None:
    """Print how to cite presage and the papers behind it."""
    if json and bibtex:
        raise CommandError(
            "`--json` and `--bibtex` exclude each other: the output has one format. Leave one of them out."
        )
    entries = [_entry(key) for key in keys] if keys else list(_all().values())

    def human(out: Console) -> None:
        for entry in entries:
            out.print(entry.bibtex() if bibtex else str(entry), soft_wrap=bibtex)

    names = ("key", "title", "authors", "year", "url")
    content = [{**{name: getattr(entry, name) for name in names}, "bibtex": entry.bibtex()} for entry in entries]
    emit({"references": content}, (), human, json=json, csv=False)


def _all() -> dict[str, Any]:
    from presage import cite as citations

    return {"presage": citations.software(), **citations.references()}


def _entry(key: str) -> Any:
    known = {name.lower(): entry for name, entry in _all().items()}
    if key.lower() in known:
        return known[key.lower()]
    near = get_close_matches(key.lower(), known, n=1)
    guess = f"Did you mean {known[near[0]].key}?" if near else f"There are {', '.join(e.key for e in known.values())}."
    raise CommandError(f"There is no reference {key!r}. {guess}")
