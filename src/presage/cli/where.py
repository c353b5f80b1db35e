"""`presage where`: the function that implements an equation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from presage.cli.output import Csv, Json, check_format, emit, say

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = ("presage where BETKZ25:43", "presage where ETBMZ24 --json")
Equation = Annotated[
    str, typer.Argument(help="Key of the paper and number of the equation; a key alone for all.", metavar="KEY:NUMBER")
]


def where(equation: Equation, json: Json = False, csv: Csv = False) -> None:
    """Print the functions of an equation: file and line, what they do, their tests, where they depart from print."""
    check_format(json, csv)
    from presage import cite

    found = cite.where(equation)
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
