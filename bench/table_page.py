"""A benchmark that is one table: its rows, the options of its command, and the page that it writes."""

from __future__ import annotations

import argparse
import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from report import (
    HEADER,
    Check,
    Company,
    Row,
    machine,
    markdown_table,
    prose,
    span,
    text_table,
    times,
    verdict,
    write,
)

PAGES = Path(__file__).resolve().parents[1] / "docs"
HOW_TIMED = """Times are CPU seconds of one call on one core, the median of several after a warm-up call, unless a row
says otherwise; what is compared is timed by turns."""


def row(
    work: str,
    most: float | None,
    seconds: float,
    plain: float | None,
    words: str,
    note: str,
    also: Sequence[Check] = (),
) -> Row:
    """A line: what may be taken, what was taken, and how much longer the straightforward version takes.

    `also` is what is asked for beside the time.
    """
    ratio = "" if plain is None else f"; straightforward {span(plain)}: {times(plain / seconds)}"
    checks = (*(() if most is None else (Check("time", seconds <= most),)), *also)
    required = "" if most is None else f"<= {span(most)}"
    return Row(work, required, f"{span(seconds)}{ratio}{f'; {words}' if words else ''}", checks, f"**{work}**: {note}")


def rows_of(measured: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Lines of what a model measured of itself."""
    return [
        row(
            one["work"],
            one.get("reach"),
            one["seconds"],
            one.get("plain_seconds"),
            one.get("words", ""),
            one["note"],
            one.get("also", ()),
        )
        for one in measured
    ]


def document(
    title: str,
    about: str,
    rows: Sequence[Row],
    machine_line: str,
    seconds: float,
    others: float,
    how_timed: str,
) -> str:
    """The page."""
    parts = [
        f"# {title}",
        prose(about),
        f"Written by `make bench` on {datetime.date.today().isoformat()}, in {span(seconds)}: run again, do not edit.",
        f"Machine: {machine_line}; other work took {100.0 * others:.0f} % of its cores during the run.",
        prose(how_timed),
        markdown_table([HEADER, *(one.cells for one in rows)]),
        verdict(rows),
        "## What each row is",
        "\n".join(f"- {prose(one.note)}" for one in rows if one.note),
    ]
    return "\n\n".join(parts) + "\n"


def run(
    description: str | None,
    title: str,
    about: str,
    page: str,
    measure: Callable[[bool], Sequence[Row]],
    *,
    quick: str,
    how_timed: str = HOW_TIMED,
) -> None:
    """The command of a benchmark: measure, print the table, and write the page unless it is a quick run."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"{quick}; print, write nothing")
    parser.add_argument("--output", type=Path, help=f"where to write the page (default: docs/{page})")
    arguments = parser.parse_args()
    began, machine_line, company = time.perf_counter(), machine("one thread a process"), Company()
    rows = measure(arguments.quick)
    others = company.share
    print(f"{machine_line}; other work {100.0 * others:.0f} %")
    print(text_table([HEADER, *(one.cells for one in rows)], most=40))
    print("\n" + verdict(rows))
    path = arguments.output or (None if arguments.quick else PAGES / page)
    if path is not None:
        write(path, document(title, about, rows, machine_line, time.perf_counter() - began, others, how_timed))
        print(f"\nwritten to {path.name}")
