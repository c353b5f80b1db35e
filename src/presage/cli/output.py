"""Where results go: a table for people, JSON without NaN or CSV for machines, a picture that is whole or not there."""

from __future__ import annotations

import csv as csv_format
import io
import json as json_format
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from presage.cli.errors import CommandError, UnwritableError
from presage.protocol.numbers import MOST_DIGITS, Cell, Measured, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console

Row = Mapping[str, Any]
PANEL = "The output"
SUFFIXES = (".png", ".pdf", ".svg")  # of pictures
GAP = 2  # between two columns of a table
NARROW = 20  # the least width of a column whose lines break
FEWEST_DIGITS = 4  # of a number in a table; before there are fewer, a column is left out
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.", rich_help_panel=PANEL)]
Csv = Annotated[bool, typer.Option("--csv", help="Print CSV with a header instead.", rich_help_panel=PANEL)]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", help="Draw it too: a .png, .pdf or .svg file.", metavar="FILE", rich_help_panel=PANEL),
]


def check_format(json: bool, csv: bool) -> None:
    """Refuse two formats at a time, before anything is computed."""
    if json and csv:
        raise CommandError("`--json` and `--csv` exclude each other: the output has one format. Leave one of them out.")


def emit(
    content: Mapping[str, Any],
    rows: Iterable[Row],
    human: Callable[[Console], None],
    *,
    json: bool,
    csv: bool,
) -> None:
    """Print `content` as JSON, or `rows` as CSV, or let `human` print tables."""
    if json or csv:
        text = as_json(content) + "\n" if json else as_csv(rows)
        with printing():
            sys.stdout.write(text)
    else:
        human(console())
    with printing():
        sys.stdout.flush()


@contextmanager
def printing() -> Iterator[None]:
    """Inside this block nothing is done but printing: what fails is standard output, unless a file is named."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:
            raise
        why = error.strerror or error
        raise UnwritableError(f"Standard output cannot be written: {why}. Send it elsewhere.") from error


def console(*, stderr: bool = False) -> Console:
    """A terminal, or 80 columns where there is none."""
    from rich.console import Console

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            """Leave it to the program, which has an exit code for it."""
            raise BrokenPipeError

        def print(self, *things: Any, **how: Any) -> None:
            with printing():
                super().print(*things, **how)

    return Terminal(stderr=stderr, highlight=False, markup=False, soft_wrap=False, emoji=False)


def say(out: Console, title: str) -> None:
    """A line above or below a table."""
    out.print(title, style="bold")


def tell_caveats(out: Console, caveats: Sequence[str]) -> None:
    """The caveats, each once."""
    for line in dict.fromkeys(caveats):
        out.print(f"caveat: {line}", style="yellow")


def heading(name: str) -> str:
    """The name of a number above a narrow column."""
    return name.replace("_", "\n")


class Layout(NamedTuple):
    """What is shown of a table: which of its columns, their texts, and how wide each is."""

    kept: tuple[int, ...]
    texts: list[list[str]]
    widths: list[int]

    @property
    def width(self) -> int:
        """Columns of the terminal that it takes."""
        return sum(self.widths) + GAP * (len(self.widths) - 1)


def table(
    out: Console,
    columns: Sequence[str],
    rows: Iterable[Sequence[Cell]],
    *,
    words: Sequence[str] = (),
    stay: int = 2,
    first_out: Sequence[str] = (),
) -> None:
    """A table; the columns named in `words` are text on the left, all others numbers on the right.

    Only a last column of words may break its lines, and a number is never cut. Where there is no room for all digits
    there are fewer, and where that is not enough columns are left out: `first_out` in their order, words that break,
    the others from the right. A line says which. The first `stay` are always there, in too wide a table if need be.
    """
    breaks = len(columns) - 1 if words and words[-1] == columns[-1] else None
    for layout in _layouts(columns, [list(row) for row in rows], breaks, stay, first_out):
        if layout.width <= out.width:
            break
    _print_table(out, columns, layout, words, breaks)
    left_out = [name.replace("\n", "_") for at, name in enumerate(columns) if at not in layout.kept]
    if left_out:
        more = "a wider terminal shows more, and --csv and --json have every number"
        say(out, f"No room for {', '.join(left_out)}: {more}.")


def _layouts(
    columns: Sequence[str], rows: list[list[Cell]], breaks: int | None, stay: int, first_out: Sequence[str]
) -> Iterator[Layout]:
    """Ever narrower layouts: fewer digits, then fewer columns."""
    goes = [columns.index(name) for name in first_out]
    goes += [at for at in (breaks, *reversed(range(len(columns)))) if at is not None]
    goes = [at for at in dict.fromkeys(goes) if at >= stay]
    for count in range(len(goes) + 1):
        kept = tuple(at for at in range(len(columns)) if at not in goes[:count])
        for digits in range(MOST_DIGITS, FEWEST_DIGITS - 1, -1):
            texts = [[cell if isinstance(cell := row[at], str) else cell(digits) for at in kept] for row in rows]
            shown = zip(kept, zip(*texts, strict=True) if texts else [()] * len(kept), strict=True)
            yield Layout(kept, texts, [_width(columns[at], cells, at == breaks) for at, cells in shown])


def _width(name: str, cells: Sequence[str], breaks: bool) -> int:
    """Columns of the terminal that a column of a table takes; the least that is readable, where its lines may break."""
    from rich.cells import cell_len

    shown = [*name.split("\n"), *cells]
    widest = max(map(cell_len, shown))
    if not breaks or widest <= NARROW:
        return widest
    return max(NARROW, *(cell_len(word) for text in shown for word in text.split()))


def _print_table(
    out: Console, columns: Sequence[str], layout: Layout, words: Sequence[str], breaks: int | None
) -> None:
    from rich import box
    from rich.table import Table

    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for at, width in zip(layout.kept, layout.widths, strict=True):
        justify: Literal["left", "right"] = "left" if columns[at] in words else "right"
        shown.add_column(columns[at], justify=justify, no_wrap=at != breaks, overflow="fold", min_width=width)
    for line in layout.texts:
        shown.add_row(*line)
    out.print(shown, width=max(out.width, layout.width), crop=False)


def flat(row: Row) -> dict[str, Any]:
    """A row whose numbers with error bars are two entries each: ``name`` and ``name_bar``."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Measured):
            found[name], found[f"{name}_bar"] = value
        else:
            found[name] = value
    return found


def silent(row: Row) -> list[str]:
    """Sentences about what is not a finite number in a row: JSON and CSV have no word for it."""
    said = []
    for name, value in row.items():
        number = value.value if isinstance(value, Measured) else value
        if isinstance(number, float) and not isfinite(number):
            said.append(f"{name} is {text(number)}.")
        elif isinstance(value, Measured) and not isfinite(value.bar):
            said.append(f"the error bar of {name} is not known.")
    return said


def with_caveats(row: Row, caveats: Sequence[str]) -> dict[str, Any]:
    """A row with its caveats at the end, and a sentence for every number that is not finite."""
    return {**row, "caveats": [*caveats, *silent(row)]}


def as_json(content: Mapping[str, Any]) -> str:
    """One JSON object; what is not a finite number is null."""
    return json_format.dumps(plain(content), indent=2, allow_nan=False, ensure_ascii=False)


def as_csv(rows: Iterable[Row]) -> str:
    """A header and one line a row; what is not a finite number is left empty, lists are joined."""
    lines = [flat(row) for row in rows]
    names = list(dict.fromkeys(name for line in lines for name in line))
    out = io.StringIO()
    writer = csv_format.DictWriter(out, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in line.items()} for line in lines)
    return out.getvalue()


def plain(value: Any) -> Any:
    """The same as JSON has it: null for what is not a finite number, two entries for a number with its error bar."""
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in flat(value).items()}
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if isfinite(value) else None
    if hasattr(value, "tolist"):  # numpy
        return plain(value.tolist())
    return [plain(inner) for inner in value]


def _cell(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return ""
    if isinstance(value, list | tuple):
        return " ".join(str(part) for part in value)
    if isinstance(value, float):
        return repr(float(value))
    return value


def check_picture(path: Path | None, option: str = "--plot") -> None:
    """Refuse a file that could not be written, before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() not in SUFFIXES:
        raise CommandError(f"`{option}` must end in .png, .pdf or .svg. Got {option} {path}. Use picture.png.")
    check_place(path, option)


def check_place(path: Path, option: str) -> None:
    """Refuse a place where no file can be written."""
    folder = path.absolute().parent
    blocked = next((above for above in path.absolute().parents if above.is_file()), None)
    if blocked is not None:
        raise CommandError(f"`{option}` must be in a folder. Got {option} {path}: {blocked} is a file. Name another.")
    if not folder.is_dir():
        raise CommandError(f"`{option}` must be in a folder that exists. Got {option} {path}. Make {folder} first.")
    if path.is_dir():
        raise CommandError(f"`{option}` must be a file. Got {option} {path}, which is a folder. Name a file in it.")
    if not os.access(folder, os.W_OK):
        raise CommandError(f"`{option}` must be in a folder that can be written. Got {option} {path}. Use another.")


@contextmanager
def written_to(option: str, path: Path) -> Iterator[Path]:
    """A name to write the file of an option to, whole or not at all; a failure names the option."""
    from presage.whole_file import whole_file

    try:
        with whole_file(path) as part:
            yield part
    except OSError as error:
        raise CommandError(
            f"`{option}` could not be written: {error.strerror or error}. Got {option} {path}. Name another file."
        ) from error


def save(figure: Figure, path: Path) -> None:
    """Write a figure, whole or not at all."""
    from presage.whole_file import whole_file

    try:
        with whole_file(path) as part:
            figure.savefig(part, dpi=150)
    except OSError as error:
        why = error.strerror or error
        raise CommandError(
            f"The picture {path} could not be written: {why}. The numbers are. Name another file."
        ) from error
