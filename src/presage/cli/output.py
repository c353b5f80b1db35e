"""Where results go: a table for people, or JSON or CSV for machines."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from presage.cli import machine
from presage.cli.mistakes import CommandError

if TYPE_CHECKING:
    from rich.console import Console

PANEL = "The output"
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.", rich_help_panel=PANEL)]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV with a header instead.", rich_help_panel=PANEL)]


def check_format(json: bool, csv: bool) -> None:
    """Refuse two formats at a time, before anything is computed."""
    if json and csv:
        raise CommandError("`--json` and `--csv` exclude each other: the output has one format. Leave one of them out.")


def emit(
    content: Mapping[str, Any],
    rows: Iterable[machine.Row],
    human: Callable[[Console], None],
    *,
    json: bool,
    csv: bool,
) -> None:
    """Print `content` as JSON, or `rows` as CSV, or let `human` print tables."""
    if json:
        sys.stdout.write(machine.as_json(content) + "\n")
    elif csv:
        sys.stdout.write(machine.as_csv(rows))
    else:
        human(console())
    sys.stdout.flush()


def console(*, stderr: bool = False) -> Console:
    """A terminal, or 80 columns where there is none."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, soft_wrap=False, emoji=False)


def say(out: Console, title: str) -> None:
    """A line above or below a table."""
    out.print(title, style="bold")


def tell_caveats(out: Console, caveats: Sequence[str]) -> None:
    """The caveats, each once."""
    for line in dict.fromkeys(caveats):
        out.print(f"caveat: {line}", style="yellow")


def table(out: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[str] = ()) -> None:
    """A table; the columns named in `words` are text on the left, all others numbers on the right.

    Only the last column of words may break its lines.
    """
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        is_text = name in words
        shown.add_column(
            name, justify="left" if is_text else "right", no_wrap=not is_text or name != words[-1], overflow="fold"
        )
    for row in rows:
        shown.add_row(*row)
    out.print(shown)
