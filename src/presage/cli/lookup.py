"""Looking things up: `presage where` an equation is computed, how to `presage cite` it, and `presage demo`."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli.errors import CommandError
from presage.cli.output import PANEL, Csv, Json, check_format, check_picture, emit, say

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = {
    "where": ("presage where BETKZ25:43", "presage where ETBMZ24 --json"),
    "cite": ("presage cite", "presage cite BETKZ25", "presage cite --bibtex"),
    "demo": ("presage demo", "presage demo --d 40 --out demo.pdf"),
}
Equation = Annotated[
    str, typer.Argument(help="Key of the paper and number of the equation; a key alone for all.", metavar="KEY:NUMBER")
]
Keys = Annotated[
    list[str] | None, typer.Argument(help="Keys of papers; all, and presage, by default.", show_default=False)
]
Bibtex = Annotated[bool, typer.Option("--bibtex", help="Nothing but entries for a .bib file.")]
Out = Annotated[
    Path, typer.Option("--out", help="The picture, .png, .pdf or .svg.", metavar="FILE", rich_help_panel=PANEL)
]
Dimension = Annotated[int, typer.Option("--d", help="Dimension of the networks that are trained.", min=10, max=400)]


def where(equation: Equation, json: Json = False, csv: Csv = False) -> None:
    """Print the functions of an equation: file and line, what they do, their tests, where they depart from print."""
    check_format(json, csv)
    from presage import cite as citations

    found = citations.where(equation)
    rows = [
        {
            "key": entry.key,
            "number": entry.number,
            "function": entry.function,
            "file": entry.file,
            "line": entry.line,
            "summary": entry.summary,
            "tests": list(entry.tests),
            "departs": entry.departs,
        }
        for entry in found
    ]

    def human(out: Console) -> None:
        for entry in found:
            say(out, f"[{entry.key}]" + (f" ({entry.number})" if entry.number else "") + f"  {entry.function}")
            out.print(f"  presage/{entry.file}:{entry.line}", soft_wrap=True)
            out.print(f"  {entry.summary}")
            if entry.departs:
                out.print(f"  departs from print: {entry.departs}", style="yellow")
            for test in entry.tests:
                out.print(f"  checked by {test}", soft_wrap=True)

    emit({"equations": rows}, rows, human, json=json, csv=csv)


def cite(keys: Keys = None, bibtex: Bibtex = False, json: Json = False) -> None:
    """Print how to cite presage and the papers behind it."""
    if json and bibtex:
        raise CommandError(
            "`--json` and `--bibtex` exclude each other: the output has one format. Leave one of them out."
        )
    entries = [_entry(key) for key in keys] if keys else list(_all().values())

    def human(out: Console) -> None:
        for entry in entries:
            if not bibtex:
                out.print(str(entry))
            if bibtex or keys or entry is entries[0]:  # of all papers at once that of presage itself is enough
                out.print(entry.bibtex(), soft_wrap=True)
        if not (bibtex or keys):
            say(out, "`presage cite KEY` has the BibTeX of a paper, `presage cite --bibtex` that of all.")

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


def demo(d: Dimension = 80, out: Out = Path("presage-demo.png")) -> None:
    """Predict and train an attention layer, print both side by side, and draw them."""
    check_picture(out, "--out")
    from presage import demo as shown

    shown.main(["--d", str(d), "--out", str(out)])
